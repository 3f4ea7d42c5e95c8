package executortest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"raglab/cache"
	"raglab/engine"
)

// losses are plans whose inputs are gone or damaged when they are read.
func losses() []testCase {
	return []testCase{
		{"removed in the middle", func(b *bench) { lostMiddle(b, b.remove, engine.ReasonOutputMissing) }},
		{"damaged in the middle", func(b *bench) { lostMiddle(b, b.corrupt, engine.ReasonCorrupt) }},
		{"several lost", severalLost},
		{"lost for good", lostForGood},
		{"lost and different", lostVolatile},
		{"late input lost", lateLost},
		{"table lost", tableLost},
	}
}

// A result of the cache that is gone when it is read is made again, with what it needs,
// and then what reads it.
func lostMiddle(b *bench, harm func(cache.Digest), reason engine.ReasonKind) {
	build := func(end string) *engine.Stage {
		var from []*engine.Stage
		for i := range 3 {
			from = []*engine.Stage{b.add(fmt.Sprintf("make[%d]", i), fmt.Sprint("text ", i), from...)}
		}
		b.add("make[other]", "o", from...)
		return b.add("make[end]", end, from...)
	}
	build("x")
	out := b.done()
	b.next()
	end := build("y")
	p := b.plan()
	harm(b.blob(out, b.graph.Stages[2]))
	harm(b.blob(out, b.graph.Stages[1]))
	out = b.applyPlan(b.Context(), p)
	b.wantDone(out)
	if got := b.read(out, end); got != "y(text 2(text 1(text 0)))" {
		b.Errorf("the end is %q", got)
	}
	if out.Executed != 3 || out.Cached != 2 {
		b.Errorf("executed %d, cached %d", out.Executed, out.Cached)
	}
	story := b.story()
	for at, tell := range map[int]struct {
		address string
		reason  engine.ReasonKind
	}{1: {"make[1]", reason}, 2: {"make[2]", reason}, 4: {"make[end]", engine.ReasonParams}} {
		lines := story[tell.address]
		if at > 1 {
			lost := fmt.Sprintf("warning: input in0 (%s) is lost and will be made again: ", b.graph.Stages[at].Inputs[0].From.Address)
			if len(lines) != 4 || !strings.HasPrefix(lines[1], lost) {
				b.Errorf("%s: %q", tell.address, lines)
				continue
			}
			lines = slices.Delete(slices.Clone(lines), 0, 2)
		}
		if !slices.Equal(lines, ran(tell.reason)) {
			b.Errorf("%s: %q", tell.address, lines)
		}
	}
	if len(story) != 3 {
		b.Errorf("told of %d stages: %v", len(story), story)
	}
	b.wantNothingLeft()
}

// Many lost inputs of one stage are found and made together.
func severalLost(b *bench) {
	build := func(end string) *engine.Stage {
		var from []*engine.Stage
		for i := range 12 {
			from = append(from, b.add(fmt.Sprintf("make[%d]", i), fmt.Sprint("text ", i)))
		}
		return b.add("make[end]", end, from...)
	}
	build("x")
	out := b.done()
	b.next()
	end := build("y")
	p := b.plan()
	for i, s := range b.graph.Stages[:12] {
		if i%2 == 0 {
			b.remove(b.blob(out, s))
		} else {
			b.corrupt(b.blob(out, s))
		}
	}
	b.wantDone(b.applyPlan(b.Context(), p))
	if n := Runs(end); n != 2 {
		b.Errorf("the end was begun %d times, want 2", n)
	}
	b.wantNothingLeft()
}

// A lost input that cannot be made again blocks what needs it.
func lostForGood(b *bench) {
	build := func(text string, do Do) {
		a := b.addStep(Pure, "make[a]", "a", do)
		x := b.add("make[1]", text+"1", a)
		b.add("make[2]", text+"2", x)
	}
	build("x", Join("text", 0))
	out := b.done()
	b.next()
	build("y", Fails)
	p := b.plan()
	b.remove(b.blob(out, b.graph.Stages[0]))
	out = b.applyPlan(b.Context(), p)
	b.wantStates(out, "failed blocked blocked")
	if len(out.Failures) != 1 || out.Err().Error() != "bad input" {
		b.Errorf("failures %v", out.Failures)
	}
}

// A stage that is made again may come out different: what had read the lost result does
// not stay beside what reads the new one.
func lostVolatile(b *bench) {
	build := func(text string) {
		roll := b.addStep(Volatile, "roll[a]", "a", func(_ context.Context, t *engine.Task) error {
			return t.Write("out", fmt.Appendf(nil, "%016x", rand.Uint64()))
		})
		old := b.add("make[old]", "o", roll)
		b.add("make[older]", "oo", old)
		b.add("make[new]", text, roll)
	}
	build("x")
	out := b.done()
	b.next()
	build("y")
	p := b.plan()
	b.remove(b.blob(out, b.graph.Stages[0]))
	out = b.applyPlan(b.Context(), p)
	b.wantDone(out)
	var got [4]string
	for i, s := range b.graph.Stages {
		got[i] = b.read(out, s)
	}
	if got != [4]string{got[0], "o(" + got[0] + ")", "oo(o(" + got[0] + "))", "y(" + got[0] + ")"} {
		b.Errorf("results of different rolls stand side by side: %q", got)
	}
	b.wantNothingLeft()
}

// What decides a parameter may be lost too.
func lateLost(b *bench) {
	build := func(text string) *engine.Stage {
		a := b.add("make[a]", "sixty")
		s := NewStage(Pure, "make[late]", text, nil)
		s.Inputs = []engine.Input{{Name: "chosen", From: a, Output: "out", Late: true}}
		s.Late = func(read func(string) ([]byte, error)) ([]engine.Field, any, error) {
			raw, err := read("chosen")
			return []engine.Field{{Class: engine.Params, Path: "k", Value: string(raw)}}, &Step{Do: Join(text+string(raw), 0)}, err
		}
		return b.graph.Add(s)
	}
	build("x")
	out := b.done()
	b.next()
	late := build("y")
	p := b.plan()
	b.remove(b.blob(out, b.graph.Stages[0]))
	out = b.applyPlan(b.Context(), p)
	b.wantDone(out)
	if got := b.read(out, late); got != "ysixty" {
		b.Errorf("the late stage gives %q", got)
	}
	b.wantNothingLeft()
}

// What a result describes outside the cache may be gone when it is needed.
func tableLost(b *bench) {
	s := &shelf{holds: map[cache.Key]string{}}
	build := func(text string) *engine.Stage {
		table := NewStage(Pure, "index[a]", "a", s.table)
		table.Residence = s
		index := b.graph.Add(table)
		b.addStep(Pure, "search[a]", text, s.search, index)
		return index
	}
	build("x")
	b.done()
	b.next()
	index := build("y")
	p := b.plan()
	s.empty()
	out := b.applyPlan(b.Context(), p)
	b.wantDone(out)
	if Runs(index) != 1 || out.Executed != 2 || !s.has(out.Keys[0]) {
		b.Errorf("the table was made %d times, executed %d", Runs(index), out.Executed)
	}
	b.wantNothingLeft()
	// One that is gone before the plan is made again, and what reads it need not be.
	s.empty()
	out = b.done()
	if Runs(index) != 2 || out.Executed != 1 || out.Hits != 1 {
		b.Errorf("the table was made %d times; executed %d, hits %d", Runs(index), out.Executed, out.Hits)
	}
	b.wantNothingLeft()
}
