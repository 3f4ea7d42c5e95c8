package engine

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"raglab/cache"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with a file of testdata.
func golden(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
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
		t.Errorf("%s (-want +got); -update rewrites it:\n%s", path, diff)
	}
}

// step is what the stages of tests do. It counts how often it ran.
type step struct {
	do   func(ctx context.Context, t *Task) error
	runs atomic.Int32
}

func runStep(ctx context.Context, t *Task) error {
	s := t.Work.(*step)
	s.runs.Add(1)
	return s.do(ctx, t)
}

// The kinds of tests. All of them have one output, out.
var (
	pureKind     = &Kind{Name: "make", Version: "1", Outputs: []string{"out"}, Pure: true, Run: runStep}
	cheapKind    = &Kind{Name: "cheap", Version: "1", Outputs: []string{"out"}, Pure: true, Cheap: true, Run: runStep}
	volatileKind = &Kind{Name: "roll", Version: "1", Outputs: []string{"out"}, Run: runStep}
	steadyKind   = &Kind{Name: "lean", Version: "1", Outputs: []string{"out"}, Steady: true, Run: runStep}
)

// join is a step that writes a text and, behind it, all inputs in brackets.
func join(text string) func(context.Context, *Task) error {
	return func(_ context.Context, t *Task) error {
		var b strings.Builder
		b.WriteString(text)
		for _, input := range t.stage.Inputs {
			if input.Late {
				continue
			}
			in, err := t.Bytes(input.Name)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "(%s)", in)
		}
		return t.Write("out", []byte(b.String()))
	}
}

// lab is an experiment of synthetic stages over a cache of its own.
type lab struct {
	testing.TB
	store  *cache.Local
	graph  *Graph
	ledger Ledger
	ex     *Local

	mu     sync.Mutex
	events []Event
}

func newLab(t testing.TB) *lab {
	t.Helper()
	return labIn(t, t.TempDir())
}

// labIn is a lab over the cache in dir.
func labIn(t testing.TB, dir string) *lab {
	t.Helper()
	l := &lab{TB: t, store: openStore(t, dir, cache.Options{NoSync: true}), graph: NewGraph(), ledger: Ledger{}}
	l.ex = newExecutor(l.store, l.event)
	return l
}

func newExecutor(store Store, events func(Event)) *Local {
	return &Local{
		Store: store, Capacity: Resources{CPU: 4, Memory: 1 << 30, Network: 2, Accelerator: 1},
		Now: time.Now, Log: hclog.NewNullLogger(), Events: events, Poll: 2 * time.Millisecond,
		Backoff: func(int) time.Duration { return 0 },
	}
}

func openStore(t testing.TB, dir string, o cache.Options) *cache.Local {
	t.Helper()
	s, err := cache.OpenLocal(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close cache: %v", err)
		}
	})
	return s
}

func (l *lab) event(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

// took removes and returns the events so far.
func (l *lab) took() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.events
	l.events = nil
	return e
}

// add puts a stage into the graph that writes text and its inputs' outputs.
func (l *lab) add(kind *Kind, address, text string, from ...*Stage) *Stage {
	return l.addStep(kind, address, text, join(text), from...)
}

// addStep puts a stage into the graph that does something else.
func (l *lab) addStep(kind *Kind, address, text string, do func(context.Context, *Task) error, from ...*Stage) *Stage {
	return l.graph.Add(newStage(kind, address, text, do, from...))
}

func newStage(kind *Kind, address, text string, do func(context.Context, *Task) error, from ...*Stage) *Stage {
	s := &Stage{
		Address: address, Kind: kind, Needs: Resources{CPU: 1}, Work: &step{do: do},
		Fields: []Field{{Params, "text", text}},
	}
	for i, f := range from {
		s.Inputs = append(s.Inputs, Input{Name: fmt.Sprintf("in%d", i), From: f, Output: "out"})
	}
	return s
}

// runs is how often a stage's step ran.
func runs(s *Stage) int { return int(s.Work.(*step).runs.Load()) }

func (l *lab) planner() *Planner {
	return &Planner{Store: l.store, Ledger: l.ledger, Log: hclog.NewNullLogger(), SimulateBytes: 1 << 20}
}

// plan plans as an apply does, with what became of the ledger's results asked
// for before.
func (l *lab) plan() *Plan {
	l.Helper()
	planner := l.planner()
	planner.Recollection = Recall(l.Context(), l.store, l.ledger)
	p, err := planner.Plan(l.Context(), l.graph, nil)
	if err != nil {
		l.Fatal(err)
	}
	return p
}

// apply plans, applies and remembers.
func (l *lab) apply() *Outcomes {
	l.Helper()
	return l.applyPlan(l.Context(), l.plan())
}

func (l *lab) applyPlan(ctx context.Context, p *Plan) *Outcomes {
	l.Helper()
	out, err := l.ex.Apply(ctx, p)
	if err != nil {
		l.Fatal(err)
	}
	l.ledger = l.ledger.Update(p, out)
	return out
}

// done applies and wants every stage to be done.
func (l *lab) done() *Outcomes {
	l.Helper()
	out := l.apply()
	l.wantDone(out)
	return out
}

func (l *lab) wantDone(out *Outcomes) {
	l.Helper()
	for i, s := range out.State {
		if s != StateDone {
			l.Errorf("%s is %s, want %s", l.graph.Stages[i].Address, s, StateDone)
		}
	}
	for _, f := range out.Failures {
		l.Errorf("%s failed: %v", f.Stage.Address, f.Err)
	}
}

// next begins a new graph over the same cache and ledger.
func (l *lab) next() { l.graph = NewGraph() }

// read is the output of a stage that is done.
func (l *lab) read(out *Outcomes, s *Stage) string {
	l.Helper()
	blob, ok := out.Output(s, "out")
	if !ok {
		l.Fatalf("%s has no output", s.Address)
	}
	b, err := l.store.ReadAll(context.Background(), blob.Digest)
	if err != nil {
		l.Fatal(err)
	}
	return string(b)
}

// outputs are the outputs of all stages by address.
func (l *lab) outputs(out *Outcomes) map[string]string {
	l.Helper()
	m := map[string]string{}
	for _, s := range l.graph.Stages {
		m[s.Address] = l.read(out, s)
	}
	return m
}

// say is a plan in lines: outcome, address, reason and note.
func say(p *Plan) string {
	var b strings.Builder
	for i := range p.Stages {
		ps := &p.Stages[i]
		line := fmt.Sprintf("%-7s %s", ps.Outcome, ps.Stage.Address)
		if r := ps.Reason.String(); r != "" {
			line += fmt.Sprintf("  [%s] %s", ps.Reason.Kind, r)
		}
		if ps.Note != "" {
			line += "  (" + ps.Note + ")"
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// tell is events in lines, without what differs from run to run.
func tell(events []Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%s %s", e.Type, e.Stage.Address)
		for _, s := range []string{string(e.Completion), string(e.State), e.Message} {
			if s != "" {
				b.WriteString(" " + s)
			}
		}
		if e.Err != nil {
			b.WriteString(": " + e.Err.Error())
		}
		b.WriteString("\n")
	}
	return b.String()
}

// tree is every file below dir with its mode, time and digest.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		files[path] = fmt.Sprintf("%s %v", info.Mode(), info.ModTime())
		if e.Type().IsRegular() {
			b, err := os.ReadFile(path)
			files[path] += fmt.Sprintf(" %s", cache.DigestOf(b))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// entries are the files of blobs and records of a cache, in order.
func entries(t testing.TB, dir string) []string {
	t.Helper()
	var paths []string
	for path := range maps.Keys(tree(t, dir)) {
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		if parts := strings.Split(filepath.ToSlash(rel), "/"); len(parts) == 3 && len(parts[2]) == 64 && (parts[0] == "cas" || parts[0] == "ac") {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

func remove(t testing.TB, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// corrupt changes a byte of a file and keeps its length.
func corrupt(t testing.TB, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil && len(b) == 0 {
		err = errors.New("it is empty")
	}
	if err == nil {
		b[len(b)/2] ^= 0x20
		err = errors.Join(os.Chmod(path, 0o644), os.WriteFile(path, b, 0o644), os.Chmod(path, 0o444))
	}
	if err != nil {
		t.Fatalf("corrupt %s: %v", path, err)
	}
}

// blobPath is where an output lies.
func (l *lab) blobPath(out *Outcomes, s *Stage) string {
	l.Helper()
	blob, ok := out.Output(s, "out")
	if !ok {
		l.Fatalf("%s has no output", s.Address)
	}
	return l.store.Path(blob.Digest)
}

func (l *lab) recordPath(k cache.Key) string {
	return filepath.Join(l.store.Dir(), "ac", k.String()[:2], k.String())
}

// gate lets a test stop a stage and look.
type gate struct{ entered, leave chan struct{} }

func newGate() *gate { return &gate{make(chan struct{}, 1000), make(chan struct{})} }

// pass says that somebody is here, and waits to be let through.
func (g *gate) pass(ctx context.Context) error {
	g.entered <- struct{}{}
	select {
	case <-g.leave:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// through is a step that passes the gate before it does its work.
func (g *gate) through(do func(context.Context, *Task) error) func(context.Context, *Task) error {
	return func(ctx context.Context, t *Task) error {
		if err := g.pass(ctx); err != nil {
			return err
		}
		return do(ctx, t)
	}
}
