package pg

import (
	"context"
	"io/fs"

	"github.com/jackc/pgx/v5"
)

// MigrateWith applies other migrations to a schema.
func MigrateWith(ctx context.Context, c Config, files fs.FS) error {
	db, conn, err := open(ctx, c, true)
	if err != nil {
		return err
	}
	defer db.Close()
	defer conn.Close(ctx)
	return db.migrateLocked(ctx, conn, files)
}

// Needs returns what a server lacks.
func (s Server) Needs(schema string) error { return s.needs(schema) }

// WithoutSecrets returns a DSN as other programs get it.
func (d DSN) WithoutSecrets() (string, error) { return d.withoutSecrets() }

// Parse reads a DSN.
func (d DSN) Parse() (any, error) { return d.parse(FromEnv) }

// ParsesPassword tells whether the driver takes the password from the DSN.
func (d DSN) ParsesPassword(password string) bool {
	config, err := d.parse(FromEnv)
	return err == nil && config.Password == password
}

// WithSettings runs fn with a connection of its own that has the settings, as
// hnsw.ef_search, and closes it: see [DB.OpenSession]. Through a transaction pooler
// the error is a [*PoolerError].
func (db *DB) WithSettings(ctx context.Context, settings map[string]string, fn func(ctx context.Context, s *Session) error) error {
	s, err := db.OpenSession(ctx, settings)
	if err != nil {
		return err
	}
	if err := fn(ctx, s); err != nil {
		s.Conn.Close(context.WithoutCancel(ctx))
		return db.wrap(ctx, "search", err)
	}
	return s.Close(ctx)
}

// CopyFrom copies rows into the table, in Postgres's binary form, and returns how
// many they were.
func (b *Building) CopyFrom(ctx context.Context, columns []string, rows pgx.CopyFromSource) (int64, error) {
	n, err := b.Tx.CopyFrom(ctx, b.table, columns, rows)
	b.rows += n
	return n, err
}

// Sizes returns what a table of raglab's schema and its indexes take. A table that
// is not there is [ErrNoTable].
func (db *DB) Sizes(ctx context.Context, table string) (Sizes, error) {
	s, err := db.sizes(ctx, db.pool, table)
	return s, db.wrap(ctx, "measure the table "+table, err)
}
