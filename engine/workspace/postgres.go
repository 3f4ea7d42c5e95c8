package workspace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/internal/assets"
	"raglab/internal/pg"
	"raglab/internal/pg/private"
	"raglab/spec"
)

// Database is the way to the database that indexes live in: the server of a spec's
// store block, of RAGLAB_DSN, or raglab's own, which is started when it is needed.
// Its methods may be called from several goroutines. It must be closed.
type Database struct {
	config  pg.Config
	private private.Config
	assets  *assetFinder

	// turn is held by who connects, and by who reads what follows.
	turn chan struct{}
	// connected may start a server and make its schema; looked does neither.
	connected, looked *pg.DB
	// left are connections whose schema somebody dropped; others may still use them.
	left []*pg.DB
	// unreachable is why a named server could not be looked at.
	unreachable error
}

var _ engine.Residence = (*Database)(nil)

// Database returns the way to the database of an experiment, which may be nil.
// It connects to nothing.
func (w *Workspace) Database(exp *spec.Experiment) (*Database, error) {
	d := w.ownDatabase()
	d.config.Getenv = w.Getenv
	if exp == nil || exp.Store == nil {
		return d, nil
	}
	params, diags := exp.Params(exp.Store, nil, nil)
	if diags.HasErrors() {
		return nil, diags
	}
	p := params.(*PostgresParams)
	d.config.DSN, d.config.Schema, d.config.MaxConns = p.DSN, p.Schema, int32(p.MaxConnections)
	return d, nil
}

// ownDatabase is the way to raglab's own server, whatever is named.
func (w *Workspace) ownDatabase() *Database {
	dir := w.Cache.Dir()
	d := &Database{
		config: pg.Config{Getenv: func(string) string { return "" }, Version: w.Version},
		// The folder of the programs is known once they are there. To look, to stop
		// and to drop takes none.
		private: private.Config{Dir: filepath.Join(dir, "postgres"), Programs: filepath.Join(dir, "assets", assets.Postgres().Name)},
		assets:  w.assets,
		turn:    make(chan struct{}, 1),
	}
	d.config.Private = &d.private
	return d
}

// Origin tells where the choice of the server comes from.
func (d *Database) Origin() pg.Origin { return d.config.Origin() }

// Own tells whether it is raglab's own server.
func (d *Database) Own() bool { return d.Origin() == pg.FromPrivate }

// asset names the asset with the programs of the server, if it is raglab's own.
func (d *Database) asset() string {
	if d.Own() {
		return assets.Postgres().Name
	}
	return ""
}

// take waits for its turn.
func (d *Database) take(ctx context.Context) error {
	select {
	case d.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (d *Database) give() { <-d.turn }

// Connect connects the first time, and gives everybody the same DB, which is not
// theirs to close. It gets the programs of raglab's own server, starts it, and
// makes its schema, whatever is not there yet, or no more. A server that recovers
// from a crash is waited for, so that a stage that lost its connection is not run
// in vain.
func (d *Database) Connect(ctx context.Context) (*pg.DB, error) {
	db, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err = db.Await(ctx); !errors.Is(err, pg.ErrNoTable) {
		return db, err
	}
	if err := d.leave(ctx, db); err != nil {
		return nil, err
	}
	return d.connect(ctx)
}

// leave has the next connect anew, unless another did it.
func (d *Database) leave(ctx context.Context, db *pg.DB) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	defer d.give()
	if d.connected == db {
		d.left, d.connected = append(d.left, db), nil
	}
	return nil
}

// connect is Connect for the first time.
func (d *Database) connect(ctx context.Context) (*pg.DB, error) {
	if err := d.take(ctx); err != nil {
		return nil, err
	}
	defer d.give()
	if d.connected != nil {
		return d.connected, nil
	}
	if d.Own() {
		own, err := d.programs(ctx)
		if err != nil {
			return nil, err
		}
		d.private = own
	}
	db, err := pg.Connect(ctx, d.config)
	if err != nil {
		return nil, err
	}
	d.connected = db
	return db, nil
}

// programs returns the private server's configuration with its programs, which are
// fetched and unpacked on first use.
func (d *Database) programs(ctx context.Context) (private.Config, error) {
	own := d.private
	paths, err := d.assets.store.Fetch(ctx, assets.Postgres(), d.assets.progress)
	if err != nil {
		return own, err
	}
	own.Tree, own.Programs, err = assets.PostgresTree(ctx, paths)
	return own, err
}

// lookTimeout bounds how long a plan waits for a server that somebody named.
const lookTimeout = 3 * time.Second

var errNoAnswer = fmt.Errorf("it did not answer within %v", lookTimeout)

// Look connects, if that can be done without changing anything: it starts no server
// and makes no schema. Raglab's own server may not run, which is
// [private.ErrNotRunning]. That a named one cannot be reached is remembered.
func (d *Database) Look(ctx context.Context) (*pg.DB, error) {
	if err := d.take(ctx); err != nil {
		return nil, err
	}
	defer d.give()
	switch {
	case d.connected != nil:
		return d.connected, nil
	case d.looked != nil:
		return d.looked, nil
	case d.unreachable != nil:
		return nil, d.unreachable
	}
	timed, cancel := context.WithTimeoutCause(ctx, lookTimeout, errNoAnswer)
	defer cancel()
	db, err := pg.Look(timed, d.config)
	if err != nil {
		if ctx.Err() == nil && !d.Own() {
			d.unreachable = err
		}
		return nil, err
	}
	d.looked = db
	return db, nil
}

// Close closes the connections. A private server stops by itself when nobody has
// used it for a while.
func (d *Database) Close() error {
	d.turn <- struct{}{}
	defer d.give()
	for _, db := range append(d.left, d.connected, d.looked) {
		if db != nil {
			db.Close()
		}
	}
	d.connected, d.looked, d.left = nil, nil, nil
	return nil
}

// Whole implements [engine.Residence].
func (d *Database) Whole(ctx context.Context, keys []cache.Key) (map[cache.Key]string, error) {
	found, err := d.find(ctx, keys)
	if errors.Is(err, pg.ErrNoTable) {
		found, err = nil, nil // somebody dropped the schema: nothing is there
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, notAsked{err}
	}
	wrong := make(map[cache.Key]string, len(found))
	for text, f := range found {
		k, err := cache.ParseKey(text)
		if err != nil {
			return nil, fmt.Errorf("look for index tables: %w", err)
		}
		wrong[k] = f.Problem
	}
	return wrong, nil
}

// Remove implements [engine.Residence].
func (d *Database) Remove(ctx context.Context, key cache.Key) error {
	db, err := d.Connect(ctx)
	if err == nil {
		err = db.Drop(ctx, []string{key.String()})
	}
	// A schema that was dropped meanwhile is made by the next to connect.
	if pg.IsTransient(err) || errors.Is(err, pg.ErrNoTable) {
		return engine.Transient(err)
	}
	return err
}

// notAsked is an [engine.ErrNotAsked] that says why.
type notAsked struct{ error }

// Unwrap returns the reason.
func (e notAsked) Unwrap() error { return e.error }

// Is makes it an ErrNotAsked.
func (notAsked) Is(target error) bool { return target == engine.ErrNotAsked }

// warm connects ahead of a plan that builds or searches tables: the start of a
// server is no part of what its first index took. What goes wrong here goes wrong
// again where it matters, and is told there.
func (d *Database) warm(ctx context.Context, plan *engine.Plan) {
	resides := func(s *engine.Stage) bool { return s.Residence != nil }
	for i := range plan.Stages {
		ps := &plan.Stages[i]
		if ps.Outcome != engine.WillRun && ps.Outcome != engine.Maybe {
			continue
		}
		if resides(ps.Stage) || slices.ContainsFunc(ps.Stage.Inputs, func(in engine.Input) bool { return resides(in.From) }) {
			_, _ = d.Connect(ctx)
			return
		}
	}
}

// find looks for the tables of the keys, or for all.
func (d *Database) find(ctx context.Context, keys []cache.Key) (map[string]pg.Found, error) {
	db, err := d.Look(ctx)
	if errors.Is(err, private.ErrNotRunning) && !d.held() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if ready, err := db.Ready(); err != nil || !ready {
		return nil, err
	}
	if keys == nil {
		// It waits for whoever has locked a table; a plan does not.
		timed, cancel := context.WithTimeoutCause(ctx, lookTimeout, errNoAnswer)
		defer cancel()
		return db.All(timed)
	}
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = k.String()
	}
	return db.Exists(ctx, texts)
}

// held tells whether raglab's own server has data.
func (d *Database) held() bool {
	status, err := private.Look(d.private)
	return err == nil && status.Bytes > 0
}
