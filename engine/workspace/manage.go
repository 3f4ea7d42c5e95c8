package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"raglab/internal/assets"
	"raglab/internal/pg"
	"raglab/internal/pg/private"
)

// DatabaseStatus is what can be told about a database without changing anything
// there. It holds no password.
type DatabaseStatus struct {
	// Origin says which server it is.
	Origin pg.Origin `json:"origin"`
	// Running says that it answered; what follows up to IndexBytes is known then.
	Running bool `json:"running"`
	// Problem is why it did not, or what is missing there.
	Problem string `json:"problem,omitempty"`

	Version string `json:"version,omitempty"`
	// Vector is the version of pgvector, empty while it is not created.
	Vector   string `json:"vector,omitempty"`
	Host     string `json:"host,omitempty"`
	Port     uint16 `json:"port,omitempty"`
	Database string `json:"database,omitempty"`
	User     string `json:"user,omitempty"`
	// Pooler names what stands between raglab and the server, and how it shares
	// connections.
	Pooler string `json:"pooler,omitempty"`
	Schema string `json:"schema"`
	// Migration is how far the schema is, 0 when there is none.
	Migration int `json:"migration"`
	Tables    int `json:"tables"`
	// Broken are tables that are not as they were built.
	Broken     int   `json:"broken,omitempty"`
	HeapBytes  int64 `json:"heap_bytes"`
	IndexBytes int64 `json:"index_bytes"`

	// Own is set for raglab's own server.
	Own *OwnStatus `json:"own,omitempty"`
}

// OwnStatus is what is known of raglab's own server, running or not.
type OwnStatus struct {
	Folder    string `json:"folder"`
	DataBytes int64  `json:"data_bytes"`
	Log       string `json:"log"`

	PID         int       `json:"pid,omitempty"`
	Account     string    `json:"account,omitempty"`
	Started     time.Time `json:"started,omitzero"`
	IdleSeconds float64   `json:"idle_seconds,omitempty"`
	InUse       bool      `json:"in_use"`
}

// Status looks at the server. The error is for raglab's own: that a named one does
// not answer is its Problem.
func (d *Database) Status(ctx context.Context) (DatabaseStatus, error) {
	s := DatabaseStatus{Origin: d.Origin(), Schema: cmp.Or(d.config.Schema, pg.DefaultSchema)}
	if d.Own() {
		own, err := private.Look(d.private)
		if err != nil {
			return s, err
		}
		s.Own = &OwnStatus{
			Folder: d.private.Dir, DataBytes: own.Bytes, Log: own.Log, PID: own.Server, Account: own.Account,
			Started: own.Started, IdleSeconds: own.IdleAfter.Seconds(), InUse: own.InUse,
		}
	}
	db, err := d.Look(ctx)
	switch {
	case errors.Is(err, private.ErrNotRunning):
		return s, nil
	case err != nil:
		s.Problem = err.Error()
		return s, ctx.Err()
	}
	s.server(db.Server())
	lacks := db.Lacks()
	if err := s.tables(ctx, db); lacks == nil {
		lacks = err
	}
	if lacks != nil {
		s.Problem = lacks.Error()
	}
	return s, nil
}

func (s *DatabaseStatus) server(v pg.Server) {
	s.Running, s.Version, s.Vector, s.Migration = true, v.Version, v.Vector, v.Migration
	s.Host, s.Port, s.Database, s.User = v.Host, v.Port, v.Database, v.User
	if v.Pooler.Mode != "" {
		s.Pooler = fmt.Sprintf("%s, which shares connections per %s", v.Pooler.Name, v.Pooler.Mode)
	}
}

// tables counts what is there.
func (s *DatabaseStatus) tables(ctx context.Context, db *pg.DB) error {
	ready, err := db.Ready()
	if err != nil || !ready {
		return err
	}
	found, err := db.All(ctx)
	for _, f := range found {
		s.Tables++
		s.HeapBytes += f.HeapBytes
		s.IndexBytes += f.IndexBytes
		if f.Problem != "" {
			s.Broken++
		}
	}
	return err
}

// errNotOwn says that only raglab's own server is raglab's to start and stop.
func (d *Database) errNotOwn(verb string) error {
	return fmt.Errorf("the server is that of %s, which is not raglab's to %s", d.Origin(), verb)
}

// Start starts raglab's own server, unless it runs already, to stop when nobody has
// used it for so long; 0 is 10 minutes.
func (d *Database) Start(ctx context.Context, idle time.Duration) (started bool, err error) {
	if !d.Own() {
		return false, d.errNotOwn("start")
	}
	before, err := private.Look(d.private)
	if err != nil {
		return false, err
	}
	d.private.IdleAfter = idle
	_, err = d.Connect(ctx)
	return err == nil && !before.Running, err
}

// Stop stops raglab's own server; false says that it did not run. One that others
// use stays, which is [private.ErrInUse], unless force is set.
func (d *Database) Stop(ctx context.Context, force bool) (bool, error) {
	if !d.Own() {
		return false, d.errNotOwn("stop")
	}
	return private.Stop(ctx, d.private, force)
}

// Drop removes all that raglab has in the database: its schema with all tables or,
// of its own server, the data folder.
func (d *Database) Drop(ctx context.Context, force bool) error {
	if d.Own() {
		return private.Drop(ctx, d.private, force)
	}
	db, err := d.Look(ctx)
	if err != nil {
		return err
	}
	return db.DropSchema(ctx)
}

// Psql prepares a command that opens the database in psql, starting raglab's own
// server if need be. The caller connects its standard streams, and closes the
// database when it has ended.
func (d *Database) Psql(ctx context.Context, args ...string) (*exec.Cmd, error) {
	if !d.Own() {
		program, err := d.psql(ctx)
		if err != nil {
			return nil, err
		}
		return pg.Psql(ctx, d.config, program, args...)
	}
	db, err := d.Connect(ctx)
	if err != nil {
		return nil, err
	}
	cmd, err := db.Lease().Psql(ctx, args...)
	if err == nil && os.Getenv("PGOPTIONS") == "" {
		cmd.Env = append(cmd.Env, "PGOPTIONS=-c search_path="+db.Schema()+",public")
	}
	return cmd, err
}

// psql is the bundle's where the system has none and the bundle is there.
func (d *Database) psql(ctx context.Context) (string, error) {
	if _, err := exec.LookPath("psql"); err == nil || d.assets.Missing(assets.Postgres().Name) != "" {
		return "", nil
	}
	own, err := d.programs(ctx)
	return filepath.Join(own.Programs, "bin", "psql"), err
}
