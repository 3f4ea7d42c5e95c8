package source

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"raglab/internal/pg"
)

// tableReader reads the rows of a table or query in one transaction.
type tableReader struct {
	*pg.Reader
	s *postgres
	// id is the name of the id's column, from the text of the from clause.
	id, from string
}

// tableRow is a row as text, NULL as nil; n counts from 1 in the order of the ids.
type tableRow struct {
	n               int
	id, title, body *string
}

// rowsAtOnce is how many rows the cursor is asked for. They are not held in
// memory: the driver hands over each as it arrives.
const rowsAtOnce = 1000

// errColumn says that a statement names a column that is not there.
var errColumn = errors.New("no such column")

// parseTable splits the name of a table into its parts: at dots outside of double
// quotes.
func parseTable(name string) ([]string, error) {
	var parts []string
	rest := name
	for {
		part, after, err := tablePart(rest)
		if err != nil {
			return nil, fmt.Errorf("%q %w", name, err)
		}
		parts = append(parts, part)
		if after == "" {
			break
		}
		rest = strings.TrimPrefix(after, ".")
	}
	if len(parts) > 2 {
		return nil, fmt.Errorf("%q has %d parts, where a table is NAME or SCHEMA.NAME", name, len(parts))
	}
	return parts, nil
}

// tablePart takes the first part off a name; what is left begins with a dot or is
// empty.
func tablePart(s string) (part, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		part, rest = s, ""
		if at := strings.IndexByte(s, '.'); at >= 0 {
			part, rest = s[:at], s[at:]
		}
		if part == "" || strings.ContainsAny(part, "\x00") || rest == "." {
			return "", "", errors.New("names no table")
		}
		return part, rest, nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != '"':
			b.WriteByte(s[i])
		case i+1 < len(s) && s[i+1] == '"':
			b.WriteByte('"')
			i++
		default:
			if rest = s[i+1:]; b.Len() == 0 || rest == "." || rest != "" && rest[0] != '.' {
				return "", "", errors.New("is not a name in double quotes, as \"schema\".\"name\"")
			}
			return b.String(), rest, nil
		}
	}
	return "", "", errors.New("lacks a closing double quote")
}

// look finds out where the rows are and which column is the id.
func (r *tableReader) look(ctx context.Context) error {
	r.id = r.s.ID
	if r.s.Query != "" {
		// The line break ends a comment that the query may end in.
		r.from = "(" + strings.TrimRight(strings.TrimSpace(r.s.Query), "; \t\r\n") + "\n)"
		if r.id == "" {
			r.id = "id"
		}
		return nil
	}
	r.from = pgx.Identifier(r.s.table).Sanitize()
	if r.id != "" {
		return nil
	}
	keys, err := r.primaryKey(ctx)
	switch {
	case err != nil:
		return r.explain(ctx, "look at the table", err)
	case len(keys) == 0:
		return &Error{Path: r.s.name, Problem: "has no primary key, so no column is known to hold the ids", Hint: `name one, such as id = "id"`}
	case len(keys) > 1:
		return &Error{
			Path: r.s.name, Problem: fmt.Sprintf("has a primary key of %d columns (%s)", len(keys), strings.Join(keys, ", ")),
			Hint: "name a column that tells rows apart as id, or give a query that makes one",
		}
	}
	r.id = keys[0]
	return nil
}

func (r *tableReader) primaryKey(ctx context.Context) ([]string, error) {
	rows, err := r.Tx().Query(ctx, `select a.attname::text from pg_catalog.pg_index i
		join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
		where i.indrelid = $1::text::regclass and i.indisprimary order by a.attname::text collate "C"`, r.from)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// explain says what an error is about, and what to do.
func (r *tableReader) explain(ctx context.Context, op string, err error) error {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && pgErr.Code == "42703" { // undefined_column
		err = fmt.Errorf("%w: %w", errColumn, err)
		said := strings.TrimSuffix(pgErr.Message, ".")
		return &Error{Path: r.s.name, Problem: said, Hint: r.columnsHint(pgErr.Hint), Err: r.Explain(ctx, op, err)}
	}
	return r.s.explain(r.Explain(ctx, op, err))
}

func (r *tableReader) columnsHint(said string) string {
	hint := fmt.Sprintf("id is %q, title %q and body %q; letters count as they are", r.id, r.s.Title, r.s.Body)
	if said != "" {
		hint += ". " + strings.TrimSuffix(said, ".")
	}
	return hint
}

func column(name string) string { return "q." + pgx.Identifier{name}.Sanitize() }

func asText(name string) string {
	if name == "" {
		return "null::text"
	}
	return "(" + column(name) + ")::text"
}

// rows calls use for each row in the byte order of the ids until it returns false.
// Where is a condition, or empty.
func (r *tableReader) rows(ctx context.Context, where string, use func(tableRow) (bool, error)) error {
	return r.cursor(ctx, r.statement([]string{asText(r.id), asText(r.s.Title), asText(r.s.Body)}, where), use)
}

// ids calls use for each row with nothing but its id.
func (r *tableReader) ids(ctx context.Context, use func(tableRow) (bool, error)) error {
	return r.cursor(ctx, r.statement([]string{asText(r.id), "null::text", "null::text"}, ""), use)
}

func (r *tableReader) statement(columns []string, where string) string {
	sql := "select " + strings.Join(columns, ", ") + " from " + r.from + " as q"
	if where != "" {
		sql += " where " + where
	}
	return sql + " order by (" + columns[0] + ` collate "C")`
}

func (r *tableReader) cursor(ctx context.Context, sql string, use func(tableRow) (bool, error)) error {
	const op = "read the table"
	if _, err := r.Tx().Exec(ctx, "declare raglab_rows no scroll cursor for "+sql); err != nil {
		return r.explain(ctx, op, err)
	}
	fetch := "fetch forward " + strconv.Itoa(rowsAtOnce) + " from raglab_rows"
	for n := 0; ; {
		got, more, err := r.batch(ctx, fetch, n, use)
		if err != nil || !more {
			return err
		}
		if n += got; got < rowsAtOnce {
			_, err = r.Tx().Exec(ctx, "close raglab_rows")
			return r.explain(ctx, op, err)
		}
	}
}

// batch hands over one batch of rows, of which n were there before.
func (r *tableReader) batch(ctx context.Context, fetch string, n int, use func(tableRow) (bool, error)) (got int, more bool, err error) {
	const op = "read the table"
	rows, err := r.Tx().Query(ctx, fetch)
	if err != nil {
		return 0, true, r.explain(ctx, op, err)
	}
	defer rows.Close()
	for rows.Next() {
		got++
		row := tableRow{n: n + got}
		if err := rows.Scan(&row.id, &row.title, &row.body); err != nil {
			return got, true, r.explain(ctx, op, err)
		}
		if more, err := use(row); err != nil || !more {
			return got, false, err
		}
	}
	return got, true, r.explain(ctx, op, rows.Err())
}

// one reads a single value as text.
func (r *tableReader) one(ctx context.Context, what string) (*string, error) {
	var value *string
	err := r.Tx().QueryRow(ctx, "select ("+what+")::text from "+r.from+" as q").Scan(&value)
	return value, r.explain(ctx, "look at the table", err)
}

// quoteLiteral writes a text as a literal of SQL.
func quoteLiteral(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
