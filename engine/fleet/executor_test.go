package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/executortest"
	"raglab/engine/fleet"
)

// An apply that is closed leaves its run at work; one that is opened again on the same
// goes on with it, and tells what happened meanwhile.
func TestExecutor_detach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, engine.Resources{CPU: 1})
		var u usage
		var from []*engine.Stage
		for i := range 4 {
			from = []*engine.Stage{s.add(fmt.Sprint("make", i), engine.Resources{}, u.sleep(engine.Resources{}, time.Hour), from...)}
		}
		var events []engine.Event
		var runs []fleet.RunID
		ex := s.executor(&events)
		ex.Detach, ex.Submitted = true, func(id fleet.RunID) { runs = append(runs, id) }
		s.open()
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(90*time.Minute, func() { cancel(errEnough) })
		out, err := ex.Apply(ctx, planOf(t, s.store, s.graph))
		if err != nil {
			t.Fatal(err)
		}
		s.wantStates(out, "done queued queued queued")
		if !out.Interrupted || !out.Detached || out.Held || out.Executed != 1 {
			t.Errorf("interrupted %v, detached %v, held %v, executed %d", out.Interrupted, out.Detached, out.Held, out.Executed)
		}
		<-time.After(time.Hour) // the second is done meanwhile
		events = nil
		out, err = ex.Apply(t.Context(), planOf(t, s.store, s.graph))
		if err != nil {
			t.Fatal(err)
		}
		s.close()
		s.wantStates(out, "done done done done")
		if len(runs) != 2 || runs[0] != runs[1] {
			t.Errorf("runs %v", runs)
		}
		// The plan found two of them.
		if out.Cached != 2 || out.Executed != 2 || out.Interrupted {
			t.Errorf("cached %d, executed %d, interrupted %v", out.Cached, out.Executed, out.Interrupted)
		}
		for _, e := range events {
			if e.Stage.Index() < 2 {
				t.Errorf("%s of %s, which was done before", e.Type, e.Stage.Address)
			}
		}
		for i, wall := range out.Wall {
			if wall != time.Duration(i/2)*time.Hour {
				t.Errorf("%s took %v", s.graph.Stages[i].Address, wall)
			}
		}
	})
}

// A run that somebody else holds ends for all who follow it.
func TestExecutor_heldByAnother(t *testing.T) {
	t.Parallel()
	for _, stop := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop(t, engine.Resources{CPU: 1})
			var u usage
			a := s.add("a", engine.Resources{}, u.sleep(engine.Resources{}, time.Hour))
			s.add("b", engine.Resources{}, u.sleep(engine.Resources{}, time.Hour), a)
			var events []engine.Event
			ex := s.executor(&events)
			ex.Submitted = func(id fleet.RunID) {
				time.AfterFunc(time.Minute, func() {
					if err := s.q.Hold(context.Background(), id, stop); err != nil {
						t.Error(err)
					}
				})
			}
			s.open()
			out, err := ex.Apply(t.Context(), planOf(t, s.store, s.graph))
			if err != nil {
				t.Fatal(err)
			}
			s.close()
			want := "done queued"
			if stop {
				want = "interrupted queued"
				if last := events[len(events)-1]; !errors.Is(last.Err, fleet.ErrHeld) {
					t.Errorf("the last event is %+v", last)
				}
			}
			s.wantStates(out, want)
			if !out.Interrupted || !out.Held || out.Detached || len(out.Failures) > 0 {
				t.Errorf("interrupted %v, held %v, detached %v, failures %v", out.Interrupted, out.Held, out.Detached, out.Failures)
			}
		})
	}
}

// stutter is a queue that cannot be reached every other time.
type stutter struct {
	fleet.Queue
	n int
}

var errReset = errors.New("connection reset")

func (s *stutter) fails() bool {
	s.n++
	return s.n%2 == 1
}

func (s *stutter) Follow(ctx context.Context, id fleet.RunID, at fleet.Cursor) (fleet.News, error) {
	if s.fails() {
		return fleet.News{}, errReset
	}
	return s.Queue.Follow(ctx, id, at)
}

func (s *stutter) Claim(ctx context.Context, o fleet.Offer) (*fleet.Claim, error) {
	if s.fails() {
		return nil, errReset
	}
	return s.Queue.Claim(ctx, o)
}

func (s *stutter) Finish(ctx context.Context, c *fleet.Claim, r fleet.Result) error {
	if s.fails() {
		return errReset
	}
	return s.Queue.Finish(ctx, c, r)
}

// A queue that is out of reach for a moment is asked again, by those who follow and by
// workers; what was made is not made again for that.
func TestExecutor_queueStutters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, engine.Resources{CPU: 1})
		s.w.Queue = &stutter{Queue: s.q}
		var stages []*engine.Stage
		for i := range 6 {
			stages = append(stages, s.add(fmt.Sprint("make", i), engine.Resources{}, executortest.Constant, stages...))
		}
		var events []engine.Event
		ex := s.executor(&events)
		ex.Queue = &stutter{Queue: s.q}
		s.open()
		out, err := ex.Apply(t.Context(), planOf(t, s.store, s.graph))
		if err != nil {
			t.Fatal(err)
		}
		s.close()
		s.wantStates(out, "done done done done done done")
		for _, st := range stages {
			if executortest.Runs(st) != 1 {
				t.Errorf("%s ran %d times", st.Address, executortest.Runs(st))
			}
		}
	})
}

// gone is a queue that cannot be followed any more.
type gone struct{ fleet.Queue }

func (gone) Follow(context.Context, fleet.RunID, fleet.Cursor) (fleet.News, error) {
	return fleet.News{}, errReset
}

// What keeps an apply from going on is an error, and says so.
func TestExecutor_errors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		adjust func(*fleet.Executor)
		want   string
	}{
		"verify": {func(x *fleet.Executor) { x.Verify = 0.05 }, fleet.ErrVerify.Error()},
		"bundle": {func(x *fleet.Executor) {
			x.Bundle = func(context.Context, *engine.Plan) (cache.Digest, error) { return cache.Digest{}, errReset }
		}, "store the stages' description: connection reset"},
		"limit":  {func(x *fleet.Executor) { x.Limits = map[string]int{"api": 0} }, "submit the plan: "},
		"follow": {func(x *fleet.Executor) { x.Queue = gone{x.Queue} }, "follow run 1, which goes on: connection reset"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newShop(t, engine.Resources{CPU: 1})
				s.add("make", engine.Resources{}, executortest.Constant)
				var events []engine.Event
				ex := s.executor(&events)
				tt.adjust(ex)
				out, err := ex.Apply(t.Context(), planOf(t, s.store, s.graph))
				if out != nil || err == nil || !strings.HasPrefix(err.Error(), tt.want) {
					t.Errorf("outcomes %v, error %v", out, err)
				}
			})
		})
	}
}

// What stages need that only this machine has is uploaded before they are submitted, and
// nothing else.
func TestExecutor_pushes(t *testing.T) {
	t.Parallel()
	s := newShop(t, engine.Resources{CPU: 1})
	a := s.add("a", engine.Resources{}, executortest.Constant)
	b := s.add("b", engine.Resources{}, executortest.Join("b", 1), a)
	if _, err := localOver(s.store).Apply(t.Context(), planOf(t, s.store, s.graph)); err != nil {
		t.Fatal(err)
	}
	c := s.add("c", engine.Resources{}, executortest.Join("c", 1), b)
	s.add("d", engine.Resources{}, executortest.Join("d", 2), b, c)
	plan := planOf(t, s.store, s.graph)
	var events []engine.Event
	ex := s.executor(&events)
	var mine uploads
	ex.Push = &mine
	s.open()
	out, err := ex.Apply(t.Context(), plan)
	s.close()
	if err != nil {
		t.Fatal(err)
	}
	s.wantStates(out, "done done done done")
	if len(mine.keys) != 1 || mine.keys[0] != plan.Stages[b.Index()].Key || len(mine.blobs) > 0 {
		t.Errorf("uploaded %v", mine.keys)
	}
	mine.err = errReset
	s.add("e", engine.Resources{}, executortest.Join("e", 1), b)
	if _, err := ex.Apply(t.Context(), planOf(t, s.store, s.graph)); !errors.Is(err, errReset) {
		t.Errorf("an upload that fails gives %v", err)
	}
}

// Limits bind over all workers.
func TestExecutor_limits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, engine.Resources{CPU: 8})
		var u usage
		one := engine.Resources{CPU: 1}
		for i := range 9 {
			s.add(fmt.Sprintf("embed[%d]", i), one, u.sleep(one, time.Minute))
		}
		var events []engine.Event
		ex := s.executor(&events)
		ex.Limits = map[string]int{"api": 3}
		ex.LimitsOf = func(*engine.Stage) []string { return []string{"api"} }
		s.open()
		other := *s.w
		other.Name = "v"
		ended := make(chan error, 1)
		go func() { ended <- other.Run(t.Context(), s.drain) }()
		out, err := ex.Apply(t.Context(), planOf(t, s.store, s.graph))
		if err != nil {
			t.Fatal(err)
		}
		s.close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if out.Executed != 9 || u.most.CPU != 3 {
			t.Errorf("executed %d, %d at a time", out.Executed, u.most.CPU)
		}
	})
}
