package pg

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Session is a connection with settings that hold for all that is done with it.
// One goroutine at a time may use it.
type Session struct {
	// Conn is the connection. Its settings are only to be changed by [Session.Set].
	Conn *pgx.Conn
	// Settings are those asked for, as the server has them.
	Settings map[string]string
	db       *DB
}

// OpenSession returns a connection of its own that has the settings, as
// hnsw.ef_search. They are set for the session: SET LOCAL outside of a transaction
// is ignored by Postgres without an error, and numbers measured then are those of
// the default. They are read back here, and again by [Session.Close], which must be
// called. Through a transaction pooler the error is a [*PoolerError].
func (db *DB) OpenSession(ctx context.Context, settings map[string]string) (*Session, error) {
	if p := db.server.Pooler; p.perTransaction() {
		return nil, &PoolerError{Pooler: p, What: "a session with settings of its own"}
	}
	conn, err := db.connect(ctx)
	if err != nil {
		return nil, db.wrap(ctx, "connect to Postgres", err)
	}
	if err := db.prepareConn(ctx, conn); err != nil {
		conn.Close(context.WithoutCancel(ctx))
		return nil, db.wrap(ctx, "prepare a session", err)
	}
	s := &Session{Conn: conn, Settings: map[string]string{}, db: db}
	if err := s.Set(ctx, settings); err != nil {
		conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return s, nil
}

// Set changes settings of the session and reads them back.
func (s *Session) Set(ctx context.Context, settings map[string]string) error {
	applied, err := apply(ctx, s.Conn, settings, false)
	if err != nil {
		return s.db.wrap(ctx, "apply settings", err)
	}
	maps.Copy(s.Settings, applied)
	return nil
}

// Close closes the connection. It is an error when a setting is no longer what it
// was set to: what was measured is then not what was asked for.
func (s *Session) Close(ctx context.Context) error {
	defer s.Conn.Close(context.WithoutCancel(ctx))
	return s.db.wrap(ctx, "check settings", s.verify(ctx))
}

// verify reads the settings back.
func (s *Session) verify(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(s.Settings)) {
		value, err := known(ctx, s.Conn, name)
		if err != nil {
			return err
		}
		if value != s.Settings[name] {
			return fmt.Errorf("%s was set to %s and is %s in the end: what was measured is not what was asked for",
				name, s.Settings[name], value)
		}
	}
	return nil
}
