package pgtest

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"raglab/internal/pg"
	"raglab/internal/pg/private"
)

// EnvDSN names a server for the tests to use instead of one of their own.
const EnvDSN = "RAGLAB_TEST_DSN"

// sharedServer is the private server of a test binary: started by the first test
// that wants one, stopped by [Main]. Should the binary be killed, it stops by
// itself and removes its folder.
type sharedServer struct {
	mu     sync.Mutex
	config *private.Config
	lease  *private.Lease
}

var shared sharedServer

// start returns the server's configuration, starting it the first time.
func (s *sharedServer) start(ctx context.Context) (*private.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config != nil {
		return s.config, nil
	}
	tree, programs, err := Fetch(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := temporaryDir()
	if err != nil {
		return nil, err
	}
	c := private.Config{Dir: dir, Tree: tree, Programs: programs, IdleAfter: 20 * time.Second, Temporary: true}
	// The lease keeps the server between two tests.
	if s.lease, err = private.Acquire(ctx, c); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	s.config = &c
	return s.config, nil
}

func (s *sharedServer) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config == nil {
		return nil
	}
	s.lease.Release()
	ctx, cancel := context.WithTimeoutCause(context.Background(), time.Minute, context.DeadlineExceeded)
	defer cancel()
	_, err := private.Stop(ctx, *s.config, true)
	if err == nil {
		err = os.RemoveAll(s.config.Dir)
	}
	return err
}

// Config returns what connects to a schema of the test's own, on the server that
// [EnvDSN] names or one that the tests of the binary share.
func Config(t testing.TB) pg.Config {
	t.Helper()
	c := pg.Config{
		Getenv:  func(string) string { return "" },
		Schema:  "test_" + strings.ToLower(rand.Text()),
		Version: "test",
	}
	if dsn := os.Getenv(EnvDSN); dsn != "" {
		c.DSN = pg.DSN(dsn)
	} else {
		Bundle(t)
		own, err := shared.start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.Private = own
	}
	return c
}

// Connect returns a server with a schema of the test's own, which is dropped when
// the test ends.
func Connect(t testing.TB) *pg.DB {
	t.Helper()
	db, err := pg.Connect(t.Context(), Config(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.DropSchema(context.Background()); err != nil {
			t.Errorf("drop the schema of the test: %v", err)
		}
		db.Close()
	})
	return db
}
