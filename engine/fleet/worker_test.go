package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/executortest"
	"raglab/engine/fleet"
	"raglab/engine/fleet/fleettest"
	"raglab/engine/fleet/memory"
)

// A worker that drains begins nothing more, finishes what runs, and gives the rest back.
func TestWorker_drain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, engine.Resources{CPU: 1})
		s.w.Ahead = 2
		var u usage
		for i := range 5 {
			s.add(fmt.Sprint("make", i), engine.Resources{CPU: 1}, u.sleep(engine.Resources{CPU: 1}, time.Hour))
		}
		s.open()
		applied := make(chan *engine.Outcomes, 1)
		go func() { out, _ := s.apply(t.Context()); applied <- out }()
		<-time.After(time.Minute)
		s.close()
		status, err := s.q.Status(t.Context(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if r := status.Runs[0]; r.Done != 1 || r.Ready != 4 || r.Claimed != 0 {
			t.Errorf("the run stands at %+v", r)
		}
		if len(u.order) != 1 {
			t.Errorf("%q were begun", u.order)
		}
		// Another worker does the rest.
		s.drain = make(chan struct{})
		s.open()
		if out := <-applied; out.Executed != 5 {
			t.Errorf("executed %d", out.Executed)
		}
		s.close()
	})
}

// Once the grace is over, what still runs is stopped and given back.
func TestWorker_grace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, engine.Resources{CPU: 1})
		s.w.Grace = time.Minute
		var cause error
		s.add("make", engine.Resources{}, func(ctx context.Context, t *engine.Task) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return t.Write("out", nil)
		})
		s.open()
		ctx, cancel := context.WithCancelCause(t.Context())
		applied := make(chan *engine.Outcomes, 1)
		go func() { out, _ := s.apply(ctx); applied <- out }()
		<-time.After(time.Minute)
		began := time.Now()
		s.close()
		if took := time.Since(began); took < time.Minute || took > 2*time.Minute || !errors.Is(cause, fleet.ErrDrained) {
			t.Errorf("ended after %v, the stage because of %v", took, cause)
		}
		if status, err := s.q.Status(t.Context(), time.Time{}); err != nil || status.Runs[0].Ready != 1 {
			t.Errorf("the run stands at %+v (%v)", status.Runs, err)
		}
		cancel(errEnough)
		<-applied
	})
}

// A worker that is told to stop at once does, with the cause, and gives all back.
func TestWorker_stop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, engine.Resources{CPU: 1})
		var cause error
		stage := s.add("make", engine.Resources{}, func(ctx context.Context, t *engine.Task) error {
			err := t.Write("out", []byte("half"))
			<-ctx.Done()
			cause = context.Cause(ctx)
			return err
		})
		s.open()
		ctx, cancel := context.WithCancelCause(t.Context())
		applied := make(chan *engine.Outcomes, 1)
		go func() { out, _ := s.apply(ctx); applied <- out }()
		synctest.Wait()
		s.stop(errEnough)
		if err := <-s.ended; !errors.Is(err, errEnough) || !errors.Is(cause, errEnough) {
			t.Errorf("ended with %v, the stage with %v", err, cause)
		}
		if status, err := s.q.Status(t.Context(), time.Time{}); err != nil || status.Runs[0].Ready != 1 {
			t.Errorf("the run stands at %+v (%v)", status.Runs, err)
		}
		if p := planOf(t, s.store, s.graph); p.Stages[stage.Index()].Outcome != engine.WillRun {
			t.Error("half a result was kept")
		}
		cancel(errEnough)
		<-applied
	})
}

// A stage whose claim is lost is stopped at once, with that cause, and publishes
// nothing.
func TestWorker_claimLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, engine.Resources{CPU: 1})
		var causes []error
		s.add("make", engine.Resources{}, func(ctx context.Context, t *engine.Task) error {
			if len(causes) == 0 {
				<-ctx.Done()
				causes = append(causes, context.Cause(ctx))
				return t.Write("out", []byte("of a claim that was lost"))
			}
			return t.Write("out", []byte("good"))
		})
		s.open()
		applied := make(chan *engine.Outcomes, 1)
		go func() { out, _ := s.apply(t.Context()); applied <- out }()
		<-time.After(time.Minute)
		s.q.Kill("w") // what it has is given to whoever asks: itself
		out := <-applied
		s.close()
		if len(causes) != 1 || !errors.Is(causes[0], fleet.ErrClaimLost) {
			t.Errorf("the stage was stopped with %v", causes)
		}
		if raw, err := s.store.ReadAll(t.Context(), out.Outputs[0][0].Digest); string(raw) != "good" {
			t.Errorf("the result is %q (%v)", raw, err)
		}
	})
}

// Progress is told once a second at most.
func TestWorker_progress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, engine.Resources{CPU: 1})
		s.add("make", engine.Resources{}, func(ctx context.Context, t *engine.Task) error {
			for i := range 1000 {
				t.Progress(i, 1000, "texts")
				<-time.After(10 * time.Millisecond)
			}
			return t.Write("out", nil)
		})
		s.open()
		_, events := s.apply(t.Context())
		s.close()
		n := 0
		for _, e := range events {
			if e.Type == engine.EventProgress {
				n++
			}
		}
		if n < 9 || n > 11 {
			t.Errorf("progress was told %d times in ten seconds", n)
		}
	})
}

// What a stage said last is what stands while it says nothing.
func TestWorker_lastProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, engine.Resources{CPU: 1})
		s.add("make", engine.Resources{}, func(ctx context.Context, t *engine.Task) error {
			for i := range 1000 {
				t.Progress(i+1, 1000, "texts")
			}
			<-time.After(time.Minute)
			return t.Write("out", nil)
		})
		s.open()
		_, events := s.apply(t.Context())
		s.close()
		var done []int64
		for _, e := range events {
			if e.Type == engine.EventProgress {
				done = append(done, e.Done)
			}
		}
		if len(done) == 0 || len(done) > 2 || done[len(done)-1] != 1000 {
			t.Errorf("of 1000 texts %d were told to be done", done)
		}
	})
}

// strangers is a source of which some graphs cannot be built, and some do not have what
// the queue asks for.
type strangers struct {
	*shop
	asks  atomic.Int32
	fails func(ask int) error
	finds func(ask int) bool
}

func (s *strangers) Graph(context.Context, cache.Digest) (fleet.Project, error) {
	if err := s.fails(int(s.asks.Add(1))); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *strangers) Find(k cache.Key) (*engine.Stage, bool) {
	if !s.finds(int(s.asks.Add(1))) {
		return nil, false
	}
	return s.shop.Find(k)
}

// What a worker does not have, or cannot build, it leaves to others, and says why; it
// does not ask for it again and again. It counts as no attempt.
func TestWorker_refuses(t *testing.T) {
	t.Parallel()
	never := func(int) error { return nil }
	always := func(int) bool { return true }
	for name, tt := range map[string]struct {
		fails func(int) error
		finds func(int) bool
		want  string
	}{
		"no bundle": {func(n int) error {
			if n < 8 {
				return errors.New("bundle is of raglab 9")
			}
			return nil
		}, always, "worker w leaves it to others: it cannot build the graph: bundle is of raglab 9"},
		"no version": {
			never, func(n int) bool { return n >= 8 },
			"worker w leaves it to others: its raglab does not have stage kind make in version 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newShop(t, engine.Resources{CPU: 1})
				s.w.Source = &strangers{shop: s, fails: tt.fails, finds: tt.finds}
				stage := s.add("make", engine.Resources{}, executortest.Constant)
				s.open()
				began := time.Now()
				out, events := s.apply(t.Context())
				s.close()
				s.wantStates(out, "done")
				if took := time.Since(began); took < 30*time.Second || took > 10*time.Minute {
					t.Errorf("it took %v", took)
				}
				told := slices.ContainsFunc(events, func(e engine.Event) bool {
					return e.Type == engine.EventWaiting && e.Message == tt.want
				})
				if last := events[len(events)-1]; !told || last.Attempt != 1 || executortest.Runs(stage) != 1 {
					t.Errorf("attempt %d, events %+v", last.Attempt, events)
				}
			})
		})
	}
}

// A result whose key somebody else is making is waited for, without holding anything.
func TestWorker_leasedElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, engine.Resources{CPU: 1})
		leases := fleettest.NewLeases()
		s.w.Lease = leases
		stage := s.add("make[a]", engine.Resources{}, executortest.Constant)
		s.add("make[b]", engine.Resources{}, executortest.Constant)
		key := planOf(t, s.store, s.graph).Stages[stage.Index()].Key
		release, ok, err := leases.Lease(t.Context(), key)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		s.open()
		go func() {
			<-time.After(time.Minute)
			release()
		}()
		began := time.Now()
		out, events := s.apply(t.Context())
		s.close()
		s.wantStates(out, "done done")
		if took := time.Since(began); took < time.Minute || took > 2*time.Minute {
			t.Errorf("it took %v", took)
		}
		if executortest.Runs(stage) != 1 {
			t.Errorf("ran %d times", executortest.Runs(stage))
		}
		waiting := 0
		for _, e := range events {
			if e.Type == engine.EventWaiting && e.Stage == stage {
				waiting++
			}
		}
		if waiting != 1 {
			t.Errorf("told %d times that it waits", waiting)
		}
	})
}

// uploads notes what is uploaded.
type uploads struct {
	mu    sync.Mutex
	keys  []cache.Key
	blobs []cache.Digest
	err   error
}

func (u *uploads) Push(_ context.Context, keys ...cache.Key) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.keys = append(u.keys, keys...)
	return u.err
}

func (u *uploads) PushBlobs(_ context.Context, digests ...cache.Digest) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.blobs = append(u.blobs, digests...)
	return u.err
}

// What a worker finds on its own machine, and what it makes and must not keep, it
// uploads, so that others can read it.
func TestWorker_uploads(t *testing.T) {
	t.Parallel()
	s := newShop(t, engine.Resources{CPU: 1})
	var mine uploads
	s.w.Push = &mine
	a := s.add("make[a]", engine.Resources{}, executortest.Constant)
	b := executortest.NewStage(executortest.Pure, "make[b]", "b", executortest.Join("b", 1), a)
	b.Check = func() error { return errors.New("changed meanwhile") }
	s.graph.Add(b)
	plan := planOf(t, s.store, s.graph)
	// Somebody applied the first here after the plan was made.
	if _, err := localOver(s.store).Apply(t.Context(), planOf(t, s.store, s.graph)); err != nil {
		t.Fatal(err)
	}
	s.open()
	var events []engine.Event
	out, err := s.executor(&events).Apply(t.Context(), plan)
	s.close()
	if err != nil {
		t.Fatal(err)
	}
	s.wantStates(out, "done done")
	if !slices.Equal(mine.keys, out.Keys[:1]) || !slices.Equal(mine.blobs, []cache.Digest{out.Outputs[1][0].Digest}) {
		t.Errorf("uploaded results %v and blobs %v", mine.keys, mine.blobs)
	}
}

// A second claim of a slow stage runs beside the first; the first to end wins.
func TestWorker_again(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, engine.Resources{CPU: 1})
		s.q = memory.New(memory.Options{Backups: fleet.Backups{Factor: 2, AtLeast: time.Minute, Samples: 1}})
		s.w.Queue = s.q
		leases := fleettest.NewLeases()
		s.w.Lease = leases
		var first atomic.Int32
		var u usage
		s.add("make[quick]", engine.Resources{}, u.sleep(engine.Resources{}, time.Second))
		slow := s.add("make[slow]", engine.Resources{}, func(ctx context.Context, t *engine.Task) error {
			if first.Add(1) == 1 {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return executortest.Constant(ctx, t)
		})
		other := *s.w
		other.Name = "v"
		other.Local.Store = openStore(t) // another machine's
		ended := make(chan error, 1)
		go func() { ended <- other.Run(t.Context(), s.drain) }()
		s.open()
		out, _ := s.apply(t.Context())
		s.close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		s.wantStates(out, "done done")
		if n := executortest.Runs(slow); n != 2 {
			t.Errorf("the slow one was begun %d times", n)
		}
	})
}

// forgetful is a store that does not find one blob, as often as it is written.
type forgetful struct {
	engine.Store
	loses cache.Digest
}

func (s forgetful) Open(ctx context.Context, d cache.Digest) (io.ReadCloser, error) {
	if d == s.loses {
		return nil, cache.ErrNotFound
	}
	return s.Store.Open(ctx, d)
}

func (s forgetful) ReadAll(ctx context.Context, d cache.Digest) ([]byte, error) {
	if d == s.loses {
		return nil, cache.ErrNotFound
	}
	return s.Store.ReadAll(ctx, d)
}

// A result that is lost is made anew each time, whatever records say, and given up in
// the end.
func TestWorker_lostEachTime(t *testing.T) {
	t.Parallel()
	s := newShop(t, engine.Resources{CPU: 1})
	s.w.Local.Store = forgetful{s.store, cache.DigestOf([]byte("a"))}
	a := s.add("make[a]", engine.Resources{}, executortest.Join("a", 0))
	s.add("make[b]", engine.Resources{}, executortest.Join("b", 1), a)
	s.open()
	out, _ := s.apply(t.Context())
	s.close()
	s.wantStates(out, "failed blocked")
	if err := out.Err(); err == nil || err.Error() != "its result was lost 4 times in one apply: what is written does not stay" {
		t.Errorf("failed with %v", err)
	}
	if n := executortest.Runs(a); n != 1+fleet.LostLimit {
		t.Errorf("it was made %d times", n)
	}
}
