package pg

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
)

// Manifest says what an index table holds. It is written once, by the transaction
// that made the table.
type Manifest struct {
	// Key is the content key of the index stage, 64 hexadecimal digits.
	Key string
	// Table is the name of the table in raglab's schema.
	Table string
	// Kind names the implementation.
	Kind string
	Rows int64
	// Params are the parameters as JSON; BuildSettings the server's settings that
	// the build was made with, as the server had them.
	Params        json.RawMessage
	BuildSettings map[string]string
	// HeapBytes and IndexBytes are sizes as of the end of the build: see [Sizes].
	HeapBytes, IndexBytes int64
	CreatedAt             time.Time
	RaglabVersion         string
}

// Found is a manifest and whether it still holds.
type Found struct {
	Manifest
	// Problem says what is wrong with the table, in a few words; empty when it is
	// as it was built.
	Problem string
	// UsedAt is when the table was last read or made, as far as the server tells:
	// only Postgres 16 and later remember that it was read. Set by [DB.All] alone.
	UsedAt time.Time
}

const manifestColumns = `key, table_name, kind, rows, params, build_settings, heap_bytes, index_bytes, created_at, raglab_version`

// tablePrefix begins the names of index tables.
const tablePrefix = "ix_"

var keyPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// TableName names the table of a key. It holds 40 of the key's 64 digits: names in
// Postgres have 63 characters, and those of a table's indexes are longer by a few.
func TableName(key string) (string, error) {
	if !keyPattern.MatchString(key) {
		return "", fmt.Errorf("key %q: expected 64 hexadecimal digits", key)
	}
	return tablePrefix + key[:40], nil
}

// Table returns the table of a key, to be quoted by Sanitize.
func (db *DB) Table(key string) (pgx.Identifier, error) {
	name, err := TableName(key)
	return pgx.Identifier{db.schema, name}, err
}

// scanManifest reads the columns of manifestColumns and then the rest.
func scanManifest(row pgx.CollectableRow, rest ...any) (Manifest, error) {
	var m Manifest
	err := row.Scan(append([]any{
		&m.Key, &m.Table, &m.Kind, &m.Rows, &m.Params, &m.BuildSettings,
		&m.HeapBytes, &m.IndexBytes, &m.CreatedAt, &m.RaglabVersion,
	}, rest...)...)
	return m, err
}

// Exists returns the manifests that there are for the keys, in one query, and
// whether each table is still there with the sizes it was built with: a table that
// was emptied, dropped or lost its index is told from one that is whole without
// reading it, and so is one whose rows were changed or deleted, as long as the
// server remembers that it was. [DB.CheckRows] counts.
func (db *DB) Exists(ctx context.Context, keys []string) (map[string]Found, error) {
	found, err := db.find(ctx, db.pool, keys)
	return found, db.wrap(ctx, "look for index tables", err)
}

// All is [DB.Exists] for all index tables that there are, and tells when each was
// last used.
func (db *DB) All(ctx context.Context) (map[string]Found, error) {
	used := "m.created_at"
	if db.server.VersionNum >= remembersReads {
		used = `greatest(m.created_at, pg_stat_get_lastscan(c.oid),
			(select max(pg_stat_get_lastscan(i.indexrelid)) from pg_index i where i.indrelid = c.oid))`
	}
	found, err := db.findWhere(ctx, db.pool, used, "true")
	return found, db.wrap(ctx, "look for index tables", err)
}

// remembersReads is the first version of Postgres that tells when a table was read.
const remembersReads = 160000

func (db *DB) find(ctx context.Context, q querier, keys []string) (map[string]Found, error) {
	return db.findWhere(ctx, q, "m.created_at", "m.key = any($2)", keys)
}

// findWhere finds the manifests for which a condition on m holds; used is SQL for
// when its table c was used.
func (db *DB) findWhere(ctx context.Context, q querier, used, condition string, args ...any) (map[string]Found, error) {
	sql := fmt.Sprintf(`
		select %s, c.oid is not null, %s, %s, %s, %s
		from %s m left join pg_class c on c.oid = to_regclass(format('%%I.%%I', $1::text, m.table_name))
		where %s`, manifestColumns, heapSize("c"), indexSize("c"), writes("c"), used, db.manifests(), condition)
	rows, err := q.Query(ctx, sql, append([]any{db.schema}, args...)...)
	if err != nil {
		return nil, err
	}
	byKey := map[string]Found{}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var there bool
		var heap, index, written int64
		var usedAt time.Time
		m, err := scanManifest(row, &there, &heap, &index, &written, &usedAt)
		byKey[m.Key] = Found{Manifest: m, Problem: m.problem(there, heap, index, written), UsedAt: usedAt}
		return struct{}{}, err
	})
	return byKey, err
}

// problem compares what is there with what was built.
func (m Manifest) problem(there bool, heap, index, written int64) string {
	switch {
	case !there:
		return "its table was dropped"
	case heap == 0 && m.HeapBytes > 0:
		return "its table was emptied"
	case heap != m.HeapBytes:
		return fmt.Sprintf("its table has %d bytes and was built with %d", heap, m.HeapBytes)
	case index == 0 && m.IndexBytes > 0:
		return "its index was dropped"
	case index != m.IndexBytes:
		return fmt.Sprintf("its index has %d bytes and was built with %d", index, m.IndexBytes)
	case written > 0:
		return fmt.Sprintf("%d of its rows were changed or deleted", written)
	}
	return ""
}

// CheckRows counts the rows of a table, which reads all of it, and returns what is
// wrong; empty when it has those it was built with.
func (db *DB) CheckRows(ctx context.Context, m Manifest) (string, error) {
	var n int64
	err := db.pool.QueryRow(ctx, "select count(*) from "+pgx.Identifier{db.schema, m.Table}.Sanitize()).Scan(&n)
	switch {
	case serverCode(err) == codeNoTable:
		return "its table was dropped", nil
	case err != nil:
		return "", db.wrap(ctx, "count the rows of "+m.Table, err)
	case n != m.Rows:
		return fmt.Sprintf("its table has %d rows and was built with %d", n, m.Rows), nil
	}
	return "", nil
}

// List returns all manifests by the time they were made.
func (db *DB) List(ctx context.Context) ([]Manifest, error) {
	rows, err := db.pool.Query(ctx, "select "+manifestColumns+" from "+db.manifests()+" order by created_at, key")
	if err != nil {
		return nil, db.wrap(ctx, "list index tables", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Manifest, error) { return scanManifest(row) })
	return list, db.wrap(ctx, "list index tables", err)
}
