package river_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"raglab/engine/fleet"
	"raglab/engine/fleet/river"
	"raglab/internal/pg"
)

// soon bounds what is to happen within seconds, on a machine that does much besides.
const soon = 2 * time.Minute

// inSchema puts the schema of a test into a statement.
func inSchema(db *pg.DB, sql string) string {
	return strings.ReplaceAll(sql, "{s}", pgx.Identifier{db.Schema()}.Sanitize())
}

// alter changes the tables behind the queue's back.
func alter(t testing.TB, db *pg.DB, sql string, args ...any) {
	t.Helper()
	if _, err := db.Pool().Exec(t.Context(), inSchema(db, sql), args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// ask reads one value.
func ask[T any](t testing.TB, db *pg.DB, sql string, args ...any) (v T) {
	t.Helper()
	if err := db.Pool().QueryRow(t.Context(), inSchema(db, sql), args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// allCompleted sees to it that no job is left in another state.
func allCompleted(t testing.TB, db *pg.DB) {
	t.Helper()
	if n := ask[int](t, db, `select count(*) from {s}.river_job where state <> 'completed'`); n != 0 {
		t.Errorf("%d jobs are not completed", n)
	}
}

// until waits for a condition on the tables.
func until(t testing.TB, db *pg.DB, what, condition string, args ...any) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(soon); !ask[bool](t, db, "select "+condition, args...); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("it does not happen that %s", what)
		}
	}
}

// holdLock keeps an advisory lock, as those of the queue's parts, from all others until
// it is told to let go.
func holdLock(t testing.TB, db *pg.DB, key int64) (letGo func()) {
	t.Helper()
	tx, err := db.Pool().Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), "select pg_advisory_xact_lock($1)", key)
	}
	if err != nil {
		t.Fatal(err)
	}
	letGo = func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }
	t.Cleanup(letGo)
	return letGo
}

// unled keeps all from becoming River's leader until one is to be elected.
func unled(t testing.TB, db *pg.DB) (elect func()) {
	t.Helper()
	alter(t, db, `insert into {s}.river_leader (elected_at, expires_at, leader_id) values (now(), now() + interval '1 day', 'nobody')`)
	return func() { alter(t, db, `delete from {s}.river_leader where leader_id = 'nobody'`) }
}

// seeker claims until the test ends: what it gets goes to its channel.
func seeker(t testing.TB, q *river.Queue) <-chan *fleet.Claim {
	got := make(chan *fleet.Claim, 100)
	go func() {
		for {
			c, err := q.Claim(t.Context(), fleet.Offer{Classes: everyClass})
			if err != nil {
				return
			}
			got <- c
		}
	}()
	return got
}

// next is what a channel gives next.
func next[T any](t testing.TB, ch <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(soon):
		t.Fatalf("nothing of %T comes", v)
	}
	return v
}

// closed waits for a channel to be closed.
func closed(t testing.TB, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(soon):
		t.Fatalf("it is not known that %s", what)
	}
}

// finish ends a claim that stands with its result.
func finish(t testing.TB, q *river.Queue, c *fleet.Claim) {
	t.Helper()
	if err := q.Finish(t.Context(), c, resultOf(c.Address)); err != nil {
		t.Fatalf("finish %s: %v", c.Address, err)
	}
}
