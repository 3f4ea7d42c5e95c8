package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"raglab/cache"
)

// flaky is a step that fails n times in a way that may pass.
func flaky(n int, do func(context.Context, *Task) error) func(context.Context, *Task) error {
	return func(ctx context.Context, t *Task) error {
		if t.Attempt <= n {
			return fmt.Errorf("fetch: %w", Transient(fmt.Errorf("status 503 at attempt %d", t.Attempt)))
		}
		return do(ctx, t)
	}
}

// What may pass is tried again after the backoff; the record tells the attempt.
func TestApply_retries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		var asked []int
		l.ex.Backoff = func(attempt int) time.Duration { asked = append(asked, attempt); return time.Hour }
		a := l.addStep(pureKind, "make[a]", "a", flaky(2, join("a")))
		began := time.Now()
		out := l.done()
		if waited := time.Since(began); waited < 2*time.Hour || waited > 2*time.Hour+time.Minute {
			t.Errorf("waited %v, want two hours", waited)
		}
		if fmt.Sprint(asked) != "[2 3]" || runs(a) != 3 {
			t.Errorf("backoff asked for %v, ran %d times", asked, runs(a))
		}
		rec, err := l.store.Get(t.Context(), out.Keys[0])
		if err != nil {
			t.Fatal(err)
		}
		var by provenance
		if err := json.Unmarshal(rec.Provenance, &by); err != nil || by.Attempt != 3 {
			t.Errorf("provenance %s, %v", rec.Provenance, err)
		}
		if out.Wall[0] >= time.Hour {
			t.Errorf("the wait counts as work: %v", out.Wall[0])
		}
		want := `apply_start make[a]
apply_retry make[a] again in 1h0m0s: fetch: status 503 at attempt 1
apply_start make[a]
apply_retry make[a] again in 1h0m0s: fetch: status 503 at attempt 2
apply_start make[a]
apply_complete make[a] executed
`
		if got := tell(l.took()); got != want {
			t.Errorf("events\n%s\nwant\n%s", got, want)
		}
	})
}

// A stage that waits for its next attempt holds nothing.
func TestApply_retryHoldsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.ex.Capacity.CPU = 1
		l.ex.Backoff = func(int) time.Duration { return time.Hour }
		l.addStep(pureKind, "make[flaky]", "f", flaky(1, join("f")))
		other := l.add(pureKind, "make[other]", "o")
		began := time.Now()
		var at time.Duration
		l.ex.Events = func(e Event) {
			if e.Type == EventComplete && e.Stage == other {
				at = time.Since(began)
			}
		}
		l.done()
		if at > time.Minute {
			t.Errorf("the other stage waited %v", at)
		}
	})
}

func TestApply_retriesEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		attempts, runs int
		err            error
	}{{0, 4, nil}, {2, 2, nil}, {1, 1, nil}, {9, 1, errBad}} {
		l := newLab(t)
		l.ex.Attempts = tt.attempts
		do := flaky(99, nil)
		if tt.err != nil {
			do = fails // for good
		}
		a := l.addStep(pureKind, "make[a]", "a", do)
		out := l.apply()
		if runs(a) != tt.runs || len(out.Failures) != 1 || out.State[0] != StateFailed {
			t.Errorf("%d attempts: ran %d times, failures %v", tt.attempts, runs(a), out.Failures)
		}
	}
}

// The default backoff doubles from half a second, with jitter, to half a minute.
func TestLocal_Pause(t *testing.T) {
	t.Parallel()
	e := &Local{}
	for attempt, base := range map[int]time.Duration{2: 500, 3: 1000, 5: 4000, 8: 32_000, 100: 32_000} {
		base *= time.Millisecond
		for range 200 {
			if d := e.Pause(attempt); d < base/2 || d >= base/2+base {
				t.Fatalf("attempt %d waits %v, want %v to %v", attempt, d, base/2, base/2+base)
			}
		}
	}
}

// An apply that is told to stop does not sit out a backoff, and leaves nothing
// behind.
func TestApply_interruptedInBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.ex.Backoff = func(int) time.Duration { return time.Hour }
		l.addStep(pureKind, "make[a]", "a", flaky(1, join("a")))
		ctx, cancel := context.WithCancelCause(t.Context())
		l.ex.Events = func(e Event) {
			if e.Type == EventRetry {
				cancel(ErrStopped)
			}
		}
		began := time.Now()
		out := l.applyPlan(ctx, l.plan())
		if time.Since(began) > time.Minute || !out.Interrupted || out.State[0] != StateQueued {
			t.Errorf("ended after %v, state %v", time.Since(began), out.State)
		}
	})
}

// The budget ends scheduling; what runs is finished.
func TestApply_budget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.ex.Capacity.CPU = 1
		l.ex.Budget = 90 * time.Second
		minute := func(ctx context.Context, t *Task) error {
			select {
			case <-time.After(time.Minute):
				return t.Write("out", []byte(t.Address))
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		for i := range 3 {
			l.addStep(pureKind, fmt.Sprintf("make[%d]", i), fmt.Sprint(i), minute)
		}
		out := l.apply()
		if fmt.Sprint(out.State) != "[done done queued]" || out.OverBudget != "seconds" || out.Interrupted || len(out.Failures) > 0 {
			t.Errorf("states %v, over budget %v, interrupted %v", out.State, out.OverBudget, out.Interrupted)
		}
		out = l.done()
		if out.OverBudget != "" || out.Executed != 1 {
			t.Errorf("second apply: over budget %q, executed %d", out.OverBudget, out.Executed)
		}
	})
}

// A budget that ends while the last stage runs was enough.
func TestApply_budgetJustEnough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.ex.Budget = time.Second
		l.addStep(pureKind, "make[a]", "a", func(_ context.Context, t *Task) error {
			<-time.After(time.Minute)
			return t.Write("out", nil)
		})
		if out := l.done(); out.OverBudget != "" {
			t.Error("all is done, and the budget was not enough")
		}
	})
}

// A lease that is lost is not the stage's failure.
func TestApply_leaseLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		s := l.addStep(pureKind, "make[a]", "a", func(ctx context.Context, t *Task) error {
			if t.Attempt == 1 {
				remove(l, l.store.Dir()+"/leases/k-"+l.plan().Stages[0].Key.String())
				<-ctx.Done()
				return errors.New("told to stop")
			}
			return t.Write("out", []byte("a"))
		})
		out := l.done()
		if runs(s) != 2 || out.Executed != 1 {
			t.Errorf("ran %d times", runs(s))
		}
		if got := tell(l.took()); !strings.Contains(got, "apply_retry make[a] again in 0s: "+cache.ErrLeaseLost.Error()) {
			t.Errorf("events\n%s", got)
		}
	})
}
