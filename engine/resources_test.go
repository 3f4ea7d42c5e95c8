package engine

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// watcher sums up what the stages that run use at once.
type watcher struct {
	mu        sync.Mutex
	now, most Resources
}

func (w *watcher) during(r Resources, do func(context.Context, *Task) error) func(context.Context, *Task) error {
	return func(ctx context.Context, t *Task) error {
		w.add(r)
		defer w.add(Resources{}.minus(r))
		runtime.Gosched()
		return do(ctx, t)
	}
}

func (w *watcher) add(r Resources) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.plus(r)
	w.most = Resources{
		max(w.most.CPU, w.now.CPU), max(w.most.Memory, w.now.Memory), max(w.most.Network, w.now.Network), max(w.most.Accelerator, w.now.Accelerator),
	}
}

// Stages of mixed needs never use more than there is, and all of them come to
// their end.
func TestApply_resources(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		l := newLab(t)
		l.ex.Capacity = Resources{CPU: rapid.IntRange(1, 4).Draw(rt, "cpu"), Memory: 100, Network: 2, Accelerator: 1}
		var watch watcher
		for i := range rapid.IntRange(1, 12).Draw(rt, "stages") {
			needs := Resources{
				CPU: rapid.IntRange(0, 5).Draw(rt, "cpu"), Memory: rapid.Int64Range(0, 120).Draw(rt, "memory"),
				Network: rapid.IntRange(0, 2).Draw(rt, "network"), Accelerator: rapid.IntRange(0, 1).Draw(rt, "accelerator"),
			}
			var from []*Stage
			if i > 0 && rapid.Bool().Draw(rt, "reads") {
				from = l.graph.Stages[i-1 : i]
			}
			taken := needs.atLeastOne().atMost(l.ex.Capacity)
			s := newStage(pureKind, fmt.Sprintf("make[%d]", i), fmt.Sprint(i), watch.during(taken, join("x")), from...)
			s.Needs = needs
			l.graph.Add(s)
		}
		l.done()
		if !watch.most.fits(l.ex.Capacity) || watch.now != (Resources{}) {
			rt.Errorf("used %+v of %+v, %+v at the end", watch.most, l.ex.Capacity, watch.now)
		}
	})
}

// A stage that wants all threads runs although small ones never stop coming.
func TestApply_wholeMachine(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.ex.Capacity = Resources{CPU: 2}
	var mu sync.Mutex
	var order []string
	note := func(_ context.Context, t *Task) error {
		mu.Lock()
		order = append(order, t.Address)
		mu.Unlock()
		return t.Write("out", []byte(t.Address))
	}
	for i := range 2 {
		l.addStep(pureKind, fmt.Sprintf("make[first %d]", i), fmt.Sprint(i), note)
	}
	whole := newStage(pureKind, "make[whole]", "w", note)
	whole.Needs = Resources{CPU: 16}
	l.graph.Add(whole)
	for i := range 30 {
		l.addStep(pureKind, fmt.Sprintf("make[small %d]", i), fmt.Sprint(i)+"s", note)
	}
	l.done()
	if len(order) != 33 || order[2] != "make[whole]" {
		t.Errorf("the order was %q", order)
	}
}
