package source

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"raglab/axes"
	"raglab/internal/param"
	"raglab/internal/pg"
)

// PostgresParams are the parameters of the kind postgres.
type PostgresParams struct {
	DSN       pg.DSN `hcl:"dsn" key:"-" doc:"Address of the server, as postgres://USER:PASSWORD@HOST:PORT/DATABASE or host=HOST user=USER dbname=DATABASE." example:"env(\"KB_DSN\")"`
	Table     string `hcl:"table" default:"" doc:"Table or view, as NAME or SCHEMA.NAME; letters count as they are, and a name that holds a dot stands in double quotes." example:"env(\"KB_TABLE\")"`
	Query     string `hcl:"query" default:"" doc:"A select that gives the documents, instead of a table."`
	ID        string `hcl:"id" default:"" doc:"Column that holds a document's id, of any type; unless set it is the table's primary key, of a query the column id."`
	Title     string `hcl:"title" default:"title" doc:"Column that holds its title; empty when there is none."`
	Body      string `hcl:"body" default:"body" doc:"Column that holds its text."`
	UpdatedAt string `hcl:"updated_at" default:"" doc:"Column that rises whenever a row changes; with it raglab lock reads only the rows that changed since the last time."`
	Lock      string `hcl:"lock" default:"" path:"true" doc:"File that pins the rows; raglab lock writes it."`
	Format    string `hcl:"format" default:"text" enum:"text|markdown" doc:"What the texts are written in."`
	Empty     string `hcl:"empty" default:"error" enum:"error|keep|skip" doc:"What becomes of a document without title and text."`
	Timeout   int    `hcl:"timeout" key:"-" default:"600" min:"1" max:"86400" unit:"s" doc:"Longest time that one statement may take."`
}

// Postgres is the kind of a table or query of a Postgres server.
func Postgres() axes.Kind[Source] {
	kind := axes.Define(axes.Meta{
		Name:     "postgres",
		Version:  "1",
		Resource: axes.Network,
		Summary:  "Documents from a table, a view or a query of a Postgres server.",
		Doc: "Each row is a document. The corpus order is the byte order of the ids as text, whatever the server's collation. " +
			"All rows are read in one read-only transaction, so that they are of one moment, through a cursor, so that memory " +
			"stays flat. A title or body of NULL counts as empty; an id of NULL is an error, and so are two rows with one id.\n\n" +
			"With lock, raglab lock writes a SHA-256 of each row's title and body into that file. An apply then takes the corpus " +
			"from the cache as long as the file stays as it is, and reads the table when it does not; rows that differ from " +
			"the file are an error that names them. With updated_at, locking again reads the ids of all rows, but title and " +
			"body only of those whose updated_at is not below the highest one seen the last time. A row that changes without its " +
			"updated_at is not noticed then, but when the table is read. Without lock, what was read once stays in the cache until " +
			"the server's host, port or database, the spec, or -force says otherwise.\n\n" +
			"The address may hold a password: it is shown nowhere, and enters no key, plan, log or report. The role needs the " +
			"right to select, and no other.",
	}, newPostgres)
	return axes.SecretsOf(kind, func(p PostgresParams) []string { return p.DSN.Secrets() })
}

func newPostgres(p PostgresParams, _ axes.Env) (Source, error) {
	if p.DSN == "" {
		return nil, param.Errorf("dsn", "is empty")
	}
	server, err := p.DSN.Place()
	if err != nil {
		return nil, param.Errorf("dsn", "%v", err)
	}
	s := &postgres{PostgresParams: p, server: server, lock: p.Lock}
	switch {
	case p.Table == "" && strings.TrimSpace(p.Query) == "":
		return nil, param.Errorf("table", "is empty: name a table, or give a query")
	case p.Table != "" && p.Query != "":
		return nil, param.Errorf("query", "excludes table")
	case p.Body == "":
		return nil, param.Errorf("body", "is empty")
	case p.Table != "":
		if s.table, err = parseTable(p.Table); err != nil {
			return nil, param.Errorf("table", "%v", err)
		}
		s.name = "postgres table " + p.Table
	default:
		s.name = "postgres query"
	}
	return s, nil
}

type postgres struct {
	warnings
	PostgresParams
	table  []string // of a table its name's parts
	name   string   // to speak of it by
	server string   // host, port and database
	lock   string   // path of the lock file, or empty
}

func (s *postgres) Inputs(context.Context) ([]string, error) { return lockInputs(s.lock) }

// Place implements [Placed].
func (s *postgres) Place() string {
	if pinnedBy(s.lock) {
		return ""
	}
	return s.server
}

// Unpinned implements [Pinner].
func (s *postgres) Unpinned() string {
	switch {
	case pinnedBy(s.lock):
		return ""
	case s.lock != "":
		return fmt.Sprintf("The %s is not pinned: the lock file %s is not there yet; raglab lock writes it.", s.name, s.lock)
	}
	return fmt.Sprintf("The %s is not pinned: give the corpus a lock, such as lock = \"corpus.lock.json\", and run raglab lock.", s.name)
}

// LockFile implements [Pinner].
func (s *postgres) LockFile() string { return s.lock }

func (s *postgres) Documents(ctx context.Context) iter.Seq2[axes.Document, error] {
	return s.reading(ctx, s.documents)
}

func (s *postgres) documents(ctx context.Context, yield func(axes.Document, error) bool) (said []string, more bool, err error) {
	lock, err := s.readLock()
	if err != nil {
		return nil, true, err
	}
	r, err := s.open(ctx)
	if err != nil {
		return nil, true, err
	}
	defer r.Close()
	g := newGate(s.Empty, func(n int) string { return fmt.Sprintf("row %d in the order of the ids", n) })
	g.sorted = true
	more = true
	err = r.rows(ctx, "", func(row tableRow) (bool, error) {
		if e := lock.check(row); e != nil {
			e.Path = s.name
			g.add(e)
		}
		doc, ok := s.document(row, g)
		more = !ok || !g.admit(doc, row.n, s.name, 0) || yield(doc, nil)
		return more, nil
	})
	if err != nil || !more {
		return nil, more, err
	}
	for _, e := range lock.missing() {
		e.Path = s.name
		g.add(e)
	}
	return g.notes.warnings(), true, g.end(s.name, "the table or query has no row")
}

// document makes a row into a document. It reports false when there is a problem,
// which it has then added to the gate's list.
func (s *postgres) document(row tableRow, g *gate) (axes.Document, bool) {
	if row.id == nil {
		g.add(&Error{Path: s.name, Problem: fmt.Sprintf("row %d in the order of the ids has an id of NULL", row.n), Hint: "set id to a column that every row has"})
		return axes.Document{}, false
	}
	doc := axes.Document{ID: *row.id, Title: textOrEmpty(row.title), Text: textOrEmpty(row.body)}
	if s.Format != formatText {
		doc.Format = s.Format
	}
	for _, part := range []string{doc.ID, doc.Title, doc.Text} {
		// A database of the encoding SQL_ASCII may hold anything.
		if at := invalidUTF8([]byte(part)); at >= 0 {
			g.add(&Error{
				Path: s.name, Problem: fmt.Sprintf("the row with the id %q is not valid UTF-8: byte 0x%02X at offset %d", doc.ID, part[at], at),
				Hint: "convert the database to the encoding UTF8",
			})
			return doc, false
		}
	}
	return doc, true
}

func textOrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// open begins to read, and finds out what to read.
func (s *postgres) open(ctx context.Context) (*tableReader, error) {
	reader, err := pg.OpenReader(ctx, s.DSN, "the dsn of the corpus", time.Duration(s.Timeout)*time.Second)
	if err != nil {
		return nil, s.explain(err)
	}
	r := &tableReader{Reader: reader, s: s}
	if err := r.look(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// explain adds what the user can do about an error of the server.
func (s *postgres) explain(err error) error {
	hint := ""
	switch {
	case errors.Is(err, pg.ErrStatementTimeout):
		hint = fmt.Sprintf("raise timeout, which is %d s, or see who has locked the table", s.Timeout)
	case errors.Is(err, pg.ErrNoTable):
		hint = "a name without a schema is looked for in the role's search_path, and letters count as they are"
	case errors.Is(err, pg.ErrPermission):
		hint = "the role needs the right to select from it"
	case errors.Is(err, pg.ErrAuthentication), errors.Is(err, errColumn):
	default:
		return err
	}
	return &Error{Path: s.name, Problem: err.Error(), Hint: hint, Err: err}
}
