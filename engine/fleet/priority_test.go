package fleet

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"raglab/engine"
)

var priorityKind = &engine.Kind{Name: "make", Version: "1", Outputs: []string{"out"}, Run: func(context.Context, *engine.Task) error { return nil }}

// planned adds a stage to a plan that has its graph.
func planned(p *engine.Plan, outcome engine.Outcome, takes time.Duration, from ...*engine.Stage) *engine.Stage {
	name := fmt.Sprint(len(p.Stages))
	s := &engine.Stage{Address: name, Kind: priorityKind, Fields: []engine.Field{{Class: engine.Params, Path: "name", Value: name}}}
	for _, f := range from {
		s.Inputs = append(s.Inputs, engine.Input{Name: "in" + f.Address, From: f, Output: "out"})
	}
	p.Graph.Add(s)
	p.Stages = append(p.Stages, engine.PlannedStage{Stage: s, Outcome: outcome, Estimate: takes})
	return s
}

func TestPriorities(t *testing.T) {
	t.Parallel()
	p := &engine.Plan{Graph: engine.NewGraph()}
	var last *engine.Stage
	for range 10 { // a chain
		if last == nil {
			last = planned(p, engine.WillRun, time.Minute)
			continue
		}
		last = planned(p, engine.WillRun, time.Minute, last)
	}
	if got, want := Priorities(p), []int{1, 2, 2, 2, 3, 3, 3, 4, 4, 4}; !slices.Equal(got, want) {
		t.Errorf("a chain has the priorities %v, want %v", got, want)
	}
	// What is cached takes no time, and what is not wanted is last.
	p.Stages[3].Outcome, p.Stages[9].Outcome = engine.Cached, ""
	if got := Priorities(p); got[0] != 1 || got[8] != 4 || got[9] != 4 {
		t.Errorf("priorities %v", got)
	}
	if got := Priorities(&engine.Plan{Graph: engine.NewGraph()}); len(got) != 0 {
		t.Errorf("nothing has the priorities %v", got)
	}
}

// A stage of which nothing is known counts as much as the mean of the others.
func TestPriorities_unknownEstimates(t *testing.T) {
	t.Parallel()
	p := &engine.Plan{Graph: engine.NewGraph()}
	long := planned(p, engine.WillRun, time.Hour)
	unknown := planned(p, engine.WillRun, 0)
	short := planned(p, engine.WillRun, time.Second)
	got := Priorities(p)
	if !(got[long.Index()] < got[unknown.Index()] && got[unknown.Index()] < got[short.Index()]) {
		t.Errorf("priorities %v", got)
	}
}

// A stage is never less urgent than what reads it, and a tenth of them is most urgent.
func TestPriorities_order(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := &engine.Plan{Graph: engine.NewGraph()}
		for i := range rapid.IntRange(1, 60).Draw(t, "stages") {
			var from []*engine.Stage
			if i > 0 {
				for _, j := range rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 0, min(3, i), rapid.ID[int]).Draw(t, "inputs") {
					from = append(from, p.Graph.Stages[j])
				}
			}
			outcome := rapid.SampledFrom([]engine.Outcome{engine.WillRun, engine.Maybe, engine.Cached}).Draw(t, "outcome")
			planned(p, outcome, time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "estimate")), from...)
		}
		got := Priorities(p)
		for i, s := range p.Stages {
			if got[i] < 1 || got[i] > 4 {
				t.Fatalf("priority %d", got[i])
			}
			for _, in := range s.Stage.Inputs {
				if from := in.From.Index(); got[from] > got[i] {
					t.Fatalf("stage %d has the priority %d, and %d, which it reads, %d", i, got[i], from, got[from])
				}
			}
		}
		toRun := p.Count(engine.WillRun) + p.Count(engine.Maybe)
		if first := slices.Index(got, 1); toRun > 0 && first < 0 {
			t.Fatalf("none of %d stages is most urgent: %v", toRun, got)
		}
	})
}
