package river_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/executortest"
	"raglab/engine/fleet"
	"raglab/engine/fleet/fleettest"
	"raglab/engine/fleet/river"
	"raglab/internal/pg/pgtest"
)

// given sees to it that a claim of a worker that is cut off is another's: the first knows
// that it is lost and its words are refused, also once the network is back; then it works
// again. The run is of two nodes, one after the other.
type given struct {
	*testing.T
	w        *wire
	q, other *river.Queue
	run      fleet.RunID
	first    *fleet.Claim
	lost     <-chan struct{}
}

// cutOff has a worker behind a wire claim a node.
func cutOff(t *testing.T, change func(*river.Options)) *given {
	t.Helper()
	db := pgtest.Connect(t)
	g := &given{T: t, w: newWire(t, db), other: open(t, db, change)}
	g.q = open(t, g.w.connect(), change)
	g.run = submit(t, g.other, layers(2, 1))
	g.first = one(t, g.q)
	g.lost = g.q.Lost(g.first)
	return g
}

// passesOn sees what was claimed go to the other worker.
func (g *given) passesOn() *fleet.Claim {
	g.Helper()
	again := one(g.T, g.other)
	if again.Key != g.first.Key || again.Attempt != 2 {
		g.Errorf("claimed %s, attempt %d, want %s again", again.Address, again.Attempt, g.first.Address)
	}
	return again
}

// isDone is passesOn with the other worker doing what it got, at once: what is not renewed
// is soon lost.
func (g *given) isDone() {
	g.Helper()
	finish(g.T, g.other, g.passesOn())
}

// refused sees that a claim is known to be lost and its end is refused.
func (g *given) refused() {
	g.Helper()
	if err := g.q.Renew(g.Context(), g.first); !errors.Is(err, fleet.ErrClaimLost) {
		g.Errorf("a late renewal: %v, want ErrClaimLost", err)
	}
	if err := g.q.Finish(g.Context(), g.first, resultOf("something else")); !errors.Is(err, fleet.ErrClaimLost) {
		g.Errorf("a late finish: %v, want ErrClaimLost", err)
	}
}

// worksAgain ends the run, with the worker that was cut off doing the second node.
func (g *given) worksAgain() {
	g.Helper()
	finish(g.T, g.q, one(g.T, g.q))
	all := await(g.T, g.other, g.run)
	got := kinds(all)
	if got[engine.EventComplete] != 2 || got[engine.EventRetry] != 1 || len(got) != 2 {
		g.Errorf("notices %v, want two nodes complete and one begun twice", got)
	}
	for _, n := range all {
		if n.Type == engine.EventComplete && n.Node == g.first.Key && n.Key != resultOf(g.first.Address).Key {
			g.Error("the result is that of a claim that was lost")
		}
	}
	allCompleted(g.T, g.w.db)
}

// All connections are closed, and none can be made.
func TestNetwork_closed(t *testing.T) {
	t.Parallel()
	g := cutOff(t, nil)
	g.w.put(broken)
	again := g.passesOn()
	closed(t, "the claim is lost", g.lost)
	g.w.put(whole)
	g.refused()
	finish(t, g.other, again)
	g.worksAgain()
}

// Nothing arrives any more, in no connection and in none that is made. The server finds
// out by its keepalives.
func TestNetwork_silent(t *testing.T) {
	t.Parallel()
	g := cutOff(t, nil)
	session := g.w.session(g.q)
	g.w.put(silent)
	g.w.forgetAtServer(session)
	again := g.passesOn()
	closed(t, "the claim is lost", g.lost)
	g.w.put(whole)
	g.refused()
	finish(t, g.other, again)
	g.worksAgain()
}

// Nothing arrives any more, and what is in between keeps the server from finding out:
// the claim is given away when it has not been renewed for long.
func TestNetwork_silentUnnoticed(t *testing.T) {
	t.Parallel()
	g := cutOff(t, func(o *river.Options) { o.Silence = 5 * time.Second })
	g.w.put(silent)
	g.isDone()
	closed(t, "the claim is lost", g.lost)
	g.w.put(whole)
	g.refused()
	g.worksAgain()
}

// The session's connection falls silent; others can be made. The worker makes its
// session again, ends what the server has of the old one, and keeps its claim.
func TestNetwork_sessionSilent(t *testing.T) {
	t.Parallel()
	g := cutOff(t, nil)
	before := ask[int](t, g.w.db, `select `+holder, g.q.LockID())
	got := seeker(t, g.other)
	g.w.put(silent, g.w.session(g.q))
	until(t, g.w.db, "the session is made again", `coalesce(`+holder+` <> $2, false)`, g.q.LockID(), before)
	until(t, g.w.db, "somebody has looked", `count(*) = 1 and bool_and(missing is null) from {s}.fleet_worker where id = $1`, g.q.LockID())
	if err := g.q.Renew(t.Context(), g.first); err != nil {
		t.Errorf("renew: %v", err)
	}
	select {
	case <-g.lost:
		t.Error("the worker gave up what it had")
	case c := <-got:
		t.Errorf("the other claimed %s, attempt %d", c.Address, c.Attempt)
	default:
	}
	finish(t, g.q, g.first)
	finish(t, g.other, next(t, got))
	if got := kinds(await(t, g.other, g.run)); got[engine.EventComplete] != 2 || len(got) != 1 {
		t.Errorf("notices %v, want two complete", got)
	}
}

// The pool's connections close, or fall silent, and the session's stands: the worker
// cannot renew, and gives up what it has by its own clock.
func TestNetwork_poolAlone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		is   state
		good bool // the connections that there are never come back; others can be made
	}{"closed": {broken, false}, "silent": {silent, false}, "silent for good": {silent, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := cutOff(t, func(o *river.Options) { o.Silence = 5 * time.Second })
			g.w.next(test.is)
			g.w.put(test.is, g.w.pool(g.q)...)
			closed(t, "the claim is lost", g.lost)
			g.isDone()
			if test.good {
				g.w.next(whole)
			} else {
				g.w.put(whole)
			}
			g.refused()
			g.worksAgain()
		})
	}
}

// A worker that gave up what it had, because it could not reach the server for long, gives
// it back once it can, when nobody has missed it meanwhile.
func TestNetwork_nobodyMissesIt(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	miss := holdLock(t, db, openAlone(t, db).SupervisorLock())
	w := newWire(t, db)
	q := open(t, w.connect(), nil)
	run := submit(t, q, layers(1, 1))
	c := one(t, q)
	lost := q.Lost(c)
	w.put(broken)
	closed(t, "the claim is lost", lost)
	w.put(whole)
	again := one(t, q)
	if again.Key != c.Key || again.Token == c.Token || again.Attempt != 1 {
		t.Errorf("claimed %s, attempt %d, want the same again", again.Address, again.Attempt)
	}
	miss()
	finish(t, q, again)
	if got := kinds(await(t, q, run)); got[engine.EventComplete] != 1 || len(got) != 1 {
		t.Errorf("notices %v", got)
	}
}

// A machine that is cut off within a transaction keeps what that has locked for seconds,
// not for as long as a system keeps a connection that says nothing.
func TestNetwork_silentInTransaction(t *testing.T) {
	t.Parallel()
	g := cutOff(t, nil)
	row, err := g.w.db.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = row.Rollback(context.Background()) }()
	if _, err := row.Exec(t.Context(), inSchema(g.w.db, `select from {s}.fleet_node where key = $1 for update`), g.first.Key[:]); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- g.q.Fail(t.Context(), g.first, fleet.Failure{Text: "no model", Class: fleet.StageFailure, MayPass: true})
	}()
	until(t, g.w.db, "the worker waits for the node", `exists (select from pg_stat_activity where wait_event_type = 'Lock' and wait_event in ('tuple', 'transactionid')
		and query like '%' || $1 || '%')`, g.w.db.Schema())
	g.w.put(silent)
	if err := row.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, g.w.db, "its transaction waits for it", `exists (select from pg_locks l join pg_stat_activity a using (pid)
		where a.state like 'idle in transaction%' and a.query like '%' || $1 || '%' and l.locktype = 'advisory')`, g.w.db.Schema())
	ctx, cancel := context.WithTimeoutCause(t.Context(), soon, errors.New("all wait for a machine that is gone"))
	defer cancel()
	if _, err := g.other.Submit(ctx, layers(4, 2)); err != nil {
		t.Fatal(err)
	}
	g.w.put(whole)
	// The transaction was undone by the server, and is tried again.
	if err := next(t, ended); err != nil && !errors.Is(err, fleet.ErrClaimLost) {
		t.Errorf("fail: %v", err)
	}
}

// planOf plans a graph.
func planOf(t testing.TB, store cache.Store, g *engine.Graph) *engine.Plan {
	t.Helper()
	p, err := (&engine.Planner{Store: store, Ledger: engine.Ledger{}, Log: hclog.NewNullLogger()}).Plan(t.Context(), g, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What a worker makes when its network is cut is stopped with the cause, and published by
// nobody, however it ends; the stage is made elsewhere, and the worker makes the next.
func TestNetwork_workerStops(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]state{"closed": broken, "silent": silent} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, err := cache.OpenLocal(t.TempDir(), cache.Options{NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close() })
			db := pgtest.Connect(t)
			w := newWire(t, db)
			through, queues := w.connect(), map[string]*river.Queue{}
			crew := fleettest.New(t, fleettest.Options{
				Store: store, Queue: openAlone(t, db), Workers: 1,
				Worker: func(name string) (fleet.Queue, func()) {
					at := db
					if len(queues) == 0 {
						at = through
					}
					q := open(t, at, func(o *river.Options) {
						o.Name, o.Slots, o.Silence, o.Backups = name, slots(4), 6*time.Second, fleet.Backups{Off: true}
					})
					queues[name] = q
					return q, q.Kill
				},
				Lease: func(name string) fleet.Leaser { return queues[name] },
			})
			cutOff := crew.Names()[0]
			begun, causes := make(chan string, 10), make(chan error, 10)
			g := engine.NewGraph()
			late := executortest.NewStage(executortest.Pure, "late", "late", func(ctx context.Context, task *engine.Task) error {
				select {
				case begun <- "late":
				default:
				}
				if task.Attempt > 1 {
					return task.Write("out", []byte("good"))
				}
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return task.Write("out", []byte("of a claim that was lost"))
			})
			g.Add(late)
			plan := planOf(t, store, g)
			crew.Publish(g)
			applied := make(chan *engine.Outcomes, 1)
			go func() {
				out, err := crew.Executor(executortest.Settings{Events: func(engine.Event) {}}).Apply(t.Context(), plan)
				if err != nil {
					t.Errorf("apply: %v", err)
				}
				applied <- out
			}()
			next(t, begun)
			session := w.session(queues[cutOff])
			w.put(is)
			w.forgetAtServer(session)
			crew.Start()
			if cause := next(t, causes); !errors.Is(cause, fleet.ErrClaimLost) {
				t.Errorf("the stage was stopped with %v, want ErrClaimLost", cause)
			}
			out := next(t, applied)
			if raw, err := store.ReadAll(t.Context(), out.Outputs[late.Index()][0].Digest); string(raw) != "good" || out.Executed != 1 {
				t.Errorf("the result is %q (%v), %d executed", raw, err, out.Executed)
			}
			w.put(whole)
			for _, name := range crew.Names() {
				if name != cutOff {
					crew.Drain(name)
				}
			}
			g = engine.NewGraph()
			g.Add(executortest.NewStage(executortest.Pure, "next", "next", executortest.Join("next", 0)))
			plan = planOf(t, store, g)
			crew.Publish(g)
			if out, err := crew.Executor(executortest.Settings{Events: func(engine.Event) {}}).Apply(t.Context(), plan); err != nil || out.Executed != 1 {
				t.Errorf("the worker that is back: %+v, %v", out, err)
			}
		})
	}
}
