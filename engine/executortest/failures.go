package executortest

import (
	"context"
	"errors"
	"runtime"
	"strings"

	"github.com/hashicorp/go-hclog"

	"raglab/engine"
)

var nullLog = hclog.NewNullLogger()

// failures are plans in which stages fail.
func failures() []testCase {
	return []testCase{
		{"failing once", failsOnce},
		{"failing each time", failsEachTime},
		{"failing for good", failsForGood},
		{"panicking", panics},
		{"ending its goroutine", exits},
		{"missing output", missingOutput},
		{"what the user can mend", inputError},
		{"blocked", blockedStage},
		{"changed meanwhile", unkept},
		{"fail fast", failFast},
	}
}

func failsOnce(b *bench) {
	s := b.addStep(Pure, "make[a]", "a", Flaky(1, Join("a", 0)))
	b.add("make[b]", "b", s)
	out := b.done()
	if Runs(s) != 2 || out.Executed != 2 {
		b.Errorf("ran %d times, executed %d", Runs(s), out.Executed)
	}
	b.wantStory(with(allRan("make[b]"), map[string][]string{"make[a]": {
		"start 1 [new]", "retry 1 again in 0s: fetch: status 503 at attempt 1", "start 2 [new]", "executed 2 [new]",
	}}))
	b.wantNothingLeft()
}

func failsEachTime(b *bench) {
	s := b.addStep(Pure, "make[a]", "a", Flaky(99, nil))
	b.add("make[b]", "b", s)
	out := b.apply()
	b.wantStates(out, "failed blocked")
	b.wantStory(map[string][]string{
		"make[a]": {
			"start 1 [new]", "retry 1 again in 0s: fetch: status 503 at attempt 1",
			"start 2 [new]", "retry 2 again in 0s: fetch: status 503 at attempt 2",
			"start 3 [new]", "retry 3 again in 0s: fetch: status 503 at attempt 3",
			"start 4 [new]", "failed: fetch: status 503 at attempt 4",
		},
		"make[b]": {"blocked by make[a]"},
	})
}

// A failure does not stop what does not need it. What does is blocked, and the cause is
// told once. The next apply tries again.
func failsForGood(b *bench) {
	broken := true
	bad := b.addStep(Pure, "make[bad]", "bad", func(ctx context.Context, t *engine.Task) error {
		if broken {
			return errBad
		}
		return Constant(ctx, t)
	})
	good := b.add("make[good]", "good")
	x := b.add("make[b]", "b", bad, good)
	b.add("make[c]", "c", x, bad)
	b.add("make[d]", "d", good)
	out := b.apply()
	b.wantStates(out, "failed done blocked blocked done")
	if len(out.Failures) != 1 || out.Failures[0].Stage != bad || out.Err().Error() != "bad input" {
		b.Errorf("failures %v", out.Failures)
	}
	if out.Executed != 2 || out.Interrupted {
		b.Errorf("executed %d, interrupted %v", out.Executed, out.Interrupted)
	}
	told := with(allRan("make[good]", "make[d]"), map[string][]string{
		"make[bad]": {"start 1 [new]", "failed: bad input"},
		"make[b]":   {"blocked by make[bad]"}, "make[c]": {"blocked by make[bad]"},
	})
	b.wantStory(told)
	if _, remembered := b.ledger["make[bad]"]; remembered || len(b.ledger) != 2 {
		b.Errorf("the ledger is %v", b.ledger)
	}
	broken = false
	if out = b.done(); out.Executed != 3 || out.Cached != 2 {
		b.Errorf("once mended: executed %d, cached %d", out.Executed, out.Cached)
	}
	b.wantNothingLeft()
}

func panics(b *bench) {
	b.addStep(Pure, "make[a]", "a", func(context.Context, *engine.Task) error { panic("oh") })
	b.add("make[b]", "b")
	out := b.apply()
	b.wantStates(out, "failed done")
	b.wantStory(with(allRan("make[b]"), map[string][]string{"make[a]": {"start 1 [new]", "failed: panic: oh"}}))
	if err := out.Err(); err == nil || !strings.Contains(err.Error(), "failures.go") {
		b.Errorf("the error has no stack: %v", err)
	}
}

func exits(b *bench) {
	b.addStep(Pure, "make[a]", "a", func(context.Context, *engine.Task) error { runtime.Goexit(); return nil })
	b.add("make[b]", "b")
	out := b.apply()
	b.wantStates(out, "failed done")
	b.wantStory(with(allRan("make[b]"), map[string][]string{
		"make[a]": {"start 1 [new]", "failed: the stage's function ended its goroutine"},
	}))
}

func missingOutput(b *bench) {
	b.addStep(Pure, "make[a]", "a", func(context.Context, *engine.Task) error { return nil })
	out := b.apply()
	b.wantStates(out, "failed")
	b.wantStory(map[string][]string{"make[a]": {"start 1 [new]", `failed: make[a] ended without its output "out"`}})
	if p := b.plan(); p.Stages[0].Outcome != engine.WillRun {
		b.Errorf("the next plan says %s", p.Stages[0].Outcome)
	}
}

func inputError(b *bench) {
	b.addStep(Pure, "make[a]", "a", func(context.Context, *engine.Task) error {
		return &engine.InputError{Err: errors.New("docs.jsonl: line 3 is no JSON")}
	})
	out := b.apply()
	var mine *engine.InputError
	if err := out.Err(); !errors.As(err, &mine) || err.Error() != "docs.jsonl: line 3 is no JSON" {
		b.Errorf("the failure is %v", err)
	}
}

// A stage that cannot run on the machine fails with the reason.
func blockedStage(b *bench) {
	s := NewStage(Pure, "make[a]", "a", Constant)
	s.Blocked = "no model"
	b.add("make[b]", "b", b.graph.Add(s))
	out := b.apply()
	b.wantStates(out, "failed blocked")
	b.wantStory(map[string][]string{"make[a]": {"failed: no model"}, "make[b]": {"blocked by make[a]"}})
}

// What was made while a file changed is used and not kept.
func unkept(b *bench) {
	s := NewStage(Pure, "make[a]", "a", Join("a", 0))
	s.Check = func() error { return errors.New("docs.jsonl changed meanwhile") }
	a := b.graph.Add(s)
	x := b.add("make[b]", "b", a)
	out := b.done()
	if got := b.read(out, x); got != "b(a)" {
		b.Errorf("b is %q", got)
	}
	b.wantStory(with(allRan("make[b]"), map[string][]string{"make[a]": {
		"start 1 [new]", "warning: docs.jsonl changed meanwhile; the result is used now but not kept", "executed 1 [new]",
	}}))
	if _, remembered := b.ledger["make[a]"]; remembered {
		b.Error("the ledger remembers what was not kept")
	}
	p := b.plan()
	if p.Stages[0].Outcome != engine.WillRun {
		b.Errorf("the next plan is\n%s", sayPlan(p))
	}
	if out = b.applyPlan(b.Context(), p); Runs(a) != 2 || out.Executed != 1 || out.Hits+out.Cached != 1 {
		b.Errorf("the next apply: ran %d times, executed %d", Runs(a), out.Executed)
	}
}

// After the first failure nothing more is begun; what runs comes to its end.
func failFast(b *bench) {
	b.settings.FailFast = true
	g := newGate()
	b.addStep(Pure, "make[bad]", "bad", func(ctx context.Context, _ *engine.Task) error {
		select {
		case <-g.entered: // the slow one runs
		case <-ctx.Done():
		}
		return errBad
	})
	slow := b.addStep(Pure, "make[slow]", "slow", g.through(Constant))
	after := b.add("make[after]", "after", slow)
	b.watch = func(e engine.Event) {
		if e.Type == engine.EventErrored {
			close(g.leave)
		}
	}
	out := b.apply()
	b.wantStates(out, "failed done queued")
	if Runs(after) != 0 || out.Interrupted {
		b.Errorf("what came later ran %d times, interrupted %v", Runs(after), out.Interrupted)
	}
}
