package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Sizes are bytes of main forks, as pg_relation_size has them.
type Sizes struct {
	// Heap is the table with the table that holds its long values: a vector of more
	// than some 500 dimensions is moved there.
	Heap int64
	// Index is all of the table's indexes, Indexes each by its name.
	Index   int64
	Indexes map[string]int64
}

// heapSize and indexSize are SQL for the sizes of a row of pg_class.
func heapSize(class string) string {
	return fmt.Sprintf("coalesce(pg_relation_size(%[1]s.oid) + case when %[1]s.reltoastrelid = 0 then 0 else pg_relation_size(%[1]s.reltoastrelid) end, 0)", class)
}

func indexSize(class string) string {
	return fmt.Sprintf("coalesce((select sum(pg_relation_size(i.indexrelid)) from pg_index i where i.indrelid = %s.oid), 0)::bigint", class)
}

// writes is SQL for how many rows of a row of pg_class were changed or deleted,
// which a crash of the server makes it forget.
func writes(class string) string {
	return fmt.Sprintf("coalesce(pg_stat_get_tuples_updated(%[1]s.oid) + pg_stat_get_tuples_deleted(%[1]s.oid), 0)", class)
}

// querier is what a pool, a connection and a transaction have in common.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// sizes returns what a table of raglab's schema and its indexes take.
func (db *DB) sizes(ctx context.Context, q querier, table string) (Sizes, error) {
	s := Sizes{Indexes: map[string]int64{}}
	name := pgx.Identifier{db.schema, table}.Sanitize()
	err := q.QueryRow(ctx, "select "+heapSize("c")+" from pg_class c where c.oid = $1::text::regclass", name).Scan(&s.Heap)
	if err != nil {
		return s, err
	}
	rows, err := q.Query(ctx, `
		select c.relname, pg_relation_size(c.oid)
		from pg_index i join pg_class c on c.oid = i.indexrelid
		where i.indrelid = $1::text::regclass`, name)
	if err != nil {
		return s, err
	}
	var index string
	var bytes int64
	_, err = pgx.ForEachRow(rows, []any{&index, &bytes}, func() error {
		s.Indexes[index] = bytes
		s.Index += bytes
		return nil
	})
	return s, err
}
