package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
)

// planCase is a graph that was applied, what happened then, and the graph that
// is planned after it.
type planCase struct {
	name   string
	before func(l *lab)
	change func(l *lab, out *Outcomes)
	after  func(l *lab)
	force  string
}

// threeStages is the graph of most cases: a source, a stage in the middle, an
// end.
func threeStages(middle *Kind, text string) func(*lab) {
	return func(l *lab) {
		a := l.add(pureKind, "make[source]", "s")
		b := l.add(middle, middle.Name+"[middle]", text, a)
		l.add(pureKind, "make[end]", "e", b)
	}
}

// withField is a stage with one field more, or another version of its kind.
func withField(version string, fields ...Field) func(*lab) {
	return func(l *lab) {
		kind := *pureKind
		kind.Version = version
		s := newStage(&kind, "make[one]", "1", join("1"))
		s.Fields = append(s.Fields, fields...)
		l.graph.Add(s)
	}
}

var planCases = []planCase{
	{name: "new", after: threeStages(pureKind, "m")},
	{name: "new after volatile", after: threeStages(volatileKind, "m")},
	{name: "nothing to do", before: threeStages(pureKind, "m"), after: threeStages(pureKind, "m")},
	{name: "parameter", before: threeStages(pureKind, "m"), after: threeStages(pureKind, "n")},
	{name: "parameter of a cheap stage", before: threeStages(cheapKind, "m"), after: threeStages(cheapKind, "n")},
	{name: "parameter of a volatile stage", before: threeStages(volatileKind, "m"), after: threeStages(volatileKind, "n")},
	{name: "parameter of a steady stage", before: threeStages(steadyKind, "m"), after: threeStages(steadyKind, "n")},
	{
		name:   "several parameters",
		before: withField("1", Field{Params, "a", int64(256)}, Field{Params, "b", "old"}, Field{Params, "gone", true}),
		after:  withField("1", Field{Params, "a", int64(384)}, Field{Params, "b", "new"}, Field{Params, "more", []Value{0.5}}),
	},
	{name: "code", before: withField("1"), after: withField("2")},
	{name: "code of an option", before: withField("1", Field{Code, "chunker fixed", "1"}), after: withField("1", Field{Code, "chunker fixed", "2"})},
	{name: "model", before: withField("1", Field{Model, "e5", "sha256:00"}), after: withField("1", Field{Model, "e5", "sha256:11"})},
	{name: "env", before: withField("1", Field{Env, "LANG", "uk"}), after: withField("1", Field{Env, "LANG", "tr"})},
	{name: "file changed", before: withField("1", Field{Source, "a.md", "00"}), after: withField("1", Field{Source, "a.md", "11"})},
	{name: "file added", before: withField("1"), after: withField("1", Field{Source, "a.md", "00"})},
	{name: "file removed", before: withField("1", Field{Source, "a.md", "00"}), after: withField("1")},
	{name: "forced", before: threeStages(pureKind, "m"), after: threeStages(pureKind, "m"), force: "make[middle]"},
	{name: "forced after a rerun", before: threeStages(pureKind, "m"), after: threeStages(pureKind, "n"), force: "make[end]"},
	{name: "forced volatile", before: threeStages(volatileKind, "m"), after: threeStages(volatileKind, "m"), force: "roll[middle]"},
	{
		name: "output missing", before: threeStages(pureKind, "m"), after: threeStages(pureKind, "m"),
		change: func(l *lab, out *Outcomes) { remove(l, l.blobPath(out, l.graph.Stages[1])) },
	},
	{
		name: "record missing", before: threeStages(pureKind, "m"), after: threeStages(pureKind, "m"),
		change: func(l *lab, out *Outcomes) { remove(l, l.recordPath(out.Keys[1])) },
	},
	{
		name: "record of a stage behind it missing", before: threeStages(pureKind, "m"), after: threeStages(pureKind, "n"),
		change: func(l *lab, out *Outcomes) { remove(l, l.recordPath(out.Keys[2])) },
	},
	{
		name: "output of a stage behind it missing", before: threeStages(pureKind, "m"), after: threeStages(pureKind, "n"),
		change: func(l *lab, out *Outcomes) { remove(l, l.blobPath(out, l.graph.Stages[2])) },
	},
	{
		name: "record corrupt", before: threeStages(pureKind, "m"), after: threeStages(pureKind, "m"),
		change: func(l *lab, out *Outcomes) { corrupt(l, l.recordPath(out.Keys[1])) },
	},
	{
		name: "record of a stage behind it corrupt", before: threeStages(pureKind, "m"), after: threeStages(pureKind, "n"),
		change: func(l *lab, out *Outcomes) { corrupt(l, l.recordPath(out.Keys[2])) },
	},
	{
		name: "input of a cheap stage corrupt", before: threeStages(cheapKind, "m"), after: threeStages(cheapKind, "n"),
		change: func(l *lab, out *Outcomes) { corrupt(l, l.blobPath(out, l.graph.Stages[0])) },
	},
	{
		name: "blocked", after: func(l *lab) {
			s := newStage(pureKind, "make[a]", "a", join("a"))
			s.Blocked = "the model is not there: raglab setup"
			a := l.graph.Add(s)
			b := l.add(pureKind, "make[b]", "b", a)
			l.add(pureKind, "make[c]", "c", b)
			l.add(pureKind, "make[d]", "d")
		},
	},
	{
		name: "blocked behind a rerun", after: func(l *lab) {
			s := newStage(pureKind, "make[b]", "b", join("b"), l.add(pureKind, "make[a]", "a"))
			s.Blocked = "no model"
			l.add(pureKind, "make[c]", "c", l.graph.Add(s))
		},
	},
	{
		name: "a cheap stage that fails", after: func(l *lab) {
			a := l.addStep(cheapKind, "cheap[a]", "a", func(context.Context, *Task) error { return errors.New("line 3 is not JSON") })
			p := l.addStep(cheapKind, "cheap[p]", "p", func(context.Context, *Task) error { panic("broken kind") })
			l.add(pureKind, "make[b]", "b", a)
			l.add(pureKind, "make[q]", "q", p)
		},
	},
	{
		name: "another input", before: func(l *lab) {
			l.add(pureKind, "make[end]", "e", l.add(pureKind, "make[x]", "x"))
			l.add(pureKind, "make[y]", "y")
		},
		after: func(l *lab) {
			l.add(pureKind, "make[x]", "x")
			l.add(pureKind, "make[end]", "e", l.add(pureKind, "make[y]", "y"))
		},
	},
	{name: "an input more", before: inputs(1), after: inputs(2)},
	{name: "an input less", before: inputs(2), after: inputs(1)},
	{name: "volatile decides over derived", before: twoInputs("1"), after: twoInputs("2")},
	{
		name: "renamed",
		before: func(l *lab) {
			l.graph.Add(optionStage("make[short]", 256, "words", "no"))
			l.graph.Add(optionStage("make[other]", 1, "letters", "yes"))
		},
		after: func(l *lab) { l.graph.Add(optionStage("make[long]", 384, "words", "no")) },
	},
	{
		name:   "renamed beyond recognition",
		before: func(l *lab) { l.graph.Add(optionStage("make[short]", 256, "words", "no")) },
		after:  func(l *lab) { l.graph.Add(optionStage("make[long]", 384, "letters", "yes")) },
	},
	{
		name: "apart from its twin",
		before: func(l *lab) {
			l.graph.Add(optionStage("make[a]", 256, "words", "no"))
			l.graph.Add(optionStage("make[b]", 256, "words", "no"))
		},
		after: func(l *lab) {
			l.graph.Add(optionStage("make[a]", 256, "words", "no"))
			l.graph.Add(optionStage("make[b]", 384, "words", "no"))
		},
	},
}

func inputs(n int) func(*lab) {
	return func(l *lab) {
		var from []*Stage
		for i := range 2 {
			from = append(from, l.add(pureKind, fmt.Sprintf("make[%d]", i), fmt.Sprint(i)))
		}
		l.add(pureKind, "make[end]", "e", from[:n]...)
	}
}

// twoInputs is a stage over a pure and a volatile one, and what follows it.
func twoInputs(text string) func(*lab) {
	return func(l *lab) {
		a := l.add(pureKind, "make[a]", text)
		b := l.add(volatileKind, "roll[b]", text)
		c := l.add(pureKind, "make[c]", "c", a, b)
		d := l.add(pureKind, "make[d]", "d", c)
		l.add(pureKind, "make[e]", "e", d, a)
		l.add(pureKind, "make[f]", "f", a)
	}
}

func optionStage(address string, tokens int, unit, fold string) *Stage {
	s := newStage(pureKind, address, "t", join("t"))
	s.Fields = append(s.Fields, Field{Params, "tokens", Canonical(tokens)}, Field{Params, "unit", unit}, Field{Params, "fold", fold})
	return s
}

func (c planCase) plan(t testing.TB) *Plan {
	l := newLab(t)
	if c.before != nil {
		c.before(l)
		out := l.done()
		if c.change != nil {
			c.change(l, out)
		}
		l.next()
	}
	c.after(l)
	p := l.planner()
	if c.force != "" {
		p.Force = func(s *Stage) bool { return s.Address == c.force }
	}
	plan, err := p.Plan(t.Context(), l.graph, nil)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// Every reason and every outcome, in words.
func TestPlan_reasons(t *testing.T) {
	t.Parallel()
	texts := make([]string, len(planCases))
	outcomes, reasons := map[Outcome]bool{}, map[ReasonKind]bool{}
	for i, c := range planCases {
		p := c.plan(t)
		for _, ps := range p.Stages {
			outcomes[ps.Outcome], reasons[ps.Reason.Kind] = true, true
		}
		// Keys are left out: the golden file of keys has them.
		texts[i] = fmt.Sprintf("# %s\n%s\n", c.name, hideKeys(say(p)))
	}
	golden(t, "plans.golden", strings.Join(texts, ""))
	for _, o := range []Outcome{Cached, WillRun, Maybe, Blocked} {
		if !outcomes[o] {
			t.Errorf("no case has the outcome %s", o)
		}
	}
	for _, r := range []ReasonKind{
		ReasonNew, ReasonParams, ReasonCode, ReasonInput, ReasonModel, ReasonEnv, ReasonOutputMissing, ReasonCorrupt,
		ReasonForced, ReasonVolatile, ReasonDerived,
	} {
		if !reasons[r] {
			t.Errorf("no case has the reason %s", r)
		}
	}
}

// hideKeys puts dots in the place of short keys.
func hideKeys(s string) string {
	words := strings.Split(s, "record ")
	for i := 1; i < len(words); i++ {
		words[i] = strings.Repeat(".", 12) + words[i][12:]
	}
	return strings.Join(words, "record ")
}

// A plan does not depend on the order of maps.
func TestPlan_isTheSameEachTime(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for i := range 100 {
		l.graph.Add(optionStage(fmt.Sprintf("make[old %d]", i), i, "words", "no"))
	}
	l.done()
	l.next()
	for i := range 10 {
		l.graph.Add(optionStage(fmt.Sprintf("make[new %d]", i), 1000+i, "words", "no"))
	}
	want := say(l.plan())
	if !strings.Contains(want, "parameter tokens: 0 → 1000") {
		t.Errorf("the first of equally near stages is not the one compared with:\n%s", want)
	}
	for range 20 {
		if got := say(l.plan()); got != want {
			t.Fatalf("two plans of one graph:\n%s\n%s", want, got)
		}
	}
}

// Keys that are made in another way than those remembered are no error.
func TestPlan_otherKeyScheme(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := l.add(pureKind, "make[a]", "1")
	out := l.done()
	old, err := l.store.Get(t.Context(), out.Keys[0])
	if err != nil {
		t.Fatal(err)
	}
	moved := *old
	moved.Key = keyOf("the key of an earlier scheme")
	if _, err := l.store.Put(t.Context(), &moved); err != nil {
		t.Fatal(err)
	}
	if err := l.store.Delete(t.Context(), out.Keys[0]); err != nil {
		t.Fatal(err)
	}
	l.ledger = Ledger{s.Address: {Key: moved.Key}}
	if got, want := say(l.plan()), "run     make[a]  [code] version of stage keys\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPlan_partial(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	threeStages(pureKind, "m")(l)
	p, err := l.planner().Plan(t.Context(), l.graph, l.graph.Closure(l.graph.Stages[1:2]))
	if err != nil {
		t.Fatal(err)
	}
	if !p.Partial || p.Count(WillRun) != 2 || p.Stages[2].Outcome != "" || p.Stages[2].Stage != l.graph.Stages[2] {
		t.Errorf("partial %v:\n%s", p.Partial, say(p))
	}
}

func TestPlan_Estimate(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	threeStages(volatileKind, "m")(l)
	l.ledger = Ledger{
		"make[source]": {Key: keyOf("x"), Wall: time.Second}, "make[other]": {Wall: 3 * time.Second},
	}
	p := l.plan()
	total, unknown := p.Estimate()
	if total != 3*time.Second || unknown != 1 {
		t.Errorf("estimate %v, %d unknown; want 3s (1s measured, 2s as the mean of its kind) and 1", total, unknown)
	}
	if !p.Changes() {
		t.Error("an apply would change nothing")
	}
}

func TestPlan_interrupted(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.add(pureKind, "make[a]", "1")
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := l.planner().Plan(ctx, l.graph, nil); !errors.Is(err, cause) {
		t.Errorf("got %v, want the cause", err)
	}
}

// A plan that takes long says where it is: after two seconds, then each second.
func TestPlan_slow(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for i := range 50 {
		l.add(pureKind, fmt.Sprintf("make[%d]", i), fmt.Sprint(i))
	}
	now := time.Unix(0, 0)
	var said []string
	p := l.planner()
	p.Now = func() time.Time { now = now.Add(100 * time.Millisecond); return now }
	p.Slow = func(next *Stage, done, total int) {
		said = append(said, fmt.Sprintf("%s %d/%d", next.Address, done, total))
	}
	if _, err := p.Plan(t.Context(), l.graph, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(said, ", "), "make[19] 19/50, make[29] 29/50, make[39] 39/50, make[49] 49/50"; got != want {
		t.Errorf("said %s, want %s", got, want)
	}
}

// failingStore is a cache whose records cannot be read for a reason of the
// world's.
type failingStore struct{ cache.Store }

func (failingStore) Get(context.Context, cache.Key) (*cache.Record, error) {
	return nil, errBroken
}

func TestPlan_storeError(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.add(pureKind, "make[a]", "1")
	p := &Planner{Store: failingStore{l.store}, Log: hclog.NewNullLogger()}
	if _, err := p.Plan(t.Context(), l.graph, nil); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "plan make[a]") {
		t.Errorf("got %v", err)
	}
}
