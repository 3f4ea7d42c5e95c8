package engine

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// chaoticStage adds a stage that may do any of what stages do.
func chaoticStage(t *rapid.T, l *lab, i int) {
	var from []*Stage
	if n := len(l.graph.Stages); n > 0 {
		for _, at := range rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, min(n, 3), rapid.ID).Draw(t, "inputs") {
			from = append(from, l.graph.Stages[at])
		}
	}
	text := fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "text"))
	do := join(text)
	var check func() error
	switch way := rapid.SampledFrom([]string{"join", "join", "join", "constant", "constant", "fails", "panics", "flaky", "unkept"}).Draw(t, "way"); way {
	case "constant":
		do = constant
		text = "constant"
	case "fails":
		text, do = text+way, fails
	case "panics":
		text, do = text+way, func(context.Context, *Task) error { panic("oh") }
	case "flaky":
		text, do = text+way, flaky(2, do)
	case "unkept":
		text, check = text+way, func() error { return errBad }
	}
	s := newStage(rapid.SampledFrom([]*Kind{pureKind, cheapKind, volatileKind}).Draw(t, "kind"), fmt.Sprintf("x[%d]", i), text, do, from...)
	s.Check = check
	s.Needs = Resources{CPU: rapid.IntRange(0, 3).Draw(t, "cpu"), Network: rapid.IntRange(0, 1).Draw(t, "network")}
	if rapid.IntRange(0, 20).Draw(t, "blocked") == 0 {
		s.Blocked = "no model"
	}
	l.graph.Add(s)
}

// Whatever stages do and whatever is lost meanwhile, an apply ends, and each
// stage in a state that fits those of its inputs.
func TestApply_chaos(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		l := newLab(t)
		l.ex.Capacity = Resources{CPU: rapid.IntRange(1, 3).Draw(rt, "threads"), Network: 1}
		for i := range rapid.IntRange(1, 15).Draw(rt, "stages") {
			chaoticStage(rt, l, i)
		}
		for range 2 {
			p := l.planner()
			p.Force = func(s *Stage) bool { return s.planKey[0] < 16 }
			plan, err := p.Plan(t.Context(), l.graph, nil)
			if err != nil {
				rt.Fatal(err)
			}
			for _, path := range entries(t, l.store.Dir()) {
				if rapid.IntRange(0, 4).Draw(rt, "lost") == 0 {
					remove(t, path)
				}
			}
			l.ex.Verify = rapid.SampledFrom([]float64{0, 0.5}).Draw(rt, "verify")
			consistent(rt, l, l.applyPlan(t.Context(), plan))
		}
	})
}

func consistent(t *rapid.T, l *lab, out *Outcomes) {
	failed := map[*Stage]int{}
	for _, f := range out.Failures {
		failed[f.Stage]++
	}
	keys := map[string]bool{}
	for s := range failed {
		keys[s.Fields[0].Value.(string)] = true
	}
	for i, s := range l.graph.Stages {
		complete := true
		for _, in := range s.Inputs {
			complete = complete && out.State[in.From.index] == StateDone
		}
		ok := false
		switch out.State[i] {
		case StateDone:
			ok = complete && failed[s] == 0 && !out.Keys[i].IsZero()
		case StateFailed:
			ok = failed[s] == 1
		case StateBlocked:
			// Or it shares the key of one that failed.
			ok = failed[s] == 0 && (!complete || keys[s.Fields[0].Value.(string)])
		}
		if !ok {
			t.Errorf("%s is %s, its inputs done %v, failures %d", s.Address, out.State[i], complete, failed[s])
		}
	}
	if n := out.Executed + out.Cached + out.Hits + out.Shared; n != countOf(out, StateDone) {
		t.Errorf("%d results, %d stages done", n, countOf(out, StateDone))
	}
}

func countOf(out *Outcomes, state StageState) int {
	n := 0
	for _, s := range out.State {
		if s == state {
			n++
		}
	}
	return n
}
