package engine

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
)

// constant is a step that gives the same whatever its text.
func constant(_ context.Context, t *Task) error { return t.Write("out", []byte("same")) }

// A changed cheap stage whose result is equal stops the change there, and the
// plan knows it.
func TestPlan_earlyCutOff(t *testing.T) {
	t.Parallel()
	build := func(l *lab, text string) {
		a := l.addStep(cheapKind, "cheap[a]", text, constant)
		b := l.add(volatileKind, "roll[b]", "b", a)
		l.add(pureKind, "make[c]", "c", b)
	}
	l := newLab(t)
	build(l, "1")
	l.done()
	l.next()
	build(l, "2")
	p := l.plan()
	if got, want := say(p), "run     cheap[a]  [params] parameter text: 1 → 2\ncached  roll[b]\ncached  make[c]\n"; got != want || p.Simulated != 1 {
		t.Errorf("simulated %d:\n%s\nwant\n%s", p.Simulated, got, want)
	}
	out := l.applyPlan(t.Context(), p)
	l.wantDone(out)
	if out.Executed != 1 || out.Cached != 2 {
		t.Errorf("executed %d, cached %d; want 1 and 2", out.Executed, out.Cached)
	}
}

// Without a simulation the cut-off happens in the apply.
func TestApply_earlyCutOff(t *testing.T) {
	t.Parallel()
	build := func(l *lab, text string) *Stage {
		a := l.addStep(pureKind, "make[a]", text, constant)
		l.add(volatileKind, "roll[b]", "b", a)
		return l.add(pureKind, "make[c]", "c", l.graph.Stages[1])
	}
	l := newLab(t)
	build(l, "1")
	l.done()
	l.next()
	build(l, "2")
	if got, want := say(l.plan()), "run     make[a]  [params] parameter text: 1 → 2\nmaybe   roll[b]  [derived] follows make[a]\nmaybe   make[c]  [derived] follows roll[b]\n"; got != want {
		t.Errorf("plan\n%s\nwant\n%s", got, want)
	}
	l.took()
	out := l.done()
	if out.Executed != 1 || out.Hits != 2 {
		t.Errorf("executed %d, hits %d; want 1 and 2", out.Executed, out.Hits)
	}
	if got, want := tell(l.took()), "apply_start make[a]\napply_complete make[a] executed\napply_complete roll[b] hit\napply_complete make[c] hit\n"; got != want {
		t.Errorf("events\n%s\nwant\n%s", got, want)
	}
	if p := l.plan(); p.Changes() {
		t.Errorf("something is left:\n%s", say(p))
	}
}

// What a plan reads to run stages in memory is bounded.
func TestPlan_simulationBudget(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	big := l.addStep(cheapKind, "cheap[big]", "", func(_ context.Context, t *Task) error {
		return t.Write("out", []byte(strings.Repeat("x", 1000)))
	})
	for _, name := range []string{"cheap[1]", "cheap[2]", "cheap[3]"} {
		l.add(cheapKind, name, name, big)
	}
	outside := newStage(cheapKind, "cheap[outside]", "o", join("o"))
	outside.Outside = 5000
	l.graph.Add(outside)
	p := l.planner()
	p.SimulateBytes = 2500
	plan, err := p.Plan(t.Context(), l.graph, nil)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Simulated != 3 || runs(outside) != 0 {
		t.Errorf("%d stages were run in memory, the one that reads much outside %d times; want 3 and 0", plan.Simulated, runs(outside))
	}
}

// A plan writes nothing, be the cache read-only or not, and does not wait for
// those who hold leases.
func TestPlan_writesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	build := func(text string) {
		a := l.add(cheapKind, "cheap[a]", text)
		b := l.add(cheapKind, "cheap[b]", "b", a)
		l.add(pureKind, "make[c]", "c", b)
	}
	build("1")
	out := l.done()
	remove(t, l.blobPath(out, l.graph.Stages[2]))
	l.next()
	build("2")
	for _, k := range out.Keys {
		lease, err := l.store.Acquire(t.Context(), k, cache.LeaseRequest{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = lease.Release() }()
	}
	before := tree(t, l.store.Dir())
	readOnly := openStore(t, l.store.Dir(), cache.Options{ReadOnly: true})
	for _, store := range []cache.Store{l.store, readOnly} {
		p := l.planner()
		p.Store = store
		plan, err := p.Plan(t.Context(), l.graph, nil)
		if err != nil {
			t.Fatal(err)
		}
		if plan.Simulated != 2 || plan.Count(WillRun) != 3 {
			t.Errorf("simulated %d:\n%s", plan.Simulated, say(plan))
		}
		if !maps.Equal(before, tree(t, l.store.Dir())) {
			t.Error("the plan changed the cache's folder")
		}
	}
}

// A damaged result in a cache that is read-only does not keep a plan from being
// made, neither one that is read for a cheap stage nor one that decides a
// parameter.
func TestPlan_corruptInput(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	build := func(text string) *Stage {
		a := l.add(pureKind, "make[a]", "a")
		l.add(cheapKind, "cheap[b]", text, a)
		late := newStage(pureKind, "make[late]", text, nil)
		late.Fields = append(late.Fields, Field{Params, "chosen", map[string]Value{LateMark: "k"}})
		late.Inputs = []Input{{Name: "chosen", From: a, Output: "out", Late: true}}
		late.Late = func(read func(string) ([]byte, error)) ([]Field, any, error) {
			raw, err := read("chosen")
			return []Field{{Params, "chosen", string(raw)}}, &step{do: join(text)}, err
		}
		l.graph.Add(late)
		return a
	}
	a := build("1")
	out := l.done()
	corrupt(t, l.blobPath(out, a))
	l.next()
	build("2")
	readOnly := openStore(t, l.store.Dir(), cache.Options{ReadOnly: true})
	for range 2 {
		p := &Planner{Store: readOnly, Ledger: l.ledger, Log: hclog.NewNullLogger(), SimulateBytes: 1 << 20}
		plan, err := p.Plan(t.Context(), l.graph, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := "run     make[a]  [corrupt] result damaged: out\n" +
			"run     cheap[b]  [params] parameter text: 1 → 2\nrun     make[late]  [params] parameter text: 1 → 2\n"
		if got := say(plan); got != want {
			t.Errorf("plan\n%s\nwant\n%s", got, want)
		}
	}
	if got := l.outputs(l.done()); got["make[a]"] != "a" || got["cheap[b]"] != "2(a)" {
		t.Errorf("the apply came to %v", got)
	}
}

func TestPlan_Forecast(t *testing.T) {
	t.Parallel()
	kind := *volatileKind
	kind.Forecast = func(_ context.Context, t *Task) (Forecast, error) {
		b, err := t.Bytes("in0")
		switch {
		case err != nil:
			return Forecast{}, err
		case string(b) == "panic":
			panic("broken forecast")
		case string(b) == "fail":
			return Forecast{}, errors.New("no idea")
		}
		return Forecast{New: len(b), Total: 10, Unit: "texts"}, nil
	}
	l := newLab(t)
	for _, text := range []string{"abc", "fail", "panic"} {
		l.add(&kind, "roll["+text+"]", "", l.add(cheapKind, "cheap["+text+"]", text))
	}
	p := l.plan()
	if f := p.Stages[1].Forecast; f == nil || *f != (Forecast{New: 3, Total: 10, Unit: "texts"}) {
		t.Errorf("forecast %+v", f)
	}
	for _, i := range []int{3, 5} {
		if ps := p.Stages[i]; ps.Forecast != nil || ps.Outcome != WillRun {
			t.Errorf("%s: %s, forecast %+v; want run and none", ps.Stage.Address, ps.Outcome, ps.Forecast)
		}
	}
}
