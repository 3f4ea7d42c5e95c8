package pg_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
	"raglab/internal/pg/private"
)

// TestConnect_serverNoticesACut: a server on TCP watches the connections of the pool as
// this side does, but where the address says otherwise.
func TestConnect_serverNoticesACut(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	c.NoSocket = true
	lease, err := private.Acquire(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	at, err := lease.Endpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dsn := fmt.Sprintf("host=%s port=%d user=%s dbname=%s password=%s sslmode=disable", at.Host, at.Port, private.Role, private.Database, at.Password)
	for _, tt := range []struct {
		more string
		want []string
	}{
		{"", []string{"30", "10", "3", "60000"}},
		{" tcp_keepalives_idle=77", []string{"77", "10", "3", "60000"}},
	} {
		if diff := cmp.Diff(tt.want, watchedBy(t, dsn+tt.more)); diff != "" {
			t.Errorf("%q:\n%s", tt.more, diff)
		}
	}
}

// watchedBy is how the server of an address watches a connection of the pool.
func watchedBy(t *testing.T, dsn string) []string {
	t.Helper()
	db, err := pg.Connect(t.Context(), pg.Config{DSN: pg.DSN(dsn), Getenv: func(string) string { return "" }, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var got []string
	for _, name := range []string{"tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count", "tcp_user_timeout"} {
		var value string
		if err := db.Pool().QueryRow(context.Background(), "select current_setting($1)", name).Scan(&value); err != nil {
			t.Fatal(err)
		}
		got = append(got, value)
	}
	return got
}
