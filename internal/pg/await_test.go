package pg_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
	"raglab/internal/pg/private"
)

func TestAwait_serverThatWasKilled(t *testing.T) {
	t.Parallel()
	server := pgtest.Private(t)
	db, err := pg.Connect(t.Context(), pg.Config{Getenv: func(string) string { return "" }, Private: &server})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Await(t.Context()); err != nil { // from now on the pool has a connection
		t.Fatal(err)
	}
	status, err := private.Look(server)
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(status.Server)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return !pgtest.Alive(status.Server) })
	cause := errors.New("the user had enough")
	ctx, enough := context.WithCancelCause(t.Context())
	enough(cause)
	if err := db.Await(ctx); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	if err := db.Await(t.Context()); err != nil {
		t.Errorf("%v", err)
	}
	if again, err := private.Look(server); err != nil || again.Server == status.Server {
		t.Errorf("the killed server is said to run: %+v, %v", again, err)
	}
}
