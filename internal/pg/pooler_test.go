package pg_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
)

// through is the configuration that leads through a pooler to the schema of a DB.
func through(db *pg.DB, port int) pg.Config {
	return pg.Config{
		DSN:    pg.DSN(fmt.Sprintf("host=127.0.0.1 port=%d user=raglab dbname=%s sslmode=disable", port, db.Server().Database)),
		Getenv: func(string) string { return "" }, Schema: db.Schema(), Version: "test",
	}
}

// poolerOf runs a pooler before the server of a DB and returns its port.
func poolerOf(t *testing.T, db *pg.DB, session, named bool) int {
	t.Helper()
	return pgtest.Pooler(t, &db.Pool().Config().ConnConfig.Config, session, named)
}

// requireTransactionPooler connects through one and sees what works and what says
// why it does not.
func requireTransactionPooler(t *testing.T, c pg.Config, name string) {
	t.Helper()
	db, err := pg.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got := db.Server().Pooler; got != (pg.Pooler{Name: name, Mode: "transaction"}) {
		t.Errorf("found %+v", got)
	}
	err = db.WithSettings(t.Context(), map[string]string{"hnsw.ef_search": "100"}, func(context.Context, *pg.Session) error {
		t.Error("a session with settings was given")
		return nil
	})
	refusal, ok := errors.AsType[*pg.PoolerError](err)
	if !ok || refusal.Pooler.Name != name || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "session mode") {
		t.Errorf("%v", err)
	}
	m := build(t, db, vectorIndex("through "+name, 8), fillHNSW(vectors(100, 8)))
	if f, ok := exists(t, db, m.Key); !ok || f.Problem != "" || m.Rows != 100 {
		t.Errorf("%v, %q, %+v", ok, f.Problem, m)
	}
	fresh := c
	fresh.Schema += "_new"
	if _, err := pg.Connect(t.Context(), fresh); !errors.As(err, &refusal) {
		t.Errorf("a schema made through a pooler: %v", err)
	}
}

func TestPooler_transactionModeIsNamed(t *testing.T) {
	t.Parallel()
	for name, named := range map[string]bool{"PgBouncer": true, "a connection pooler": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.Connect(t)
			requireTransactionPooler(t, through(db, poolerOf(t, db, false, named)), name)
		})
	}
}

func TestPooler_sessionModeWorks(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	requireSessionPooler(t, through(db, poolerOf(t, db, true, true)))
}

func requireSessionPooler(t *testing.T, c pg.Config) {
	t.Helper()
	db, err := pg.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got := db.Server().Pooler; got != (pg.Pooler{Name: "PgBouncer", Mode: "session"}) {
		t.Errorf("found %+v", got)
	}
	build(t, db, vectorIndex("through a session", 8), fillHNSW(vectors(100, 8)))
	err = db.WithSettings(t.Context(), map[string]string{"hnsw.ef_search": "100"}, func(ctx context.Context, s *pg.Session) error {
		if got := setting(ctx, t, s, "hnsw.ef_search"); got != "100" {
			t.Errorf("hnsw.ef_search is %s", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
