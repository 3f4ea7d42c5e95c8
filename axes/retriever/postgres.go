package retriever

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"raglab/axes"
	"raglab/axes/retriever/pgindex"
	"raglab/axes/text"
	"raglab/internal/pg"
)

// inPostgres is what the leaves have in common whose index is a table of Postgres.
type inPostgres struct {
	kind    string
	connect func(context.Context) (*pg.DB, error)
	threads int
}

func newInPostgres(kind string, env axes.Env) inPostgres {
	return inPostgres{kind, env.Postgres, max(env.Threads, 1)}
}

// needPostgres is what their kinds need.
func needPostgres[P any](P) axes.Needs { return axes.Needs{Postgres: true} }

// Build returns an error: a table needs a key.
func (p inPostgres) Build(context.Context, Corpus, text.Analyzer, io.Writer) error {
	return fmt.Errorf("the index of %s is a table in Postgres, and is built under the name of a key", p.kind)
}

func (p inPostgres) database(ctx context.Context) (*pg.DB, error) {
	if p.connect == nil {
		return nil, fmt.Errorf("%s: no Postgres was given", p.kind)
	}
	return p.connect(ctx)
}

// build builds a table, unless it is there, and adds to the measures all but the
// times, which are fill's to measure.
func build(ctx context.Context, db *pg.DB, ix pg.Index, m *Measures, fill func(context.Context, *pg.Building) error) error {
	manifest, built, err := db.Build(ctx, ix, fill)
	if err != nil {
		return err
	}
	m.Built, m.IndexBytes, m.HeapBytes = built, manifest.IndexBytes, manifest.HeapBytes
	server := db.Server()
	m.Server = fmt.Sprintf("Postgres %s, pgvector %s", server.Version, server.Vector)
	return nil
}

// How much of a table the server reads for its statistics when the planner needs no
// more of them than how many rows there are: 300 rows.
const settingSample, smallSample = "default_statistics_target", "1"

// createIndex runs a statement that makes an index, and measures it.
func createIndex(ctx context.Context, b *pg.Building, m *Measures, sql string) error {
	start := time.Now()
	err := b.Exec(ctx, sql)
	m.Index = time.Since(start)
	if err != nil && strings.Contains(err.Error(), "shared memory segment") {
		err = fmt.Errorf("parallel workers share maintenance_work_mem, which the server's machine has too little room for: "+
			"give it more (Docker: --shm-size), or set workers = 0: %w", err)
	}
	return err
}

// table is an index in Postgres that is searched.
type table struct {
	db          *pg.DB
	connections *pgindex.Connections
	key         string
	name        string // quoted
}

// openTable finds the table of a key, and returns [ErrGone] when it is not there
// as it was built. Connections have the settings.
func (p inPostgres) openTable(ctx context.Context, key string, settings map[string]string) (table, error) {
	db, err := p.database(ctx)
	if err != nil {
		return table{}, err
	}
	name, err := db.Table(key)
	if err != nil {
		return table{}, err
	}
	t := table{db, pgindex.NewConnections(db, settings, p.threads), key, name.Sanitize()}
	return t, t.check(ctx)
}

// check returns [ErrGone] when the table is not as it was built.
func (t *table) check(ctx context.Context) error {
	found, err := t.db.Exists(ctx, []string{t.key})
	if err != nil {
		return err
	}
	f, known := found[t.key]
	switch {
	case !known:
		return fmt.Errorf("%w: there is no table of the key %s", ErrGone, t.key[:12])
	case f.Problem != "":
		return fmt.Errorf("%w: %s", ErrGone, f.Problem)
	}
	return nil
}

// search appends to dst what a statement returns as ordinals and scores. The
// connection has the setting name, unless that is empty.
func (t *table) search(ctx context.Context, dst []axes.Hit, name, value, sql string, args ...any) ([]axes.Hit, error) {
	err := t.connections.Do(ctx, name, value, func(on pgindex.Querier) error {
		rows, err := on.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var ordinal int32
			var score float64
			if err := rows.Scan(&ordinal, &score); err != nil {
				return err
			}
			dst = append(dst, axes.Hit{Ordinal: uint32(ordinal), Score: score})
		}
		return rows.Err()
	})
	if errors.Is(err, pg.ErrNoTable) {
		err = fmt.Errorf("%w: %w", ErrGone, err)
	}
	return dst, err
}

// Close closes the connections.
func (t *table) Close() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), 10*time.Second,
		errors.New("no answer from Postgres within 10 s"))
	defer cancel()
	return t.connections.Close(ctx)
}
