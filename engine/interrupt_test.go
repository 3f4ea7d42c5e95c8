package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// diamonds is a graph of some breadth and depth.
func diamonds(l *lab) {
	var from []*Stage
	for i := range 4 {
		a := l.add(pureKind, fmt.Sprintf("make[a%d]", i), fmt.Sprint("a", i), from...)
		b := l.add(pureKind, fmt.Sprintf("make[b%d]", i), fmt.Sprint("b", i), a)
		c := l.add(pureKind, fmt.Sprintf("make[c%d]", i), fmt.Sprint("c", i), a)
		from = []*Stage{l.add(pureKind, fmt.Sprintf("make[d%d]", i), fmt.Sprint("d", i), b, c)}
	}
}

// At whatever event an apply is told to stop, what was finished is kept, the
// next plan lists just the rest, and the next apply does just that.
func TestApply_interrupted(t *testing.T) {
	t.Parallel()
	reference := newLab(t)
	diamonds(reference)
	want := reference.outputs(reference.done())
	events := len(reference.took())
	for at := range events {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			diamonds(l)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			seen := 0
			complete := map[*Stage]bool{}
			l.ex.Events = func(e Event) {
				if seen == at {
					cancel(ErrStopped)
				}
				seen++
				switch e.Type {
				case EventComplete:
					complete[e.Stage] = true
				case EventErrored:
					if e.State != StateInterrupted || !errors.Is(e.Err, ErrStopped) {
						t.Errorf("%s: %s, %v", e.Stage.Address, e.State, e.Err)
					}
				}
			}
			out := l.applyPlan(ctx, l.plan())
			if len(out.Failures) > 0 || out.Interrupted != (len(complete) < len(l.graph.Stages)) {
				t.Errorf("failures %v, interrupted %v with %d complete", out.Failures, out.Interrupted, len(complete))
			}
			p := l.plan()
			for i, s := range l.graph.Stages {
				if state := out.State[i]; (state == StateDone) != complete[s] || state == StateFailed || state == StateBlocked {
					t.Errorf("%s is %s, complete %v", s.Address, state, complete[s])
				}
				if cached := p.Stages[i].Outcome == Cached; cached != complete[s] {
					t.Errorf("%s is planned as %s, complete %v", s.Address, p.Stages[i].Outcome, complete[s])
				}
			}
			l.ex.Events = func(Event) {}
			again := l.done()
			if again.Executed != len(l.graph.Stages)-len(complete) {
				t.Errorf("%d stages ran again, %d were not finished", again.Executed, len(l.graph.Stages)-len(complete))
			}
			if got := l.outputs(again); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("came to %v", got)
			}
		})
	}
}

// A stage that runs is told to stop at once, with the cause.
func TestApply_interruptedStage(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	g := newGate()
	var cause error
	s := l.addStep(pureKind, "make[a]", "a", func(ctx context.Context, t *Task) error {
		err := t.Write("out", []byte("half"))
		cause = g.pass(ctx)
		return errors.Join(err, errors.New("the child process was killed"))
	})
	l.add(pureKind, "make[b]", "b", s)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-g.entered
		cancel(ErrStopped)
	}()
	out := l.applyPlan(ctx, l.plan())
	if !errors.Is(cause, ErrStopped) {
		t.Errorf("the stage was told %v", cause)
	}
	if fmt.Sprint(out.State) != "[interrupted queued]" || len(out.Failures) > 0 || !out.Interrupted {
		t.Errorf("states %v, failures %v", out.State, out.Failures)
	}
	if got := entries(t, l.store.Dir()); len(got) > 0 {
		t.Errorf("left in the cache: %q", got)
	}
}

// A stage that takes no notice, and returns half its work as if it were whole,
// is not believed.
func TestApply_interruptedDeafStage(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	l.addStep(pureKind, "make[a]", "a", func(_ context.Context, t *Task) error {
		cancel(ErrStopped)
		return t.Write("out", []byte("half"))
	})
	out := l.applyPlan(ctx, l.plan())
	if fmt.Sprint(out.State) != "[interrupted]" || len(entries(t, l.store.Dir())) > 0 {
		t.Errorf("states %v, left %q", out.State, entries(t, l.store.Dir()))
	}
}

// A stage whose outputs are in the cache when the apply is told to stop has
// finished.
func TestApply_interruptedAfterOutputs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	s := newStage(pureKind, "make[a]", "a", join("a"))
	s.Check = func() error { cancel(ErrStopped); return nil }
	l.graph.Add(s)
	l.add(pureKind, "make[b]", "b", s)
	out := l.applyPlan(ctx, l.plan())
	if fmt.Sprint(out.State) != "[done queued]" || !out.Interrupted {
		t.Errorf("states %v, interrupted %v", out.State, out.Interrupted)
	}
	if got, want := say(l.plan()), "cached  make[a]\nrun     make[b]  [new] never run\n"; got != want {
		t.Errorf("the next plan is\n%s\nwant\n%s", got, want)
	}
}

// Twins of an interrupted stage have not failed.
func TestApply_interruptedTwins(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.ex.Capacity.CPU = 8
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	g := newGate()
	all := twins(l, 3, g.through(join("x")))
	settled := 0
	l.ex.Events = func(e Event) {
		if e.Type == EventComplete {
			if settled++; settled == 3 {
				cancel(ErrStopped)
			}
		}
	}
	out := l.applyPlan(ctx, l.plan())
	count := map[StageState]int{}
	for _, s := range all {
		count[out.State[s.Index()]]++
	}
	if count[StateInterrupted] > 1 || count[StateInterrupted]+count[StateQueued] != 3 || len(out.Failures) > 0 {
		t.Errorf("states %v, failures %v", count, out.Failures)
	}
}

// A failure that came before the interruption stays a failure.
func TestApply_failedThenInterrupted(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	bad := l.addStep(pureKind, "make[bad]", "b", fails)
	l.addStep(pureKind, "make[slow]", "s", func(ctx context.Context, _ *Task) error { <-ctx.Done(); return ctx.Err() })
	l.ex.Events = func(e Event) {
		if e.Type == EventErrored && e.Stage == bad {
			cancel(ErrStopped)
		}
	}
	out := l.applyPlan(ctx, l.plan())
	if fmt.Sprint(out.State) != "[failed interrupted]" || !errors.Is(out.Err(), errBad) {
		t.Errorf("states %v, failures %v", out.State, out.Failures)
	}
}
