package river_test

import (
	"errors"
	"fmt"
	"testing"

	"raglab/engine"
	"raglab/engine/fleet"
	"raglab/internal/pg/pgtest"
)

// waitsFor is SQL for whether somebody waits to share an advisory lock.
const waitsFor = `exists (select from pg_locks where locktype = 'advisory' and not granted and mode = 'ShareLock'
	and (classid::bigint << 32 | objid::bigint) = $1)`

// A worker that finds its session again after somebody else has got what it had takes
// nothing back, and knows it without having asked.
func TestSession_foundTooLate(t *testing.T) {
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
	mend()
	closed(t, "the claim is another's", lost)
	until(t, db, "the worker is back", `exists (select from {s}.fleet_worker where id = $1 and missing is null)`, q.LockID())
	for what, word := range map[string]error{
		"renew":  q.Renew(t.Context(), c),
		"tell":   q.Tell(t.Context(), c, fleet.Notice{Type: engine.EventProgress, Done: 1, Total: 2}),
		"fail":   q.Fail(t.Context(), c, fleet.Failure{Text: "no model", Class: fleet.StageFailure}),
		"return": q.Return(t.Context(), c, "", 0),
		"finish": q.Finish(t.Context(), c, resultOf("something else")),
	} {
		if !errors.Is(word, fleet.ErrClaimLost) {
			t.Errorf("%s: %v, want ErrClaimLost", what, word)
		}
	}
	if err := other.Renew(t.Context(), again); err != nil {
		t.Errorf("the other's claim: %v", err)
	}
	if owner := ask[int64](t, db, `select owner from {s}.fleet_claim`); owner != other.LockID() {
		t.Error("the claim is the first worker's again")
	}
	finish(t, other, again)
	finish(t, q, one(t, q))
	if got := kinds(await(t, other, run)); got[engine.EventComplete] != 2 || got[engine.EventRetry] != 1 || len(got) != 2 {
		t.Errorf("notices %v", got)
	}
}

// A process that dies between River's fetch and its own claim has died of no stage: the
// job is found to be nobody's, and counts for no attempt.
func TestAdopt_fetchedAndNotClaimed(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	q, other := open(t, db, nil), open(t, db, nil)
	run := submit(t, other, layers(1, 1))
	letGo := holdLock(t, db, q.StructureLock())
	seeker(t, q)
	until(t, db, "the job is fetched", `state = 'running' and attempted_by[1] = $1 from {s}.river_job`, q.ClientID())
	until(t, db, "the claim waits", waitsFor, q.StructureLock()) // or it claims after its death
	q.Kill()
	until(t, db, "the server knows that it is gone", "not "+waitsFor, q.StructureLock())
	if n := ask[int](t, db, `select count(*) from {s}.fleet_claim`); n != 0 {
		t.Fatal("the node is claimed")
	}
	letGo()
	c := one(t, other)
	state, _, said := job(t, db, c.Key)
	if c.Attempt != 1 || state != "running" || len(said) != 0 {
		t.Errorf("claimed in attempt %d; the job is %s, with errors %q", c.Attempt, state, said)
	}
	finish(t, other, c)
	if got := kinds(await(t, other, run)); got[engine.EventComplete] != 1 || len(got) != 1 {
		t.Errorf("notices %v", got)
	}
	allCompleted(t, db)
}

// A fetch whose answer is lost on the way leaves a job that counts as this living
// process's and that it does not know of: it finds out itself.
func TestReclaim_fetchedAnswerLost(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	w := newWire(t, db)
	other, q := openAlone(t, db), open(t, w.connect(), nil)
	run := submit(t, other, layers(1, 1))
	key := q.StructureLock() + 1 // nobody's
	alter(t, db, fmt.Sprintf(`
		create function {s}.wait_here() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(%d); return new; end $$;
		create trigger wait_here before update on {s}.river_job for each row execute function {s}.wait_here()`, key))
	letGo := holdLock(t, db, key)
	got := seeker(t, q)
	until(t, db, "the fetch waits", waitsFor, key)
	w.put(deaf, w.pool(q)...)
	letGo()
	until(t, db, "the job is fetched", `state = 'running' and attempted_by[1] = $1 from {s}.river_job`, q.ClientID())
	w.put(broken, w.pool(q)...)
	c := next(t, got)
	if c.Attempt != 1 {
		t.Errorf("attempt %d, want 1", c.Attempt)
	}
	finish(t, q, c)
	if got := kinds(await(t, other, run)); got[engine.EventComplete] != 1 || len(got) != 1 {
		t.Errorf("notices %v", got)
	}
	allCompleted(t, db)
}

// A claim whose answer is lost on the way is found when it is asked for again: the node
// is not claimed twice.
func TestReclaim_claimedAnswerLost(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	w := newWire(t, db)
	other, q := openAlone(t, db), open(t, w.connect(), nil)
	run := submit(t, other, layers(1, 1))
	letGo := holdLock(t, db, q.StructureLock())
	got := seeker(t, q)
	until(t, db, "the job is fetched", `state = 'running' and attempted_by[1] = $1 from {s}.river_job`, q.ClientID())
	until(t, db, "the claim waits", waitsFor, q.StructureLock())
	w.put(deaf, w.pool(q)...)
	letGo()
	until(t, db, "the node is claimed", `count(*) = 1 from {s}.fleet_claim`)
	token := ask[int64](t, db, `select token from {s}.fleet_claim`)
	w.put(broken, w.pool(q)...)
	c := next(t, got)
	if c.Token != token || c.Attempt != 1 {
		t.Errorf("token %d, attempt %d; want %d, 1: the claim that was made", c.Token, c.Attempt, token)
	}
	finish(t, q, c)
	if got := kinds(await(t, other, run)); got[engine.EventComplete] != 1 || len(got) != 1 {
		t.Errorf("notices %v", got)
	}
}
