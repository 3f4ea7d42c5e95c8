package pg

import (
	"context"
	"io/fs"
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
