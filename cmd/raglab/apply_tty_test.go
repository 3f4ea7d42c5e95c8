package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"raglab/engine"
)

// wantFile compares with a file of testdata, which -update rewrites.
func wantFile(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (run the test with -update to accept):\n%s", path, diff)
	}
}

// fakeClock tells a time that a test sets.
type fakeClock struct{ time.Time }

func (c *fakeClock) now() time.Time          { return c.Time }
func (c *fakeClock) advance(d time.Duration) { c.Time = c.Add(d) }

func newFakeClock() *fakeClock {
	return &fakeClock{time.Date(2024, time.May, 1, 12, 0, 0, 0, time.UTC)}
}

var (
	fetchKind = &engine.Kind{Name: "fetch"}
	embedKind = &engine.Kind{Name: "embed"}
)

// aPlan plans two stages of which one has been measured before.
func aPlan() (plan *engine.Plan, fetch, first, second *engine.Stage) {
	fetch = &engine.Stage{Address: "fetch[files]", Kind: fetchKind}
	first = &engine.Stage{Address: "embed[whole e5]#000", Kind: embedKind}
	second = &engine.Stage{Address: "embed[whole e5]#001", Kind: embedKind}
	return &engine.Plan{Stages: []engine.PlannedStage{
		{Stage: fetch, Outcome: engine.WillRun, Estimate: 2 * time.Second},
		{Stage: first, Outcome: engine.WillRun, Estimate: 20 * time.Second},
		{Stage: second, Outcome: engine.Maybe, Estimate: 10 * time.Second},
	}}, fetch, first, second
}

// TestApplyTTY_tree follows an apply through its drawings.
func TestApplyTTY_tree(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	v := newApplyTTY(applyHuman{})
	v.now = clock.now
	plan, fetch, first, second := aPlan()
	v.expect(plan)
	var drawn strings.Builder
	draw := func(title string) {
		drawn.WriteString("# " + title + "\n" + strings.Join(v.tree(80), "\n") + "\n")
	}
	draw("nothing has begun")
	v.event(engine.Event{Type: engine.EventStart, Stage: fetch})
	clock.advance(1500 * time.Millisecond)
	v.event(engine.Event{Type: engine.EventProgress, Stage: fetch, Done: 300, Unit: "documents"})
	draw("fetch reads, of it is not known how many")
	v.event(engine.Event{Type: engine.EventComplete, Stage: fetch, Completion: engine.Executed, Wall: 1500 * time.Millisecond})
	v.event(engine.Event{Type: engine.EventStart, Stage: first})
	v.event(engine.Event{Type: engine.EventStart, Stage: second})
	clock.advance(4 * time.Second)
	v.event(engine.Event{Type: engine.EventProgress, Stage: first, Done: 250, Total: 1000, Unit: "texts"})
	draw("two shards embed, one has told how far it is")
	v.event(engine.Event{Type: engine.EventErrored, Stage: second, Err: errors.New("no")})
	clock.advance(90 * time.Second)
	v.event(engine.Event{Type: engine.EventComplete, Stage: first, Completion: engine.Executed, Wall: 94 * time.Second})
	draw("one is done, one failed")
	wantFile(t, "tree.txt", drawn.String())
}

// TestApplyTTY_eta goes by measurements, and by what is done where there are none.
func TestApplyTTY_eta(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	v := newApplyTTY(applyHuman{})
	v.now = clock.now
	plan, fetch, _, second := aPlan()
	v.expect(plan)
	if got := v.eta(clock.now()); got != 32*time.Second {
		t.Errorf("by measurements %v are left, want 32 s", got)
	}
	v.event(engine.Event{Type: engine.EventStart, Stage: fetch})
	v.event(engine.Event{Type: engine.EventComplete, Stage: fetch})
	if got := v.eta(clock.now()); got != 30*time.Second {
		t.Errorf("after fetch %v are left, want 30 s", got)
	}
	for i := range plan.Stages {
		plan.Stages[i].Estimate = 0
	}
	v.expect(plan)
	clock.advance(10 * time.Second)
	if got := v.eta(clock.now()); got != 0 {
		t.Errorf("with nothing known %v are left, want 0", got)
	}
	v.event(engine.Event{Type: engine.EventStart, Stage: fetch})
	v.event(engine.Event{Type: engine.EventComplete, Stage: fetch})
	if got := v.eta(clock.now()); got != 20*time.Second {
		t.Errorf("with one of three done in 10 s %v are left, want 20 s", got)
	}
	for range 2 {
		v.event(engine.Event{Type: engine.EventErrored, Stage: second, Err: errors.New("no")})
	}
	if got := v.eta(clock.now()); got != 0 {
		t.Errorf("with nothing to do any more %v are left, want 0", got)
	}
}

// TestApplyPlain_remind says after a minute that a stage still runs, and each
// minute again.
func TestApplyPlain_remind(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	var out strings.Builder
	v := newApplyPlain(applyHuman{terminal: terminal{err: &out}})
	v.now = clock.now
	_, fetch, first, _ := aPlan()
	v.event(engine.Event{Type: engine.EventStart, Stage: fetch})
	clock.advance(59 * time.Second)
	v.remind()
	clock.advance(time.Second)
	v.remind()
	v.event(engine.Event{Type: engine.EventStart, Stage: first})
	v.event(engine.Event{Type: engine.EventProgress, Stage: fetch, Done: 10, Total: 40, Unit: "documents"})
	clock.advance(59 * time.Second)
	v.remind()
	clock.advance(time.Second)
	v.event(engine.Event{Type: engine.EventComplete, Stage: first, Completion: engine.Executed, Wall: time.Minute, Reason: engine.Reason{Kind: engine.ReasonNew}})
	v.remind()
	wantFile(t, "plain.txt", out.String())
}

func TestBar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		done, total, width int
		want               string
	}{
		{0, 10, 4, "────"},
		{5, 10, 4, "━━──"},
		{10, 10, 4, "━━━━"},
		{11, 10, 4, "━━━━"}, // more than was planned
		{3, 0, 4, "────"},
		{1, 1000, 4, "────"},
	} {
		if got := bar(c.done, c.total, c.width); got != c.want {
			t.Errorf("bar(%d, %d, %d) = %q, want %q", c.done, c.total, c.width, got, c.want)
		}
	}
}

func TestClipWidth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{{"річка", 5, "річка"}, {"річка", 4, "річ…"}, {"", 0, ""}, {"a", 0, ""}} {
		if got := clipWidth(c.text, c.width); got != c.want {
			t.Errorf("clipWidth(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestParseFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		rest []string
		err  string
	}{
		{[]string{"a", "-n", "3", "b"}, []string{"a", "b"}, ""},
		{[]string{"-n=3", "a"}, []string{"a"}, ""},
		{[]string{"a", "--", "-n"}, []string{"a", "-n"}, ""},
		{[]string{"a", "-nn"}, nil, "raglab x: flag provided but not defined: -nn; did you mean -n?\n"},
		{[]string{"-n", "many"}, nil, `raglab x: invalid value "many" for flag -n: parse error` + "\n"},
	} {
		var stderr strings.Builder
		set := flag.NewFlagSet("x", flag.ContinueOnError)
		set.Int("n", 0, "")
		rest, err := parseFlags(terminal{err: &stderr}, set, "help", c.args)
		if diff := cmp.Diff(c.rest, rest); diff != "" {
			t.Errorf("%q: %s", c.args, diff)
		}
		if stderr.String() != c.err || (err != nil) != (c.err != "") {
			t.Errorf("%q: error %v and %q, want %q", c.args, err, stderr.String(), c.err)
		}
	}
}
