package engine

import (
	"time"

	"raglab/cache"
)

// Known returns the outcomes of an apply that would run nothing: the stages whose
// results are there are done, and the others were never begun.
func (p *Plan) Known() *Outcomes {
	n := len(p.Stages)
	out := &Outcomes{State: make([]StageState, n), Keys: make([]cache.Key, n), Outputs: make([][]cache.Blob, n), Wall: make([]time.Duration, n)}
	for i := range p.Stages {
		s := &p.Stages[i]
		out.State[i] = StateQueued
		if s.Outcome == Cached {
			out.State[i], out.Keys[i], out.Outputs[i] = StateDone, s.Key, s.Outputs
			out.Cached++
		}
	}
	return out
}
