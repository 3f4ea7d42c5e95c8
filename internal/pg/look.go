package pg

import (
	"context"
	"fmt"

	"github.com/jackc/tern/v2/migrate"

	"raglab/migrations"
)

// Look connects to the server that [Connect] would use and changes nothing there:
// no schema is made, and a private server that does not run is not started, which
// is [private.ErrNotRunning]. [DB.Ready] says what of raglab's is there. The DB
// must be closed; it does not keep a private server from stopping.
func Look(ctx context.Context, c Config) (*DB, error) {
	db, conn, err := open(ctx, c, false)
	if err != nil {
		return nil, err
	}
	conn.Close(ctx)
	return db, nil
}

// Ready tells whether raglab's tables are there: false means that nothing was built
// yet. The error is for a schema that this raglab, or its role, cannot use.
func (db *DB) Ready() (bool, error) {
	want, err := migrate.FindMigrations(migrations.Files)
	switch {
	case err != nil:
		return false, fmt.Errorf("read the migrations: %w", err)
	case db.server.Closed:
		return false, db.server.closed(db.schema)
	case db.server.Migration > len(want):
		return false, &NewerSchemaError{Schema: db.schema, Found: db.server.Migration, Want: len(want)}
	}
	return db.server.Migration > 0 && db.server.Vector != "", nil
}

// Lacks returns what only an administrator can give to a server on which raglab is
// to work, as an [*AdminError]; nil when nothing is missing.
func (db *DB) Lacks() error { return db.server.needs(db.schema) }

// CheckSchema returns what keeps a name from being that of raglab's schema.
func CheckSchema(name string) error {
	if !schemaPattern.MatchString(name) {
		return fmt.Errorf("%q: expected at most 63 lower-case letters, digits and underscores", name)
	}
	return nil
}
