package engine

import (
	"time"

	"raglab/cache"
)

// Outcome is what an apply will do with a stage.
type Outcome string

// The outcomes of a plan.
const (
	Cached  Outcome = "cached"  // the result is there
	WillRun Outcome = "run"     // it will be made
	Maybe   Outcome = "maybe"   // an input is made again and may come out equal
	Blocked Outcome = "blocked" // it cannot run, or what it needs cannot
)

// PlannedStage is the plan for one stage.
type PlannedStage struct {
	Stage   *Stage
	Outcome Outcome
	Reason  Reason
	// Key is the content key, zero while an input is unknown.
	Key cache.Key
	// Note says what blocks the stage.
	Note string
	// Forecast is nil where the kind makes none or an input is unknown.
	Forecast *Forecast
	// Outputs are known for cached stages and for those that a plan ran in
	// memory.
	Outputs []cache.Blob
	// Err is why a stage that the plan ran in memory failed.
	Err error
	// Estimate is from earlier measurements; 0 when there are none.
	Estimate time.Duration

	// volatile is the stage upstream, or this one, that will run and may come
	// out different each time.
	volatile *Stage
	// root is the stage that blocks this one.
	root *Stage
}

// Plan says for each stage of a graph what an apply will do.
type Plan struct {
	Graph *Graph
	// Stages is indexed as the graph's. A stage that is not wanted has no
	// outcome.
	Stages []PlannedStage
	// Partial is true when the plan leaves stages of the graph out.
	Partial bool
	// Simulated counts the stages that were run in memory.
	Simulated int
	// Notes are sentences that a reader of the plan must know, such as that
	// tables were not looked at.
	Notes []string
}

// Count is the number of stages with an outcome.
func (p *Plan) Count(o Outcome) int {
	n := 0
	for i := range p.Stages {
		if p.Stages[i].Outcome == o {
			n++
		}
	}
	return n
}

// Changes reports whether an apply would do anything.
func (p *Plan) Changes() bool { return p.Count(WillRun)+p.Count(Maybe)+p.Count(Blocked) > 0 }

// Estimate sums what is known of the time that stages to run took earlier, and
// counts those of which nothing is known.
func (p *Plan) Estimate() (total time.Duration, unknown int) {
	for i := range p.Stages {
		s := &p.Stages[i]
		if s.Outcome != WillRun && s.Outcome != Maybe {
			continue
		}
		if s.Estimate == 0 {
			unknown++
		}
		total += s.Estimate
	}
	return total, unknown
}
