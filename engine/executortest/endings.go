package executortest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"raglab/engine"
)

// endings are applies that end before all is done.
func endings() []testCase {
	return []testCase{
		{"cancelled", cancelled},
		{"cancelled before", cancelledBefore},
		{"budget of money spent before", budgetSpent},
		{"budget of money", budgetOfMoney},
		{"budget of time", budgetOfTime},
	}
}

var errEnough = errors.New("enough")

// A stage that runs is told to stop; what was finished is kept, and the next apply does
// the rest.
func cancelled(b *bench) {
	var times atomic.Int32
	a := b.add("make[a]", "a")
	s := b.addStep(Pure, "make[b]", "b", func(ctx context.Context, t *engine.Task) error {
		if times.Add(1) == 1 {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return Join("b", 1)(ctx, t)
	}, a)
	b.add("make[c]", "c", s)
	ctx, cancel := context.WithCancelCause(b.Context())
	defer cancel(nil)
	b.watch = func(e engine.Event) {
		if e.Type == engine.EventStart && e.Stage == s {
			cancel(errEnough)
		}
	}
	out := b.applyPlan(ctx, b.plan())
	b.wantStates(out, "done interrupted queued")
	if !out.Interrupted || len(out.Failures) > 0 || out.OverBudget != "" {
		b.Errorf("interrupted %v, failures %v", out.Interrupted, out.Failures)
	}
	b.wantStory(with(allRan("make[a]"), map[string][]string{"make[b]": {"start 1 [new]", "interrupted: enough"}}))
	if _, known := b.ledger["make[b]"]; known {
		b.Error("the ledger knows what was not made")
	}
	b.watch = nil
	if out = b.done(); out.Executed != 2 || out.Cached != 1 {
		b.Errorf("the next apply: executed %d, cached %d", out.Executed, out.Cached)
	}
	b.wantNothingLeft()
}

func cancelledBefore(b *bench) {
	s := b.add("make[a]", "a")
	p := b.plan()
	ctx, cancel := context.WithCancelCause(b.Context())
	cancel(errEnough)
	out := b.applyPlan(ctx, p)
	b.wantStates(out, "queued")
	if !out.Interrupted || Runs(s) != 0 {
		b.Errorf("interrupted %v, ran %d times", out.Interrupted, Runs(s))
	}
	b.done()
}

func budgetSpent(b *bench) {
	b.settings.PaidUSD, b.settings.BudgetUSD = 1.25, 1
	s := b.add("make[a]", "a")
	out := b.apply()
	b.wantStates(out, "queued")
	if out.OverBudget != "usd" || out.PaidUSD != 1.25 || out.Interrupted || Runs(s) != 0 {
		b.Errorf("over budget %q, paid %v, interrupted %v", out.OverBudget, out.PaidUSD, out.Interrupted)
	}
	b.settings.BudgetUSD = 2
	if out = b.done(); out.OverBudget != "" {
		b.Errorf("over budget %q", out.OverBudget)
	}
}

// chain adds stages that read each other, and do as told.
func (b *bench) chain(n int, do func(i int, t *engine.Task) error) {
	var from []*engine.Stage
	for i := range n {
		reads := len(from)
		from = []*engine.Stage{b.addStep(Pure, fmt.Sprintf("make[%d]", i), fmt.Sprint(i), func(ctx context.Context, t *engine.Task) error {
			if err := do(i, t); err != nil {
				return err
			}
			select {
			case <-time.After(100 * time.Millisecond):
				return Join(fmt.Sprint(i), reads)(ctx, t)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}, from...)}
	}
}

// wantCut wants the first stages of a chain done, and the others not begun.
func (b *bench) wantCut(out *engine.Outcomes, least, most int) int {
	b.Helper()
	done := 0
	for i, s := range out.State {
		switch {
		case s == engine.StateDone && done == i:
			done++
		case s != engine.StateQueued:
			b.Errorf("%s is %s behind %d that are done", b.graph.Stages[i].Address, s, done)
		}
	}
	if done < least || done > most || out.Interrupted || len(out.Failures) > 0 {
		b.Errorf("%d are done, want %d to %d; interrupted %v, failures %v", done, least, most, out.Interrupted, out.Failures)
	}
	return done
}

// Once runs were billed for that much nothing more is begun; what runs comes to its end.
func budgetOfMoney(b *bench) {
	b.settings.BudgetUSD = 1
	const all = 24
	b.chain(all, func(_ int, t *engine.Task) error { t.Measure(engine.PaidUSD, 0.5); return nil })
	out := b.apply()
	// Somebody else than who counts may have begun the next one, and more on a machine that
	// does much besides.
	done := b.wantCut(out, 2, 18)
	if out.OverBudget != "usd" || out.PaidUSD != 0.5*float64(done) {
		b.Errorf("over budget %q, paid %v for %d", out.OverBudget, out.PaidUSD, done)
	}
	b.settings.BudgetUSD = 0
	if out = b.done(); out.Executed != all-done || out.OverBudget != "" {
		b.Errorf("the next apply: executed %d, over budget %q", out.Executed, out.OverBudget)
	}
	b.wantNothingLeft()
}

func budgetOfTime(b *bench) {
	b.settings.Budget = 250 * time.Millisecond
	b.chain(30, func(int, *engine.Task) error { return nil })
	out := b.apply()
	b.wantCut(out, 0, 20)
	if out.OverBudget != "seconds" {
		b.Errorf("over budget %q", out.OverBudget)
	}
}
