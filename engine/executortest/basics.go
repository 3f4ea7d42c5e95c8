package executortest

import (
	"context"
	"fmt"
	"strings"

	"raglab/engine"
)

// basics are plans in which nothing fails.
func basics() []testCase {
	return []testCase{
		{"diamond", diamond},
		{"shards", shards},
		{"early cut-off", earlyCutOff},
		{"late inputs", lateInputs},
		{"forced", forced},
		{"target", target},
		{"warnings and progress", tells},
		{"wide", wide},
		{"twins", twins},
		{"paid", paid},
	}
}

func diamond(b *bench) {
	a := b.add("make[a]", "a")
	l := b.add("make[l]", "l", a)
	r := b.add("make[r]", "r", a)
	end := b.add("make[end]", "e", l, r)
	out := b.done()
	if got := b.read(out, end); got != "e(l(a))(r(a))" {
		b.Errorf("the end is %q", got)
	}
	if out.Executed != 4 || out.Interrupted || out.OverBudget != "" || out.Err() != nil {
		b.Errorf("outcomes %+v", out)
	}
	b.wantStory(allRan("make[a]", "make[l]", "make[r]", "make[end]"))
	// Each is told of after what it reads.
	place := map[*engine.Stage]int{}
	for i, e := range b.events {
		switch e.Type {
		case engine.EventComplete:
			place[e.Stage] = i
		case engine.EventStart:
			for _, in := range e.Stage.Inputs {
				if at, done := place[in.From]; !done || at > i {
					b.Errorf("%s begins before %s is done", e.Stage.Address, in.From.Address)
				}
			}
		}
	}
	for i, wall := range out.Wall {
		if wall <= 0 {
			b.Errorf("%s took %v", b.graph.Stages[i].Address, wall)
		}
	}
	b.wantNothingLeft()
}

func shards(b *bench) {
	var all []*engine.Stage
	want := "e"
	for i := range 20 {
		s := b.add(fmt.Sprintf("make[s]#%d", i), fmt.Sprint("s", i))
		all = append(all, b.add(fmt.Sprintf("make[t]#%d", i), "t", s))
		want += fmt.Sprintf("(t(s%d))", i)
	}
	end := b.add("make[end]", "e", all...)
	out := b.done()
	if got := b.read(out, end); got != want || out.Executed != 41 {
		b.Errorf("executed %d, the end is %q", out.Executed, got)
	}
	for _, s := range b.graph.Stages {
		if Runs(s) != 1 {
			b.Errorf("%s ran %d times", s.Address, Runs(s))
		}
	}
	b.wantNothingLeft()
}

// What follows a stage that comes out as before is found.
func earlyCutOff(b *bench) {
	build := func(text string) {
		a := b.addStep(Pure, "make[a]", text, Constant)
		x := b.add("make[b]", "b", a)
		b.add("make[c]", "c", x)
	}
	build("x")
	b.done()
	b.next()
	build("y")
	out := b.done()
	if out.Executed != 1 || out.Hits != 2 || out.Shared+out.Cached != 0 {
		b.Errorf("executed %d, hits %d, shared %d, cached %d", out.Executed, out.Hits, out.Shared, out.Cached)
	}
	b.wantStory(map[string][]string{"make[a]": ran(engine.ReasonParams), "make[b]": {"found"}, "make[c]": {"found"}})
	b.wantNothingLeft()
}

// A stage whose parameters an input decides has the key of one in which they are written.
func lateInputs(b *bench) {
	build := func(text string) *engine.Stage {
		a := b.addStep(Pure, "make[a]", text, Join("60", 0))
		s := NewStage(Pure, "make[late]", "late", nil)
		s.Inputs = []engine.Input{{Name: "chosen", From: a, Output: "out", Late: true}}
		s.Late = func(read func(string) ([]byte, error)) ([]engine.Field, any, error) {
			raw, err := read("chosen")
			return []engine.Field{{Class: engine.Params, Path: "k", Value: string(raw)}}, &Step{Do: Join("k="+string(raw), 0)}, err
		}
		return b.graph.Add(s)
	}
	late := build("x")
	out := b.done()
	if got := b.read(out, late); got != "k=60" {
		b.Errorf("the late stage gives %q", got)
	}
	b.next()
	build("y")
	if out = b.done(); out.Executed != 1 || out.Hits != 1 {
		b.Errorf("the same choice: executed %d, hits %d", out.Executed, out.Hits)
	}
	b.wantNothingLeft()
}

// A forced stage runs although its result is there, once, and what reads it does not.
func forced(b *bench) {
	a := b.add("make[a]", "a")
	x := b.add("make[b]", "b", a)
	b.add("make[c]", "c", x)
	b.done()
	b.force = func(s *engine.Stage) bool { return s == x }
	out := b.done()
	if Runs(x) != 2 || out.Executed != 1 || out.Hits != 1 || out.Cached != 1 {
		b.Errorf("ran %d times; executed %d, hits %d, cached %d", Runs(x), out.Executed, out.Hits, out.Cached)
	}
	b.wantStory(map[string][]string{"make[b]": ran(engine.ReasonForced), "make[c]": {"found"}})
	b.force = nil
	b.wantNothingLeft()
}

// Stages that the plan leaves out stay untouched.
func target(b *bench) {
	a := b.add("make[a]", "a")
	b.add("make[b]", "b", a)
	other := b.add("make[c]", "c")
	p, err := (&engine.Planner{Store: b.Store, Log: nullLog}).Plan(b.Context(), b.graph, b.graph.Closure([]*engine.Stage{other}))
	if err != nil {
		b.Fatal(err)
	}
	out := b.applyPlan(b.Context(), p)
	if out.State[other.Index()] != engine.StateDone || Runs(a) != 0 || out.Executed != 1 || out.Interrupted {
		b.Errorf("states %q, executed %d, interrupted %v", out.State, out.Executed, out.Interrupted)
	}
}

// A stage's warnings are told before its end; its progress arrives, with its key.
func tells(b *bench) {
	b.addStep(Pure, "make[a]", "a", func(_ context.Context, t *engine.Task) error {
		t.Progress(1, 2, "texts")
		t.Warn("%d texts were cut", 3)
		return t.Write("out", []byte("a"))
	})
	out := b.done()
	b.wantStory(map[string][]string{"make[a]": {"start 1 [new]", "warning: 3 texts were cut", "executed 1 [new]"}})
	for _, e := range b.events {
		if e.Key != out.Keys[0] || e.Time.IsZero() {
			b.Errorf("%s at %v with key %s", e.Type, e.Time, e.Key.Short())
		}
		if e.Type == engine.EventProgress && (e.Done != 1 || e.Total != 2 || e.Unit != "texts") {
			b.Errorf("progress %d of %d %s", e.Done, e.Total, e.Unit)
		}
		if e.Type == engine.EventComplete && e.Bytes != 1 {
			b.Errorf("%d bytes", e.Bytes)
		}
	}
}

// Stages that want more than there is run, and are not starved by small ones.
func wide(b *bench) {
	var all []*engine.Stage
	for i := range 12 {
		s := NewStage(Pure, fmt.Sprintf("make[%d]", i), fmt.Sprint(i), Join(fmt.Sprint(i), 0))
		switch i % 3 {
		case 0:
			s.Needs = engine.Resources{CPU: 1000, Memory: 1 << 50}
		case 1:
			s.Needs = engine.Resources{Network: 1}
		}
		all = append(all, b.graph.Add(s))
	}
	b.add("make[end]", "e", all...)
	if out := b.done(); out.Executed != 13 {
		b.Errorf("executed %d", out.Executed)
	}
}

// Stages whose content key turns out to be the same do the work once, although they are
// ready at once.
func twins(b *bench) {
	g := newGate()
	var all []*engine.Stage
	for i := range 20 {
		from := b.addStep(Pure, fmt.Sprintf("make[from %d]", i), fmt.Sprint(i), Constant)
		all = append(all, b.addStep(Pure, fmt.Sprintf("make[twin %d]", i), "twin", g.through(Join("x", 1)), from))
	}
	end := b.add("make[end]", "e", all...)
	settled := 0
	b.watch = func(e engine.Event) {
		if e.Type == engine.EventComplete && strings.HasPrefix(e.Stage.Address, "make[from") {
			if settled++; settled == 20 {
				close(g.leave)
			}
		}
	}
	out := b.done()
	n := 0
	for _, s := range all {
		n += Runs(s)
	}
	if n != 1 || out.Executed != 22 || out.Shared+out.Hits != 19 {
		b.Errorf("one piece of work was done %d times; executed %d, found %d", n, out.Executed, out.Shared+out.Hits)
	}
	if got := b.read(out, end); got != "e"+strings.Repeat("(x(same))", 20) {
		b.Errorf("the end is %q", got)
	}
	b.watch = nil
	b.wantNothingLeft()
}

// What runs are billed for is counted, those that failed included.
func paid(b *bench) {
	b.settings.PaidUSD, b.settings.BudgetUSD = 1, 100
	for i := range 3 {
		b.addStep(Pure, fmt.Sprintf("make[%d]", i), fmt.Sprint(i), func(ctx context.Context, t *engine.Task) error {
			t.Measure(engine.PaidUSD, 0.5)
			if i == 1 {
				return errBad
			}
			return Flaky(i/2, Constant)(ctx, t)
		})
	}
	// The third is billed for two attempts.
	if out := b.apply(); out.PaidUSD != 3 || out.OverBudget != "" {
		b.Errorf("paid %v, over budget %q", out.PaidUSD, out.OverBudget)
	}
}
