package pgindex

import (
	"context"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"raglab/internal/pg"
)

// Querier is a connection, or a pool that takes one for each query.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Connections are what an index is searched through. Safe for concurrent use.
type Connections struct {
	db       *pg.DB
	settings map[string]string
	slots    chan struct{} // one for each that is in use

	mu   sync.Mutex
	idle []*pg.Session // the one used last at the end: it is warm
}

// NewConnections makes at most so many connections of their own, which have the
// settings. Without settings the database's pool is used, which works through a
// transaction pooler too.
func NewConnections(db *pg.DB, settings map[string]string, most int) *Connections {
	return &Connections{db: db, settings: settings, slots: make(chan struct{}, max(most, 1))}
}

// Do runs fn with a connection on which, besides the settings of all, name is set
// to value; an empty name stands for none. Errors are as [pg.DB.Explain] makes them.
func (c *Connections) Do(ctx context.Context, name, value string, fn func(Querier) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if len(c.settings) == 0 {
		return c.db.Explain(ctx, "search", fn(c.db.Pool()))
	}
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-c.slots }()
	s, err := c.take(ctx)
	if err != nil {
		return err
	}
	defer c.put(s)
	if name != "" && s.Settings[name] != value {
		if err := s.Set(ctx, map[string]string{name: value}); err != nil {
			return err
		}
	}
	return c.db.Explain(ctx, "search", fn(s.Conn))
}

// take returns an idle session, or a new one.
func (c *Connections) take(ctx context.Context) (*pg.Session, error) {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		s := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		return s, nil
	}
	c.mu.Unlock()
	return c.db.OpenSession(ctx, c.settings)
}

// put gives a session back; one that broke is forgotten.
func (c *Connections) put(s *pg.Session) {
	if s.Conn.IsClosed() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, s)
}

// Idle returns the sessions that are open and not in use, for tests.
func (c *Connections) Idle() []*pg.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.idle)
}

// Close closes the connections, none of which may be in use. It is an error when
// the settings of one are not what they were set to; that a server is gone is none,
// for nothing was measured there meanwhile.
func (c *Connections) Close(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var first error
	for _, s := range c.idle {
		if err := s.Close(ctx); err != nil && !pg.IsTransient(err) && first == nil {
			first = err
		}
	}
	c.idle = nil
	return first
}
