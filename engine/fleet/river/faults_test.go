package river_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
	"raglab/engine/fleet/river"
	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
)

// one claims the next node of the queue.
func one(t *testing.T, q *river.Queue) *fleet.Claim {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), soon, errors.New("nothing to claim"))
	defer cancel()
	c, err := q.Claim(ctx, fleet.Offer{Classes: everyClass})
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return c
}

func submit(t testing.TB, q *river.Queue, s fleet.Submission) fleet.RunID {
	t.Helper()
	run, err := q.Submit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// job reads what River has of a node.
func job(t *testing.T, db *pg.DB, key cache.Key) (state string, attempt int, said []string) {
	t.Helper()
	err := db.Pool().QueryRow(t.Context(), `
		select state::text, attempt, coalesce((select array_agg(e->>'error' order by n) from unnest(errors) with ordinality x (e, n)), '{}')
		from `+pgx.Identifier{db.Schema(), "river_job"}.Sanitize()+` where args->>'key' = $1 order by id desc limit 1`, key.String()).
		Scan(&state, &attempt, &said)
	if err != nil {
		t.Fatal(err)
	}
	return state, attempt, said
}

// A node that fails until its attempts are used up ends discarded in River, with an
// error row for each attempt.
func TestFail_endsDiscarded(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	q := open(t, db, nil)
	s := layers(1, 1)
	run := submit(t, q, s)
	for i := range s.Attempts {
		c := one(t, q)
		if c.Attempt != i+1 {
			t.Errorf("attempt %d, want %d", c.Attempt, i+1)
		}
		f := fleet.Failure{Text: fmt.Sprintf("no model, look %d at postgres://me:hush@host/db", i+1), Class: fleet.StageFailure, MayPass: true}
		if err := q.Fail(t.Context(), c, f); err != nil {
			t.Fatal(err)
		}
		state, attempt, said := job(t, db, c.Key)
		want := "available"
		if i+1 == s.Attempts {
			want = "discarded"
		}
		if state != want || attempt != i+1 || len(said) != i+1 || !strings.Contains(said[i], fmt.Sprintf("no model, look %d", i+1)) {
			t.Errorf("after attempt %d the job is %s, attempt %d, with errors %q; want %s", i+1, state, attempt, said, want)
		}
	}
	all := await(t, q, run)
	last := all[len(all)-1]
	if last.Type != engine.EventErrored || last.Failure == nil || !strings.Contains(last.Failure.Text, "no model, look 3") {
		t.Errorf("the last notice is %+v", last)
	}
	if text := everything(t, db); strings.Contains(text, "hush") {
		t.Error("a password got into the tables")
	}
}

// everything is the text of all rows of the queue.
func everything(t *testing.T, db *pg.DB) string {
	t.Helper()
	var text string
	schema := pgx.Identifier{db.Schema()}.Sanitize()
	err := db.Pool().QueryRow(t.Context(), fmt.Sprintf(`
		select concat(
			(select string_agg(n::text, ' ') from %[1]s.fleet_node n), (select string_agg(n::text, ' ') from %[1]s.fleet_notice n),
			(select string_agg(n::text, ' ') from %[1]s.fleet_run n), (select string_agg(n::text, ' ') from %[1]s.fleet_worker n),
			(select string_agg(n::text, ' ') from %[1]s.river_job n))`, schema)).Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Deaths of workers leave error rows, and discard the job when they are too many.
func TestDeath_endsDiscarded(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	watcher := open(t, db, func(o *river.Options) { o.Slots = nil })
	s := layers(2, 1)
	s.Deaths = 2
	run := submit(t, watcher, s)
	done := make(chan []fleet.Notice)
	go func() { done <- await(t, watcher, run) }()
	var key cache.Key
	for range s.Deaths {
		q := open(t, db, nil)
		key = one(t, q).Key
		q.Kill()
	}
	all := <-done
	if got := kinds(all); got[engine.EventRetry] != 1 || got[engine.EventErrored] != 1 || got[engine.EventBlocked] != 1 {
		t.Errorf("notices %v", got)
	}
	state, attempt, said := job(t, db, key)
	if state != "discarded" || attempt != 2 || len(said) != 2 || !strings.Contains(said[1], "2 workers were lost") {
		t.Errorf("the job is %s, attempt %d, with errors %q", state, attempt, said)
	}
}

// A worker whose session breaks finds it again and keeps what it has.
func TestSession_found(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	q, other := open(t, db, nil), open(t, db, nil)
	run := submit(t, q, layers(1, 1))
	c := one(t, q)
	for range 3 {
		if err := q.Terminate(t.Context()); err != nil {
			t.Fatal(err)
		}
		nothing(t, other, 1500*time.Millisecond)
	}
	if err := q.Renew(t.Context(), c); err != nil {
		t.Errorf("renew: %v", err)
	}
	if err := q.Finish(t.Context(), c, resultOf(c.Address)); err != nil {
		t.Errorf("finish: %v", err)
	}
	if got := kinds(await(t, other, run)); len(got) != 1 || got[engine.EventComplete] != 1 {
		t.Errorf("notices %v, want one complete", got)
	}
}

// nothing sees to it that nothing can be claimed for a while.
func nothing(t *testing.T, q *river.Queue, wait time.Duration) {
	t.Helper()
	silence := errors.New("silence")
	ctx, cancel := context.WithTimeoutCause(t.Context(), wait, silence)
	defer cancel()
	if c, err := q.Claim(ctx, fleet.Offer{Classes: everyClass}); !errors.Is(err, silence) {
		t.Errorf("claimed %v, %v, want nothing", c, err)
	}
}

// A worker whose session is lost for longer gives up what it had: somebody else has it,
// and a late word of the first is refused.
func TestSession_lost(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	q, other := open(t, db, nil), open(t, db, nil)
	run := submit(t, q, layers(2, 1))
	c := one(t, q)
	lost := q.Lost(c)
	mend, err := q.Cut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again := one(t, other)
	if again.Key != c.Key || again.Attempt != 2 {
		t.Errorf("claimed %s, attempt %d", again.Address, again.Attempt)
	}
	if err := q.Finish(t.Context(), c, resultOf(c.Address)); !errors.Is(err, fleet.ErrClaimLost) {
		t.Errorf("finish: %v, want ErrClaimLost", err)
	}
	select {
	case <-lost:
	case <-time.After(10 * time.Second):
		t.Error("the worker does not know that its claim is lost")
	}
	if err := q.Renew(t.Context(), c); !errors.Is(err, fleet.ErrClaimLost) {
		t.Errorf("renew: %v, want ErrClaimLost", err)
	}
	mend()
	if err := other.Finish(t.Context(), again, resultOf(again.Address)); err != nil {
		t.Fatal(err)
	}
	next := one(t, q)
	if err := q.Finish(t.Context(), next, resultOf(next.Address)); err != nil {
		t.Errorf("finish after the session is back: %v", err)
	}
	await(t, other, run)
}

// A transaction that has nothing to do with the queue, as one that builds an index for
// an hour, does not keep news from followers; one that may bring notices does.
func TestFollow_longTransaction(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	q := open(t, db, nil)
	tx, err := db.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), "create temp table long_build (id integer)"); err != nil {
		t.Fatal(err)
	}
	run := submit(t, q, layers(1, 1))
	c := one(t, q)
	if err := q.Finish(t.Context(), c, resultOf(c.Address)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if got := await(t, q, run); len(got) != 1 {
		t.Errorf("%d notices, want 1", len(got))
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the news took %v", took)
	}
}

// What River's own code says of a job after Work has returned must not end the next
// attempt.
func TestDriver_nextAttemptGoesOn(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	q := open(t, db, nil)
	run := submit(t, q, layers(1, 1))
	for range 4 {
		if err := q.Return(t.Context(), one(t, q), "", 0); err != nil {
			t.Fatal(err)
		}
	}
	c := one(t, q)
	// River's completer tells the server within a quarter of a second.
	nothing(t, q, time.Second)
	if state, attempt, _ := job(t, db, c.Key); state != "running" || attempt != 1 {
		t.Errorf("the job is %s, attempt %d, want running, 1", state, attempt)
	}
	if err := q.Finish(t.Context(), c, resultOf(c.Address)); err != nil {
		t.Fatal(err)
	}
	if state, _, _ := job(t, db, c.Key); state != "completed" {
		t.Errorf("the job is %s, want completed", state)
	}
	await(t, q, run)
}

// The tables of another raglab's River are refused with a sentence.
func TestOpen_otherVersion(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	open(t, db, nil)
	table := pgx.Identifier{db.Schema(), "river_migration"}.Sanitize()
	if _, err := db.Pool().Exec(t.Context(), "insert into "+table+" (line, version) values ('main', 99)"); err != nil {
		t.Fatal(err)
	}
	_, err := river.Open(t.Context(), river.Options{DB: db, Slots: slots(1)})
	version, ok := errors.AsType[*river.VersionError](err)
	if !ok || version.Found != 99 || !strings.Contains(err.Error(), "newer raglab") || strings.Contains(err.Error(), "\n") {
		t.Errorf("open: %v", err)
	}
}

// A key is leased to one process at a time.
func TestLease(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	a, b := open(t, db, nil), open(t, db, nil)
	key := cache.Key(cache.DigestOf([]byte("content")))
	lease := func(q *river.Queue, want bool) func() {
		t.Helper()
		release, ok, err := q.Lease(t.Context(), key)
		if err != nil || ok != want {
			t.Fatalf("lease: %v, %v, want %v", ok, err, want)
		}
		return release
	}
	release := lease(a, true)
	lease(a, false)
	lease(b, false)
	release()
	lease(b, true)
	b.Kill()
	for deadline := time.Now().Add(10 * time.Second); ; {
		_, ok, err := a.Lease(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("what a dead process had leased is not free")
		}
	}
}

// Through a transaction pooler the queue is refused: no lock says there who is alive.
func TestOpen_pooler(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Named(t)
	direct, err := pg.Connect(t.Context(), pg.Config{DSN: pg.DSN(dsn), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(direct.Close)
	open(t, direct, nil)
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	port := pgtest.Pooler(t, &config.Config, false, false)
	through := fmt.Sprintf("host=127.0.0.1 port=%d user=%s dbname=%s sslmode=disable", port, config.User, config.Database)
	db, err := pg.Connect(t.Context(), pg.Config{DSN: pg.DSN(through), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	_, err = river.Open(t.Context(), river.Options{DB: db, Slots: slots(1)})
	if _, ok := errors.AsType[*pg.PoolerError](err); !ok {
		t.Errorf("open: %v, want a PoolerError", err)
	}
}
