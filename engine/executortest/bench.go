package executortest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"raglab/cache"
	"raglab/engine"
)

// bench is an experiment of synthetic stages in a lab.
type bench struct {
	testing.TB
	Lab
	graph    *engine.Graph
	ledger   engine.Ledger
	settings Settings
	force    func(*engine.Stage) bool

	mu     sync.Mutex
	events []engine.Event
	watch  func(engine.Event)
}

func newBench(t testing.TB, lab Lab) *bench {
	return &bench{TB: t, Lab: lab, graph: engine.NewGraph(), ledger: engine.Ledger{}}
}

// another is a second experiment in the same lab.
func (b *bench) another() *bench { return newBench(b.TB, b.Lab) }

// next begins a new graph of the same experiment.
func (b *bench) next() { b.graph = engine.NewGraph() }

// add puts a stage into the graph that writes a text and its inputs.
func (b *bench) add(address, text string, from ...*engine.Stage) *engine.Stage {
	return b.addStep(Pure, address, text, Join(text, len(from)), from...)
}

func (b *bench) addStep(kind *engine.Kind, address, text string, do Do, from ...*engine.Stage) *engine.Stage {
	return b.graph.Add(NewStage(kind, address, text, do, from...))
}

// event keeps what is told, and checks that it is told by one at a time.
func (b *bench) event(e engine.Event) {
	if !b.mu.TryLock() {
		b.Error("two events are told at the same time")
		b.mu.Lock()
	}
	defer b.mu.Unlock()
	b.events = append(b.events, e)
	if b.watch != nil {
		b.watch(e)
	}
}

func (b *bench) plan() *engine.Plan {
	b.Helper()
	planner := &engine.Planner{Store: b.Store, Ledger: b.ledger, Log: hclog.NewNullLogger(), SimulateBytes: 1 << 20, Force: b.force}
	p, err := planner.Plan(b.Context(), b.graph, nil)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// apply plans, applies and remembers.
func (b *bench) apply() *engine.Outcomes {
	b.Helper()
	return b.applyPlan(b.Context(), b.plan())
}

// applyPlan applies a plan, and checks what must hold of outcomes in any case.
func (b *bench) applyPlan(ctx context.Context, p *engine.Plan) *engine.Outcomes {
	b.Helper()
	b.events = nil
	if b.Publish != nil {
		b.Publish(b.graph)
	}
	s := b.settings
	s.Events = b.event
	out, err := b.Executor(s).Apply(ctx, p)
	if err != nil {
		b.Fatal(err)
	}
	b.ledger = b.ledger.Update(p, out)
	b.consistent(p, out)
	return out
}

// consistent checks that each stage's state fits those of its inputs, and the counts
// what was told.
func (b *bench) consistent(p *engine.Plan, out *engine.Outcomes) {
	b.Helper()
	done, failed := 0, map[*engine.Stage]bool{}
	for _, f := range out.Failures {
		if failed[f.Stage] {
			b.Errorf("%s failed twice", f.Stage.Address)
		}
		failed[f.Stage] = true
	}
	for i, state := range out.State {
		s := p.Stages[i].Stage
		if failed[s] != (state == engine.StateFailed) {
			b.Errorf("%s is %s; that it failed is %v", s.Address, state, failed[s])
		}
		if state != engine.StateDone {
			continue
		}
		done++
		if out.Keys[i].IsZero() || len(out.Outputs[i]) != len(s.Kind.Outputs) {
			b.Errorf("%s is done with key %s and outputs %v", s.Address, out.Keys[i].Short(), out.Outputs[i])
		}
	}
	if n := out.Executed + out.Cached + out.Hits + out.Shared; n != done {
		b.Errorf("%d results are counted, %d stages done", n, done)
	}
	inOrder := slices.IsSortedFunc(out.Failures, func(x, y engine.Failure) int { return x.Stage.Index() - y.Stage.Index() })
	if !inOrder {
		b.Errorf("failures %v are not in the graph's order", out.Failures)
	}
}

// done applies and wants every stage to be done.
func (b *bench) done() *engine.Outcomes {
	b.Helper()
	out := b.apply()
	b.wantDone(out)
	return out
}

func (b *bench) wantDone(out *engine.Outcomes) {
	b.Helper()
	for i, s := range out.State {
		if s != engine.StateDone {
			b.Errorf("%s is %s, want %s", b.graph.Stages[i].Address, s, engine.StateDone)
		}
	}
	for _, f := range out.Failures {
		b.Errorf("%s failed: %v", f.Stage.Address, f.Err)
	}
}

// wantStates compares the states of all stages, in the graph's order.
func (b *bench) wantStates(out *engine.Outcomes, want string) {
	b.Helper()
	if got := strings.Trim(fmt.Sprint(out.State), "[]"); got != want {
		b.Errorf("states are %s, want %s", got, want)
	}
}

// wantNothingLeft wants the next plan to be of cached stages only, the ledger to know
// their keys, and the next apply to tell nothing.
func (b *bench) wantNothingLeft() {
	b.Helper()
	p := b.plan()
	if p.Changes() {
		b.Errorf("something is left to do:\n%s", sayPlan(p))
		return
	}
	for i := range p.Stages {
		s := &p.Stages[i]
		if got := b.ledger[s.Stage.Address].Key; got != s.Key {
			b.Errorf("the ledger says %s of %s, whose key is %s", got.Short(), s.Stage.Address, s.Key.Short())
		}
	}
	before := b.ledger
	out := b.applyPlan(b.Context(), p)
	b.wantDone(out)
	if len(b.events) > 0 || out.Cached != len(p.Stages) || !b.ledger.Equal(before) {
		b.Errorf("an apply with nothing to do tells %d events and finds %d of %d results", len(b.events), out.Cached, len(p.Stages))
	}
}

// read is the output of a stage that is done.
func (b *bench) read(out *engine.Outcomes, s *engine.Stage) string {
	b.Helper()
	raw, err := b.Store.ReadAll(context.Background(), b.blob(out, s))
	if err != nil {
		b.Fatal(err)
	}
	return string(raw)
}

func (b *bench) blob(out *engine.Outcomes, s *engine.Stage) cache.Digest {
	b.Helper()
	blob, ok := out.Output(s, "out")
	if !ok {
		b.Fatalf("%s has no output", s.Address)
	}
	return blob.Digest
}

// remove takes a blob away, corrupt changes a byte of it.
func (b *bench) remove(d cache.Digest) {
	b.Helper()
	if err := os.Remove(b.Store.Path(d)); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) corrupt(d cache.Digest) {
	b.Helper()
	path := b.Store.Path(d)
	raw, err := os.ReadFile(path)
	if err == nil {
		raw[len(raw)/2] ^= 0x20
		err = errors.Join(os.Chmod(path, 0o644), os.WriteFile(path, raw, 0o644), os.Chmod(path, 0o444))
	}
	if err != nil {
		b.Fatal(err)
	}
}

// story is what was told of each stage, in order, in words: without what differs from
// run to run, and without what tells of waiting only.
func (b *bench) story() map[string][]string {
	m := map[string][]string{}
	for _, e := range b.events {
		if line := sayEvent(e); line != "" {
			m[e.Stage.Address] = append(m[e.Stage.Address], line)
		}
	}
	return m
}

func sayEvent(e engine.Event) string {
	switch e.Type {
	case engine.EventStart:
		return fmt.Sprintf("start %d [%s]", e.Attempt, e.Reason.Kind)
	case engine.EventRetry:
		return fmt.Sprintf("retry %d %s: %s", e.Attempt, e.Message, firstLine(e.Err))
	case engine.EventComplete:
		if e.Completion == engine.Executed {
			return fmt.Sprintf("executed %d [%s]", e.Attempt, e.Reason.Kind)
		}
		return "found"
	case engine.EventErrored:
		return fmt.Sprintf("%s: %s", e.State, firstLine(e.Err))
	case engine.EventBlocked:
		return "blocked by " + e.Message
	case engine.EventWarning:
		return "warning: " + e.Message
	}
	return ""
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// wantStory compares what was told of stages; those that are not named told nothing.
func (b *bench) wantStory(want map[string][]string) {
	b.Helper()
	if diff := cmp.Diff(want, b.story()); diff != "" {
		b.Errorf("what was told (-want +got):\n%s", diff)
	}
}

// ran is the story of a stage that ran once.
func ran(reason engine.ReasonKind) []string {
	return []string{fmt.Sprintf("start 1 [%s]", reason), fmt.Sprintf("executed 1 [%s]", reason)}
}

// allRan are stories of stages that ran once because they were new.
func allRan(addresses ...string) map[string][]string {
	m := map[string][]string{}
	for _, a := range addresses {
		m[a] = ran(engine.ReasonNew)
	}
	return m
}

// with is a story in which some stages are told of differently.
func with(m, others map[string][]string) map[string][]string {
	m = maps.Clone(m)
	maps.Copy(m, others)
	return m
}

// sayPlan is a plan in lines.
func sayPlan(p *engine.Plan) string {
	var out strings.Builder
	for i := range p.Stages {
		s := &p.Stages[i]
		fmt.Fprintf(&out, "%-7s %s  [%s] %s\n", s.Outcome, s.Stage.Address, s.Reason.Kind, s.Reason)
	}
	return out.String()
}
