package pg_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pgvector/pgvector-go"

	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
	"raglab/internal/pg/private"
)

func TestExplain_classifies(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	server := func(code, message string) error {
		return fmt.Errorf("query: %w", &pgconn.PgError{Code: code, Message: message})
	}
	tests := map[string]struct {
		err       error
		kind      error
		transient bool
	}{
		"too many":         {server("53300", "sorry, too many clients already"), pg.ErrTooManyConnections, true},
		"timeout":          {server("57014", "canceling statement due to statement timeout"), pg.ErrStatementTimeout, false},
		"cancelled":        {server("57014", "canceling statement due to user request"), pg.ErrCancelled, false},
		"shutdown":         {server("57P01", "terminating connection"), pg.ErrConnection, true},
		"crash":            {server("57P02", "terminating connection"), pg.ErrConnection, true},
		"starting":         {server("57P03", "the database system is starting up"), pg.ErrConnection, true},
		"exception":        {server("08006", "connection failure"), pg.ErrConnection, true},
		"end of file":      {fmt.Errorf("read: %w", io.ErrUnexpectedEOF), pg.ErrConnection, true},
		"network":          {&net.OpError{Op: "read", Err: errors.New("reset")}, pg.ErrConnection, true},
		"unknown host":     {&net.DNSError{Err: "no such host", IsNotFound: true}, pg.ErrConnection, false},
		"read-only":        {server("25006", "cannot execute INSERT"), pg.ErrReadOnly, false},
		"right":            {server("42501", "permission denied"), pg.ErrPermission, false},
		"disk":             {server("53100", "could not extend file"), pg.ErrDiskFull, false},
		"memory":           {server("53200", "out of memory"), pg.ErrOutOfMemory, false},
		"password":         {server("28P01", "password authentication failed"), pg.ErrAuthentication, false},
		"no table":         {server("42P01", "relation does not exist"), pg.ErrNoTable, false},
		"deadlock":         {server("40P01", "deadlock detected"), pg.ErrConflict, true},
		"serialization":    {server("40001", "could not serialize"), pg.ErrConflict, true},
		"a slip":           {server("42601", "syntax error"), nil, false},
		"the caller's own": {io.ErrNoProgress, io.ErrNoProgress, false},
	}
	for name, test := range tests {
		err := db.Explain(t.Context(), "try", test.err)
		if test.kind != nil && !errors.Is(err, test.kind) || pg.IsTransient(err) != test.transient || !strings.HasPrefix(err.Error(), "try: ") {
			t.Errorf("%s: %v, transient %v", name, err, pg.IsTransient(err))
		}
		var want, got *pgconn.PgError
		if errors.As(test.err, &want) && (!errors.As(err, &got) || got.Code != want.Code) {
			t.Errorf("%s: what the server said is lost: %v", name, err)
		}
	}
	if err := db.Explain(t.Context(), "try", nil); err != nil {
		t.Error(err)
	}
}

func TestErrors_ofARealServer(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	try := func(sql string) error {
		_, err := db.Pool().Exec(t.Context(), sql)
		return db.Explain(t.Context(), "try", err)
	}
	for sql, kind := range map[string]error{
		"set local statement_timeout = 10; select pg_sleep(10)":           pg.ErrStatementTimeout,
		"select pg_terminate_backend(pg_backend_pid()), pg_sleep(10)":     pg.ErrConnection,
		"set local default_transaction_read_only = on; select from never": pg.ErrNoTable,
		"set transaction read only; create table never (n int)":           pg.ErrReadOnly,
	} {
		// Several statements in one text are one transaction.
		err := try(sql)
		if !errors.Is(err, kind) || pg.IsTransient(err) != errors.Is(kind, pg.ErrConnection) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if err := try("select 1"); err != nil {
		t.Errorf("after a connection was cut: %v", err)
	}
}

// configured returns a private server with settings of the test's.
func configured(t *testing.T, settings string) private.Config {
	t.Helper()
	c := pgtest.Private(t)
	conf := filepath.Join(c.Dir, "server", "conf")
	if err := os.MkdirAll(conf, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(conf, "local.conf"), []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestErrors_tooManyConnections(t *testing.T) {
	t.Parallel()
	server := configured(t, "max_connections = 6\nsuperuser_reserved_connections = 0\n")
	c := pg.Config{Getenv: func(string) string { return "" }, Private: &server}
	db, err := pg.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// Sessions are connections of their own.
	var fill func(ctx context.Context, left int) error
	fill = func(ctx context.Context, left int) error {
		if left == 0 {
			return nil
		}
		return db.WithSettings(ctx, nil, func(ctx context.Context, _ *pg.Session) error { return fill(ctx, left-1) })
	}
	if err := fill(t.Context(), 20); !errors.Is(err, pg.ErrTooManyConnections) || !pg.IsTransient(err) {
		t.Errorf("%v", err)
	}
	// When they are free again, which the server sees to after they are closed.
	eventually(t, func() bool { return fill(t.Context(), 2) == nil })
}

func TestErrors_serverKilledWhileItWorks(t *testing.T) {
	t.Parallel()
	server := pgtest.Private(t)
	c := pg.Config{Getenv: func(string) string { return "" }, Private: &server}
	db, err := pg.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all := vectors(300, 8)
	kept := build(t, db, vectorIndex("kept", 8), fillHNSW(all))
	kill := func() {
		status, err := private.Look(server)
		if err != nil || !status.Running {
			t.Errorf("nothing to kill: %+v, %v", status, err)
			return
		}
		p, err := os.FindProcess(status.Server)
		if err == nil {
			err = p.Kill()
		}
		if err != nil {
			t.Error(err)
		}
	}
	ix := vectorIndex("cut", 8)
	points := map[string]func(context.Context, *pg.Building) error{
		"during copy": func(ctx context.Context, b *pg.Building) error {
			var once sync.Once
			_, err := b.CopyFrom(ctx, []string{"id", "embedding"}, pgx.CopyFromFunc(func() ([]any, error) {
				once.Do(kill)
				return []any{int32(1), pgvector.NewVector(all[0])}, nil
			}))
			return err
		},
		"during build": func(ctx context.Context, b *pg.Building) error {
			if err := fillHNSW(all)(ctx, b); err != nil {
				return err
			}
			kill()
			if err := b.Exec(ctx, "create index on "+b.Table+" using hnsw (embedding vector_l2_ops)"); err != nil {
				return err
			}
			// What works does not notice at once that its server is dead, what waits does.
			return b.Exec(ctx, "select pg_sleep(10)")
		},
	}
	for name, fill := range points {
		_, _, err := db.Build(t.Context(), ix, fill)
		if !errors.Is(err, pg.ErrConnection) || !pg.IsTransient(err) {
			t.Errorf("%s: %v", name, err)
		}
		eventually(t, func() bool {
			found, err := db.Exists(t.Context(), []string{ix.Key, kept.Key})
			return err == nil && len(found) == 1 && found[kept.Key].Problem == ""
		})
	}
	err = db.WithSettings(t.Context(), nil, func(ctx context.Context, s *pg.Session) error {
		kill()
		_, err := s.Conn.Exec(ctx, "select pg_sleep(10)")
		return err
	})
	if !errors.Is(err, pg.ErrConnection) || !pg.IsTransient(err) {
		t.Errorf("during search: %v", err)
	}
	eventually(t, func() bool {
		m, built, err := db.Build(t.Context(), ix, fillHNSW(all))
		return err == nil && built && m.Rows == 300
	})
}
