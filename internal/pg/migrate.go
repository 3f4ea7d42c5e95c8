package pg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"

	"raglab/migrations"
)

// NewerSchemaError says that a newer raglab made the schema.
type NewerSchemaError struct {
	Schema      string
	Found, Want int
}

func (e *NewerSchemaError) Error() string {
	return fmt.Sprintf("the schema %s of this database was made by a newer raglab (it is at migration %d, this raglab knows %d): "+
		"use that raglab, or another database", e.Schema, e.Found, e.Want)
}

// setUpLock is the advisory lock of a database under which extension and schemas
// are made: many may begin with an empty database at once.
const setUpLock = 0x7261676c6162 // "raglab"

// migrate brings extension and schema up to date. When there is nothing to do, as
// nearly always, it takes no lock and writes nothing.
func (db *DB) migrate(ctx context.Context, conn *pgx.Conn) error {
	want, err := migrate.FindMigrations(migrations.Files)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if db.server.Migration > len(want) {
		return &NewerSchemaError{Schema: db.schema, Found: db.server.Migration, Want: len(want)}
	}
	if db.server.Vector != "" && db.server.Migration == len(want) {
		return db.checkTables(ctx, conn)
	}
	if p := db.server.Pooler; p.perTransaction() {
		return &PoolerError{Pooler: p, What: "making raglab's schema, which takes a lock of a session,"}
	}
	err = db.migrateLocked(ctx, conn, migrations.Files)
	if errors.Is(err, ErrPermission) && db.server.Migration > 0 {
		return db.server.older(db.schema, len(want))
	}
	if err != nil {
		return err
	}
	pooler := db.server.Pooler
	db.server, err = readServer(ctx, conn, db.schema)
	db.server.Pooler = pooler
	return db.wrap(ctx, "look at Postgres", err)
}

// older says that the role may not bring the schema of an older raglab up to date.
func (s Server) older(schema string, want int) error {
	return &AdminError{
		Problem: fmt.Sprintf("the schema %s was made by an older raglab (it is at migration %d, this raglab needs %d), and role %s may not change it",
			schema, s.Migration, want, s.User),
		Database: s.Database,
		Hint:     "run raglab worker once as the role that owns it",
	}
}

// migrateLocked does it one process at a time. The lock ends with the connection.
func (db *DB) migrateLocked(ctx context.Context, conn *pgx.Conn, files fs.FS) error {
	const op = "make raglab's schema in Postgres"
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", int64(setUpLock)); err != nil {
		return db.wrap(ctx, op, err)
	}
	if err := db.createExtension(ctx, conn); err != nil {
		return err
	}
	if !db.server.SchemaThere {
		if _, err := conn.Exec(ctx, "create schema if not exists "+pgx.Identifier{db.schema}.Sanitize()); err != nil {
			return db.wrap(ctx, op, err)
		}
	}
	m, err := migrate.NewMigrator(ctx, conn, db.schema+".schema_version")
	if err != nil {
		return db.wrap(ctx, op, err)
	}
	m.Data = map[string]any{"schema": db.schema}
	if err := m.LoadMigrations(files); err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	// Another may have done it, and more, while this one waited.
	found, err := m.GetCurrentVersion(ctx)
	if err == nil && int(found) > len(m.Migrations) {
		return &NewerSchemaError{Schema: db.schema, Found: int(found), Want: len(m.Migrations)}
	}
	if err == nil {
		err = m.Migrate(ctx)
	}
	// The library's own error has a code but not the text of what it wraps.
	if failed, ok := errors.AsType[migrate.MigrationPgError](err); ok {
		err = failed.PgError
	}
	if err == nil {
		_, err = conn.Exec(ctx, "select pg_advisory_unlock($1)", int64(setUpLock))
	}
	return db.wrap(ctx, op, err)
}

// createExtension creates pgvector in the database if it is not there.
func (db *DB) createExtension(ctx context.Context, conn *pgx.Conn) error {
	if db.server.Vector != "" {
		return nil
	}
	_, err := conn.Exec(ctx, "create extension if not exists vector with schema public")
	if serverCode(err) == codeInsufficientRight {
		return &AdminError{
			Problem:  fmt.Sprintf("the database does not have the extension vector, and role %s may not create it", db.server.User),
			Database: db.server.Database,
			SQL:      []string{"CREATE EXTENSION vector;"},
		}
	}
	return db.wrap(ctx, "create the extension vector", err)
}

// checkTables sees that what the migrations made is there and may be read.
func (db *DB) checkTables(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "select from "+db.manifests()+" limit 0")
	switch serverCode(err) {
	case codeNoTable:
		return &AdminError{
			Problem:  fmt.Sprintf("the schema %s lacks tables that its migrations made", db.schema),
			Database: db.server.Database,
			SQL:      []string{"DROP SCHEMA " + pgx.Identifier{db.schema}.Sanitize() + " CASCADE;"},
			Hint:     "its index tables are built again once it is gone",
		}
	case codeInsufficientRight:
		return db.server.closed(db.schema)
	}
	return db.wrap(ctx, "look at Postgres", err)
}

// manifests is the quoted name of the table of manifests.
func (db *DB) manifests() string {
	return pgx.Identifier{db.schema, "index_manifests"}.Sanitize()
}
