package river

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"raglab/internal/pg"
)

// VersionError says that the tables of River in a schema are not those that this raglab
// works with.
type VersionError struct {
	Schema      string
	Found, Want int
	// Role is who may not bring older tables up to date, empty for newer ones.
	Role string
}

func (e *VersionError) Error() string {
	if e.Found > e.Want {
		return fmt.Sprintf("the queue's tables in schema %s were made by a newer raglab (River's migration %d, this raglab knows %d): "+
			"use that raglab on this machine too", e.Schema, e.Found, e.Want)
	}
	return fmt.Sprintf("the queue's tables in schema %s were made by an older raglab (River's migration %d, this raglab needs %d), "+
		"and role %s may not change them: run raglab worker once as the role that owns them", e.Schema, e.Found, e.Want, e.Role)
}

// migrate brings River's tables in raglab's schema up to date by River's own migrator,
// one process at a time. When there is nothing to do it takes no lock and writes
// nothing.
func migrate(ctx context.Context, o Options) error {
	db := o.DB
	m, err := rivermigrate.New(riverpgxv5.New(db.Pool()), &rivermigrate.Config{Schema: db.Schema(), Logger: logger(o.Log)})
	if err != nil {
		return fmt.Errorf("read River's migrations: %w", err)
	}
	all := m.AllVersions()
	want := all[len(all)-1].Version
	found, err := riverVersion(ctx, db)
	if err == nil && found < want {
		if err = migrateLocked(ctx, db, m, want); err == nil {
			found, err = riverVersion(ctx, db)
		}
	}
	if _, ok := errors.AsType[*VersionError](err); ok {
		return err
	}
	if err == nil && found > want {
		return &VersionError{Schema: db.Schema(), Found: found, Want: want}
	}
	return db.Explain(ctx, "make the queue's tables in Postgres", err)
}

// undefinedColumn is SQLSTATE's class for a column that is not there.
const undefinedColumn = "42703"

// riverVersion is how far River's tables are; 0 when there are none.
func riverVersion(ctx context.Context, db *pg.DB) (version int, err error) {
	table := pgx.Identifier{db.Schema(), "river_migration"}.Sanitize()
	var there bool
	if err := db.Pool().QueryRow(ctx, "select to_regclass($1) is not null", table).Scan(&there); err != nil || !there {
		return 0, err
	}
	err = db.Pool().QueryRow(ctx, "select coalesce(max(version), 0) from "+table+" where line = 'main'").Scan(&version)
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && pgErr.Code == undefinedColumn {
		return 0, nil // somebody is at it: the first migrations know no lines
	}
	return version, err
}

// migrateLocked migrates while a lock is held that ends with the transaction; River's
// migrations run beside it, for some cannot be part of one.
func migrateLocked(ctx context.Context, db *pg.DB, m *rivermigrate.Migrator[pgx.Tx], want int) error {
	return pgx.BeginFunc(ctx, db.Pool(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", lockKey("migrate", db.Schema())); err != nil {
			return err
		}
		found, err := riverVersion(ctx, db)
		if err != nil || found >= want {
			return err
		}
		if found > 0 {
			var mine bool
			err := tx.QueryRow(ctx, "select pg_has_role(relowner, 'usage') from pg_class where oid = $1::text::regclass",
				pgx.Identifier{db.Schema(), "river_job"}.Sanitize()).Scan(&mine)
			if err == nil && !mine {
				err = &VersionError{Schema: db.Schema(), Found: found, Want: want, Role: db.Server().User}
			}
			if err != nil {
				return err
			}
		}
		if _, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
			return err
		}
		return dropUnused(ctx, db)
	})
}

// unused are indexes of River's for listing jobs by kind, arguments and metadata, which
// nobody does here. Each costs a stage four writes.
var unused = []string{"river_job_kind", "river_job_args_index", "river_job_metadata_index"}

func dropUnused(ctx context.Context, db *pg.DB) error {
	for _, name := range unused {
		if _, err := db.Pool().Exec(ctx, "drop index if exists "+pgx.Identifier{db.Schema(), name}.Sanitize()); err != nil {
			return err
		}
	}
	return nil
}
