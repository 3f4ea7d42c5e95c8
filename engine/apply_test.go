package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"raglab/cache"
)

func TestApply(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.add(pureKind, "make[a]", "a")
	b := l.add(pureKind, "make[b]", "b", a)
	c := l.add(pureKind, "make[c]", "c", a)
	d := l.add(pureKind, "make[d]", "d", b, c)
	out := l.done()
	if got := l.read(out, d); got != "d(b(a))(c(a))" {
		t.Errorf("the end is %q", got)
	}
	if out.Executed != 4 || out.Cached+out.Hits+out.Shared != 0 || out.Err() != nil {
		t.Errorf("first apply: %+v", out)
	}
	out = l.done()
	if out.Cached != 4 || out.Executed != 0 {
		t.Errorf("second apply: %+v", out)
	}
	for _, s := range l.graph.Stages {
		if runs(s) != 1 {
			t.Errorf("%s ran %d times", s.Address, runs(s))
		}
	}
}

func TestApply_record(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.ex.Provenance = map[string]string{"host": "test"}
	l.addStep(pureKind, "make[a]", "a", func(_ context.Context, t *Task) error {
		t.Measure("texts", 12)
		t.Warn("%d texts were cut", 3)
		dir, err := t.Scratch()
		if err == nil {
			err = os.WriteFile(dir+"/x", nil, 0o600)
		}
		again, _ := t.Scratch()
		if again != dir {
			err = fmt.Errorf("a second scratch folder %s", again)
		}
		t.Measure("scratch", dir)
		return errors.Join(err, t.Write("out", []byte("x")))
	})
	out := l.done()
	rec, err := l.store.Get(t.Context(), out.Keys[0])
	if err != nil {
		t.Fatal(err)
	}
	m, err := ParseManifest(rec.Manifest)
	if err != nil || !reflect.DeepEqual(m, Manifest{Kind: "make", Version: "1", Fields: []ManifestField{{Params, "text", "a"}}}) {
		t.Errorf("manifest %s (%v)", rec.Manifest, err)
	}
	var measured map[string]any
	if err := json.Unmarshal(rec.Measurements, &measured); err != nil || measured["texts"] != 12.0 {
		t.Errorf("measurements %s (%v)", rec.Measurements, err)
	}
	if _, err := os.Stat(measured["scratch"].(string)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the scratch folder is left: %v", err)
	}
	var by provenance
	if err := json.Unmarshal(rec.Provenance, &by); err != nil || by.Attempt != 1 || by.By["host"] != "test" || by.Started.IsZero() {
		t.Errorf("provenance %s (%v)", rec.Provenance, err)
	}
	want := "apply_start make[a]\nwarning make[a] 3 texts were cut\napply_complete make[a] executed\n"
	if got := tell(l.took()); got != want {
		t.Errorf("events\n%s\nwant\n%s", got, want)
	}
}

var errBad = errors.New("bad input")

func fails(context.Context, *Task) error { return errBad }

// A failure does not stop what does not need it; what does is blocked, and the
// cause is told once.
func TestApply_keepGoing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	bad := l.addStep(pureKind, "make[bad]", "bad", fails)
	good := l.add(pureKind, "make[good]", "good")
	b := l.add(pureKind, "make[b]", "b", bad, good)
	c := l.add(pureKind, "make[c]", "c", b, bad)
	d := l.add(pureKind, "make[d]", "d", good)
	out := l.apply()
	for s, want := range map[*Stage]StageState{bad: StateFailed, good: StateDone, b: StateBlocked, c: StateBlocked, d: StateDone} {
		if got := out.State[s.Index()]; got != want {
			t.Errorf("%s is %s, want %s", s.Address, got, want)
		}
	}
	if len(out.Failures) != 1 || out.Failures[0].Stage != bad || !errors.Is(out.Err(), errBad) {
		t.Errorf("failures %v", out.Failures)
	}
	var told []string
	for _, e := range l.took() {
		if e.Type == EventErrored || e.Type == EventBlocked {
			told = append(told, strings.TrimSpace(tell([]Event{e})))
		}
	}
	want := []string{"apply_errored make[bad] failed: bad input", "apply_blocked make[b] make[bad]", "apply_blocked make[c] make[bad]"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if got, want := say(l.plan()), "run     make[bad]  [new] never run\ncached  make[good]\nrun     make[b]  [new] never run\nrun     make[c]  [new] never run\ncached  make[d]\n"; got != want {
		t.Errorf("the next plan is\n%s\nwant\n%s", got, want)
	}
}

func TestApply_failFast(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.ex.FailFast = true
	l.ex.Capacity.CPU = 1
	l.addStep(pureKind, "make[bad]", "bad", fails)
	later := l.add(pureKind, "make[later]", "later")
	out := l.apply()
	if out.State[0] != StateFailed || out.State[1] != StateQueued || runs(later) != 0 {
		t.Errorf("states %v, the later stage ran %d times", out.State, runs(later))
	}
}

// Failures are reported in the order of the graph, whichever came first.
func TestApply_failuresInOrder(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	g := newGate()
	l.addStep(pureKind, "make[slow]", "1", g.through(fails))
	l.addStep(pureKind, "make[quick]", "2", func(context.Context, *Task) error {
		defer close(g.leave)
		return errBad
	})
	out := l.apply()
	var got []string
	for _, f := range out.Failures {
		got = append(got, f.Stage.Address)
	}
	if !slices.Equal(got, []string{"make[slow]", "make[quick]"}) {
		t.Errorf("failures of %q", got)
	}
}

// What a stage does wrong is its failure, is told, and leaves no record.
func TestApply_misbehaviour(t *testing.T) {
	t.Parallel()
	two := &Kind{Name: "two", Version: "1", Outputs: []string{"out", "more"}, Pure: true, Run: runStep}
	tests := []struct {
		name string
		kind *Kind
		do   func(context.Context, *Task) error
		want string
	}{
		{"panic", pureKind, func(context.Context, *Task) error { panic("index out of range") }, "panic: index out of range"},
		{"nil panic", pureKind, func(context.Context, *Task) error { var s *Stage; _ = s.Address; return nil }, "nil pointer"},
		{"no output", pureKind, func(context.Context, *Task) error { return nil }, `make[x] ended without its output "out"`},
		{"one output of two", two, join("x"), `make[x] ended without its output "more"`},
		{"undeclared output", pureKind, func(_ context.Context, t *Task) error { return t.Write("else", nil) }, `stage kind make creates output "else", which it does not declare`},
		{"output twice", pureKind, func(_ context.Context, t *Task) error {
			return errors.Join(t.Write("out", nil), t.Write("out", nil))
		}, `make[x] creates output "out" twice`},
		{"undeclared input", pureKind, func(_ context.Context, t *Task) error { _, err := t.Bytes("secrets"); return err }, `stage kind make reads input "secrets", which make[x] does not declare`},
		{"undeclared input opened", pureKind, func(_ context.Context, t *Task) error { _, err := t.Open("secrets"); return err }, `reads input "secrets"`},
		{"late input", pureKind, func(_ context.Context, t *Task) error { _, err := t.Bytes("late"); return err }, `reads input "late", which make[x] does not declare`},
		{"measures what is no JSON", pureKind, func(_ context.Context, t *Task) error {
			t.Measure("x", make(chan int))
			return t.Write("out", nil)
		}, "encode measurements"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			in := l.add(pureKind, "make[in]", "in")
			s := newStage(tt.kind, "make[x]", "x", tt.do)
			s.Inputs = []Input{{Name: "late", From: in, Output: "out", Late: true}}
			s = l.graph.Add(s)
			reader := l.add(pureKind, "make[reader]", "r", s)
			out := l.apply()
			if err := out.Err(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
			if out.State[s.Index()] != StateFailed || out.State[reader.Index()] != StateBlocked || runs(s) != 1 {
				t.Errorf("states %v, ran %d times", out.State, runs(s))
			}
			keys, err := l.store.Keys(t.Context(), "")
			if err != nil || len(keys) != 1 || keys[0] != out.Keys[in.Index()] {
				t.Errorf("records of %v (%v), want the input's alone", keys, err)
			}
		})
	}
}

// A file outside the cache that changed during the run: the result is used, told
// of, and not kept.
func TestApply_checkFails(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	changed := errors.New("docs/a.md changed while it was read")
	s := newStage(pureKind, "make[a]", "a", join("a"))
	s.Check = func() error { return changed }
	s = l.graph.Add(s)
	reader := l.add(pureKind, "make[reader]", "r", s)
	out := l.done()
	if got := l.read(out, reader); got != "r(a)" {
		t.Errorf("the reader gave %q", got)
	}
	want := "apply_start make[a]\nwarning make[a] docs/a.md changed while it was read; the result is used now but not kept\napply_complete make[a] executed\n" +
		"apply_start make[reader]\napply_complete make[reader] executed\n"
	if got := tell(l.took()); got != want {
		t.Errorf("events\n%s\nwant\n%s", got, want)
	}
	if _, miss, err := cache.Lookup(t.Context(), l.store, out.Keys[0]); err != nil || miss.Reason != cache.MissNoRecord {
		t.Errorf("the result was kept: %+v, %v", miss, err)
	}
	if _, ok := l.ledger["make[a]"]; ok {
		t.Error("the ledger remembers a result that was not kept")
	}
	if got, want := say(l.plan()), "run     make[a]  [new] never run\nmaybe   make[reader]  [derived] follows make[a]\n"; got != want {
		t.Errorf("the next plan is\n%s\nwant\n%s", got, want)
	}
}

// A check that fails leaves what the ledger knew, so that the next plan can say
// what changed.
func TestApply_checkFailsLater(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	build := func(digest string, check error) {
		s := newStage(pureKind, "make[a]", "a", join(digest))
		s.Fields = append(s.Fields, Field{Source, "docs/a.md", digest})
		s.Check = func() error { return check }
		l.graph.Add(s)
	}
	build("00", nil)
	l.done()
	for _, digest := range []string{"11", "22"} {
		l.next()
		build(digest, errBad)
		l.done()
	}
	l.next()
	build("33", nil)
	if got, want := say(l.plan()), "run     make[a]  [input] input changed: docs/a.md\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Keys and results do not depend on how many stages run at once, nor on the
// order in which they end.
func TestApply_isTheSameEachTime(t *testing.T) {
	t.Parallel()
	var want string
	for i := range 12 {
		l := newLab(t)
		l.ex.Capacity.CPU = 1 + i%6
		diamonds(l)
		twins(l, 5, join("x"))
		out := l.done()
		got := fmt.Sprint(out.Keys, l.outputs(out))
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatalf("with %d threads:\n%s\nbefore:\n%s", l.ex.Capacity.CPU, got, want)
		}
	}
}

// A stage that names no resource takes a thread.
func TestApply_noNeeds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.ex.Capacity = Resources{CPU: 2}
	var watch watcher
	for i := range 20 {
		s := newStage(pureKind, fmt.Sprintf("make[%d]", i), fmt.Sprint(i), watch.during(Resources{CPU: 1}, join("x")))
		s.Needs = Resources{}
		l.graph.Add(s)
	}
	l.done()
	if watch.most.CPU > 2 {
		t.Errorf("%d stages ran at once on 2 threads", watch.most.CPU)
	}
}

func TestApply_share(t *testing.T) {
	t.Parallel()
	for _, share := range []float64{-0.1, 1.1} {
		l := newLab(t)
		l.ex.Verify = share
		if out, err := l.ex.Apply(t.Context(), l.plan()); err == nil {
			t.Errorf("a share of %v was verified: %+v", share, out)
		}
	}
}

// readOnlyStore is a cache that takes nothing more.
type readOnlyStore struct {
	Store
	err error
}

func (s readOnlyStore) Create(context.Context) (cache.Writer, error) { return nil, s.err }

// When the cache cannot be written, nothing more is tried.
func TestApply_storeFails(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.ex.Capacity.CPU = 1
	full := errors.New("no space left on device")
	l.ex.Store = readOnlyStore{l.store, full}
	for i := range 5 {
		l.add(pureKind, fmt.Sprintf("make[%d]", i), fmt.Sprint(i))
	}
	out := l.apply()
	var store *StoreError
	if len(out.Failures) != 1 || !errors.As(out.Err(), &store) || !errors.Is(out.Err(), full) {
		t.Errorf("failures %v", out.Failures)
	}
}
