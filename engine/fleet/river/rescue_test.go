package river_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
	"raglab/engine/fleet/river"
	"raglab/internal/pg/pgtest"
)

// rescuing has River look for jobs that have run for twenty minutes.
func rescuing(o *river.Options) {
	o.JobTimeout, o.RescueStuckJobsAfter = 10*time.Minute, 20*time.Minute
}

// rescued is the text of River's own error row.
const rescued = "Stuck job rescued"

// A job that River has given to a living process which knows nothing of it is nobody's
// whom this package finds: River's own rescue brings it back, and counts for no attempt
// of the node.
func TestRescue_jobThatItsWorkerDoesNotKnow(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	openAlone(t, db)
	elect := unled(t, db)
	q := open(t, db, rescuing)
	run := submit(t, q, layers(2, 1))
	alter(t, db, `update {s}.river_job set state = 'running', attempt = 1, attempted_at = now() - interval '1 hour', attempted_by = array[$1]`,
		q.ClientID())
	nothing(t, q, 3*time.Second)
	elect()
	c := one(t, q)
	if c.Attempt != 1 {
		t.Errorf("attempt %d of the node, want 1: the rescue is none", c.Attempt)
	}
	if _, _, said := job(t, db, c.Key); len(said) != 1 || !strings.Contains(said[0], rescued) {
		t.Errorf("the job has the errors %q, want River's", said)
	}
	if err := q.Fail(t.Context(), c, fleet.Failure{Text: "no model", Class: fleet.StageFailure, MayPass: true}); err != nil {
		t.Fatal(err)
	}
	c = one(t, q)
	state, _, said := job(t, db, c.Key)
	if c.Attempt != 2 || state != "running" || len(said) != 2 || !strings.Contains(said[1], "no model") {
		t.Errorf("attempt %d: the job is %s, with errors %q", c.Attempt, state, said)
	}
	finish(t, q, c)
	finish(t, q, one(t, q))
	if got := kinds(await(t, q, run)); got[engine.EventComplete] != 2 || got[engine.EventRetry] != 1 || len(got) != 2 {
		t.Errorf("notices %v", got)
	}
	if n := ask[int](t, db, `select count(*) from {s}.river_job where state <> 'completed' or max_attempts <> 1000`); n != 0 {
		t.Errorf("%d jobs are not completed, or have other bounds", n)
	}
}

// River's rescue does not know of claims. One that stands when its job is rescued stays
// the only one of its node, and ends as if nothing had been.
func TestRescue_claimThatStands(t *testing.T) {
	t.Parallel()
	mayPass := fleet.Failure{Text: "no model", Class: fleet.StageFailure, MayPass: true}
	for name, test := range map[string]struct {
		end func(*testing.T, *river.Queue, *fleet.Claim) error
		// next is the attempt that follows, 0 for none; last how the run's last notice reads.
		next int
		last engine.EventType
	}{
		"finish": {func(t *testing.T, q *river.Queue, c *fleet.Claim) error {
			return q.Finish(t.Context(), c, resultOf(c.Address))
		}, 0, engine.EventComplete},
		"may pass": {func(t *testing.T, q *river.Queue, c *fleet.Claim) error {
			return q.Fail(t.Context(), c, mayPass)
		}, 2, engine.EventComplete},
		"fail": {func(t *testing.T, q *river.Queue, c *fleet.Claim) error {
			return q.Fail(t.Context(), c, fleet.Failure{Text: "no model", Class: fleet.StageFailure})
		}, 0, engine.EventErrored},
		"return": {func(t *testing.T, q *river.Queue, c *fleet.Claim) error {
			return q.Return(t.Context(), c, "", 0)
		}, 1, engine.EventComplete},
	} {
		for _, met := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", met by another"}[met], func(t *testing.T) {
				t.Parallel()
				db := pgtest.Connect(t)
				openAlone(t, db)
				elect := unled(t, db)
				q, other := open(t, db, rescuing), open(t, db, rescuing)
				run := submit(t, q, layers(1, 1))
				c := one(t, q)
				// After twelve failures River would wait for hours.
				alter(t, db, `update {s}.river_job set attempted_at = now() - interval '1 hour',
					errors = array_fill('{"at": "2026-01-01T00:00:00Z", "attempt": 1, "error": "no model", "trace": ""}'::jsonb, array[12])`)
				elect()
				until(t, db, "River rescues the job", `cardinality(errors) = 13 from {s}.river_job`)
				var got <-chan *fleet.Claim
				if met {
					got = seeker(t, other)
					until(t, db, "the other gets the job", `state = 'running' and attempted_by[array_upper(attempted_by, 1)] = $1 from {s}.river_job`, other.ClientID())
				}
				if err := q.Renew(t.Context(), c); err != nil {
					t.Errorf("renew: %v", err)
				}
				if n := ask[int](t, db, `select count(*) from {s}.fleet_claim`); n != 1 || len(got) != 0 {
					t.Errorf("%d claims, the other got %d, want the first alone", n, len(got))
				}
				if err := test.end(t, q, c); err != nil {
					t.Errorf("end: %v", err)
				}
				if !met {
					got = seeker(t, other)
				}
				if test.next != 0 {
					again := next(t, got)
					if again.Attempt != test.next {
						t.Errorf("attempt %d follows, want %d", again.Attempt, test.next)
					}
					finish(t, other, again)
				}
				all := await(t, q, run)
				if last := all[len(all)-1]; last.Type != test.last {
					t.Errorf("the last notice is %+v", last)
				}
				until(t, db, "the job ends", `state in ('completed', 'discarded') from {s}.river_job`)
				if len(got) != 0 {
					t.Error("the other got a claim too many")
				}
			})
		}
	}
}

// While nobody looks after the workers, River's rescue brings a dead worker's job back,
// but not its claim: nobody begins the node beside it. It is begun when the death is
// found, with an error row of each.
func TestRescue_workerThatNobodyMisses(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	watcher := openAlone(t, db)
	elect := unled(t, db)
	miss := holdLock(t, db, watcher.SupervisorLock())
	q, other := open(t, db, rescuing), open(t, db, rescuing)
	run := submit(t, watcher, layers(1, 1))
	key := one(t, q).Key
	q.Kill()
	alter(t, db, `update {s}.river_job set attempted_at = now() - interval '1 hour'`)
	got := seeker(t, other)
	elect()
	until(t, db, "the other gets the rescued job", `state = 'running' and attempted_by[array_upper(attempted_by, 1)] = $1 from {s}.river_job`, other.ClientID())
	if len(got) != 0 {
		t.Fatal("the node was claimed beside a claim that stands")
	}
	miss()
	c := next(t, got)
	if c.Key != key || c.Attempt != 2 {
		t.Errorf("claimed %s, attempt %d, want the same node's second", c.Address, c.Attempt)
	}
	_, _, said := job(t, db, key)
	if len(said) != 2 || !strings.Contains(said[0], rescued) || !strings.Contains(said[1], "is gone") {
		t.Errorf("the job has the errors %q", said)
	}
	finish(t, other, c)
	if got := kinds(await(t, watcher, run)); got[engine.EventComplete] != 1 || got[engine.EventErrored] != 0 {
		t.Errorf("notices %v", got)
	}
}

// A claim that takes longer than River's bound fails, in words, and its holder knows.
func TestJobTimeout(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	q := open(t, db, func(o *river.Options) { o.JobTimeout, o.RescueStuckJobsAfter = 2*time.Second, time.Hour })
	s := layers(3, 2)
	run := submit(t, q, s)
	c := one(t, q)
	lost := q.Lost(c)
	closed(t, "a claim took too long", lost)
	until(t, db, "it fails", `exists (select from {s}.fleet_node where state = 'failed')`)
	if err := q.Finish(t.Context(), c, resultOf(c.Address)); !errors.Is(err, fleet.ErrClaimLost) {
		t.Errorf("a late finish: %v, want ErrClaimLost", err)
	}
	const sentence = "it ran for more than 2s, the bound of one claim of a stage"
	state, attempt, said := job(t, db, c.Key)
	if state != "discarded" || attempt != 1 || len(said) != 1 || said[0] != c.Address+": "+sentence {
		t.Errorf("the job is %s, attempt %d, with errors %q", state, attempt, said)
	}
	next := one(t, q)
	if next.Key == c.Key {
		t.Error("it was claimed again")
	}
	finish(t, q, next)
	all := await(t, q, run)
	got := kinds(all)
	if got[engine.EventErrored] != 1 || got[engine.EventComplete] != 1 || got[engine.EventBlocked] != 1 {
		t.Errorf("notices %v", got)
	}
	for _, n := range all {
		if n.Type == engine.EventErrored && (n.Failure == nil || n.Failure.Text != sentence || n.Failure.Class != fleet.StageFailure) {
			t.Errorf("it failed with %+v", n.Failure)
		}
	}
}

// The bound holds for a second claim of a node too, of which River knows nothing.
func TestJobTimeout_secondClaim(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	q := open(t, db, func(o *river.Options) { o.Backups = fleet.Backups{Off: true} })
	other := open(t, db, func(o *river.Options) { o.JobTimeout, o.RescueStuckJobsAfter = 2*time.Second, time.Hour })
	s := layers(4, 4)
	for i := range s.Nodes {
		s.Nodes[i].Single = false
	}
	run := submit(t, q, s)
	first := one(t, q)
	for range 3 {
		finish(t, q, one(t, q))
	}
	second := one(t, other)
	if second.Key != first.Key || !second.Again {
		t.Fatalf("claimed %s, again %v, want the same once more", second.Address, second.Again)
	}
	closed(t, "the second claim took too long", other.Lost(second))
	until(t, db, "it ends", `count(*) = 1 from {s}.fleet_claim`)
	if err := other.Finish(t.Context(), second, resultOf(second.Address)); !errors.Is(err, fleet.ErrClaimLost) {
		t.Errorf("finish of the second: %v, want ErrClaimLost", err)
	}
	finish(t, q, first)
	await(t, q, run)
}

// A living worker that stops renewing loses its claim, and the lease under which it made
// the result; a late word of it is refused. A claim that it renews it keeps.
func TestSilence(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	began, silence := time.Now(), func(o *river.Options) { o.Silence = 15 * time.Second }
	q, other := open(t, db, silence), open(t, db, silence)
	run := submit(t, q, layers(2, 2))
	kept, silent := one(t, q), one(t, q)
	lost := q.Lost(silent)
	content := cache.Key{7}
	if _, ok, err := q.Lease(t.Context(), content); err != nil || !ok {
		t.Fatalf("lease: %v, %v", ok, err)
	}
	got := seeker(t, other)
	var again *fleet.Claim
	for tick := time.NewTicker(200 * time.Millisecond); again == nil; {
		select {
		case again = <-got:
		case <-tick.C:
			if err := q.Renew(t.Context(), kept); err != nil {
				t.Fatalf("renew: %v", err)
			}
		case <-t.Context().Done():
			t.Fatal("the claim of a silent worker is not given away")
		}
	}
	if again.Key != silent.Key || again.Attempt != 2 {
		t.Errorf("claimed %s, attempt %d, want %s again", again.Address, again.Attempt, silent.Address)
	}
	closed(t, "the silent claim is lost", lost)
	for tick := time.NewTicker(50 * time.Millisecond); ; <-tick.C {
		if _, ok, err := other.Lease(t.Context(), content); err != nil {
			t.Fatal(err)
		} else if ok {
			break
		}
		if t.Context().Err() != nil || time.Since(began) > soon {
			t.Fatal("the lease of a silent worker is kept")
		}
	}
	if err := q.Finish(t.Context(), silent, resultOf(silent.Address)); !errors.Is(err, fleet.ErrClaimLost) {
		t.Errorf("a late finish: %v, want ErrClaimLost", err)
	}
	if err := q.Renew(t.Context(), silent); !errors.Is(err, fleet.ErrClaimLost) {
		t.Errorf("a late renewal: %v, want ErrClaimLost", err)
	}
	finish(t, q, kept)
	finish(t, other, again)
	if got := kinds(await(t, q, run)); got[engine.EventComplete] != 2 || got[engine.EventRetry] != 1 {
		t.Errorf("notices %v", got)
	}
}
