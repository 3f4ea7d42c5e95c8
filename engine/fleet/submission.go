package fleet

import (
	"context"
	"crypto/sha256"
	"fmt"

	"raglab/cache"
	"raglab/engine"
)

// defaultDeaths is how many workers may be lost that worked on a stage before it is
// taken for the cause. It is more than attempts: machines that are lent come and go.
const defaultDeaths = 10

// ClassOf is the class in which a stage waits for a worker: what it needs before all
// else.
func ClassOf(r engine.Resources) Class {
	switch {
	case r.Accelerator > 0:
		return Accelerator
	case r.CPU == 0 && r.Network > 0:
		return Network
	}
	return CPU
}

// submission is a plan as the queue takes it: all that the plan wants, in the graph's
// order.
func (x *Executor) submission(plan *engine.Plan, bundle cache.Digest) Submission {
	s := Submission{
		Experiment: x.Experiment, Graph: graphOf(plan), Bundle: bundle, By: x.By, Planned: x.Planned,
		FailFast: x.FailFast, Attempts: x.Attempts, Deaths: x.Deaths, Limits: x.Limits,
		Nodes: make([]Node, 0, len(plan.Stages)),
	}
	if s.Planned.IsZero() {
		s.Planned = x.Now()
	}
	if s.Attempts == 0 {
		s.Attempts = engine.DefaultAttempts
	}
	if s.Deaths == 0 {
		s.Deaths = defaultDeaths
	}
	priorities := Priorities(plan)
	for i := range plan.Stages {
		if ps := &plan.Stages[i]; ps.Outcome != "" {
			s.Nodes = append(s.Nodes, x.node(ps, priorities[i]))
		}
	}
	return s
}

func (x *Executor) node(ps *engine.PlannedStage, priority int) Node {
	s := ps.Stage
	n := Node{
		Key: s.PlanKey(), Address: s.Address, Kind: s.Kind.Name, Version: s.Kind.Version,
		Class: ClassOf(s.Needs), Priority: priority, Reason: ps.Reason,
		Single: s.Residence != nil || s.Billed,
	}
	if x.LimitsOf != nil {
		n.Limits = x.LimitsOf(s)
	}
	n.Needs = needsOf(s)
	if ps.Outcome == engine.Cached {
		n.Made = &engine.Made{Key: ps.Key, Outputs: ps.Outputs}
	}
	return n
}

// needsOf are the plan keys of the stages that a stage reads, each once.
func needsOf(s *engine.Stage) []cache.Key {
	needs := make([]cache.Key, 0, len(s.Inputs))
	seen := make(map[*engine.Stage]struct{}, len(s.Inputs))
	for _, in := range s.Inputs {
		if _, again := seen[in.From]; !again {
			seen[in.From] = struct{}{}
			needs = append(needs, in.From.PlanKey())
		}
	}
	return needs
}

// graphOf names what a plan wants and which of it is forced. What was found in the cache
// is no part of it: who comes back later has more of that, and means the same run.
func graphOf(plan *engine.Plan) cache.Digest {
	h := sha256.New()
	for i := range plan.Stages {
		ps := &plan.Stages[i]
		if ps.Outcome == "" {
			continue
		}
		key := ps.Stage.PlanKey()
		h.Write(key[:])
		if ps.Reason.Kind == engine.ReasonForced {
			h.Write([]byte("forced"))
		}
	}
	return cache.Digest(h.Sum(nil))
}

// push uploads the results that stages which are to run will read, and that only this
// machine may have.
func (x *Executor) push(ctx context.Context, plan *engine.Plan) error {
	if x.Push == nil {
		return nil
	}
	var keys []cache.Key
	seen := map[cache.Key]bool{}
	for i := range plan.Stages {
		if o := plan.Stages[i].Outcome; o == "" || o == engine.Cached {
			continue
		}
		for _, in := range plan.Stages[i].Stage.Inputs {
			from := &plan.Stages[in.From.Index()]
			if from.Outcome == engine.Cached && !seen[from.Key] {
				seen[from.Key] = true
				keys = append(keys, from.Key)
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	if err := x.Push.Push(ctx, keys...); err != nil {
		return fmt.Errorf("upload results that the stages need: %w", err)
	}
	return nil
}
