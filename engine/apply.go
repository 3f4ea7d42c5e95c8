package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
)

// Store is what an apply needs of the cache.
type Store interface {
	cache.Store
	Acquire(ctx context.Context, k cache.Key, req cache.LeaseRequest) (*cache.Lease, error)
}

// Executor brings about what a plan says, somewhere: [Local] in this process, package
// fleet on many machines. No stage knows which.
type Executor interface {
	// Apply runs what the plan says is to run. When ctx ends, no further stage is
	// begun. The error is for what keeps the apply itself from going on; what
	// happened to stages is in the outcomes.
	Apply(ctx context.Context, plan *Plan) (*Outcomes, error)
}

// Local is the [Executor] in this process. Its fields must not change while Apply
// runs; one executor may run one plan after another.
type Local struct {
	Store Store
	// Capacity is what stages may use together; at least one thread.
	Capacity Resources
	// Limits bound, by name, how many stages that name a limit run at a time. One that
	// is not here bounds nothing.
	Limits map[string]int
	// Now is the clock.
	Now func() time.Time
	// Log is for developers; required.
	Log hclog.Logger
	// Events is told what happens, one event at a time.
	Events func(Event)
	// FailFast stops scheduling at the first failure.
	FailFast bool
	// Attempts bounds how often a stage that fails in a way that may pass is
	// run; 0 means 4.
	Attempts int
	// Backoff is how long to wait before an attempt, from 2; nil doubles from
	// half a second with jitter.
	Backoff func(attempt int) time.Duration
	// LockTimeout bounds how long to wait for a result that another process is
	// making, from when it was first found locked; 0 waits for ever.
	LockTimeout time.Duration
	// Poll is how often a locked key is looked at again; 0 means 100 ms.
	Poll time.Duration
	// Budget ends scheduling when that much time has passed; 0 means no end.
	Budget time.Duration
	// BudgetUSD ends scheduling when the runs have been billed for that much, those
	// before this apply that PaidUSD counts included; 0 means no end. What is running
	// then comes to its end.
	BudgetUSD, PaidUSD float64
	// Verify is the share of cached results to make again and compare, 0 to 1.
	// Those of stages with a residence are left out: making one again would
	// touch what others search, and whether it is there the plan has asked.
	Verify float64
	// Provenance is stored with each result: host, version, command.
	Provenance map[string]string
}

// StageState is where a stage stands when an apply ends.
type StageState string

// The states.
const (
	StateDone        StageState = "done"
	StateFailed      StageState = "failed"
	StateBlocked     StageState = "blocked"
	StateInterrupted StageState = "interrupted" // told to stop while it ran
	StateQueued      StageState = "queued"      // never begun
)

// Failure is a stage that failed, with its cause.
type Failure struct {
	Stage *Stage
	Err   error
}

// Outcomes is what came of an apply. Slices are indexed as the graph's stages.
type Outcomes struct {
	State   []StageState
	Keys    []cache.Key
	Outputs [][]cache.Blob
	Wall    []time.Duration // of runs in this apply

	Executed, Cached, Hits, Shared, Verified int
	// Failures are the root causes, in the order of the graph. Stages that share
	// the key of one that failed, and what needs any of them, are blocked.
	Failures  []Failure
	Different []Failure // verification found another result
	// Interrupted says that the context ended before the work, or that somebody else
	// ended it.
	Interrupted bool
	// Detached and Held tell more of an interrupted apply on many machines: that its run
	// goes on without it, and that somebody else ended the run.
	Detached, Held bool
	// OverBudget is "seconds" or "usd" when that budget ended before the work, else
	// empty.
	OverBudget string
	// PaidUSD is what runs were billed for so far, failed ones included.
	PaidUSD float64

	unkept []*Stage // done, but not to be found by the next apply
}

// NewOutcomes returns those of an apply of the plan that has not begun: what the plan
// found is done.
func NewOutcomes(p *Plan) *Outcomes {
	n := len(p.Stages)
	out := &Outcomes{
		State: make([]StageState, n), Keys: make([]cache.Key, n),
		Outputs: make([][]cache.Blob, n), Wall: make([]time.Duration, n),
	}
	for i := range p.Stages {
		switch s := &p.Stages[i]; s.Outcome {
		case "":
		case Cached:
			out.State[i], out.Keys[i], out.Outputs[i] = StateDone, s.Key, s.Outputs
		default:
			out.State[i] = StateQueued
		}
	}
	return out
}

// Unkeep says of stages that are done that the next apply is not to find their result.
func (o *Outcomes) Unkeep(stages ...*Stage) { o.unkept = append(o.unkept, stages...) }

// Err is the first failure, or nil.
func (o *Outcomes) Err() error {
	if len(o.Failures) == 0 {
		return nil
	}
	return o.Failures[0].Err
}

// Output is an output of a stage that is done.
func (o *Outcomes) Output(s *Stage, name string) (cache.Blob, bool) {
	return findOutput(o.Outputs[s.index], name)
}

// ErrStopped is the cause with which an apply is told to stop scheduling.
var ErrStopped = errors.New("stopped")

// Apply brings about what the plan says. When ctx ends, no further stage is
// begun and those that run are told to stop; what they had finished stays in
// the cache. The error is for what keeps the apply itself from going on; what
// happened to stages is in the outcomes.
func (e *Local) Apply(ctx context.Context, plan *Plan) (*Outcomes, error) {
	if !(e.Verify >= 0 && e.Verify <= 1) {
		return nil, fmt.Errorf("apply: a share of %v of the results cannot be verified", e.Verify)
	}
	r := newRunner(ctx, e, plan)
	r.run()
	return r.out, nil
}

// Sum counts how the stages that are done came to their results (empty for those the
// plan found), brings what ended in some order or other into the graph's, and reports
// whether something was left undone for want of time. It is called once, at the end.
func (o *Outcomes) Sum(how []Completion) (left bool) {
	for i, state := range o.State {
		left = left || state == StateQueued || state == StateInterrupted
		if state != StateDone {
			continue
		}
		switch how[i] {
		case "":
			o.Cached++
		case Executed:
			o.Executed++
		case Shared:
			o.Shared++
		default:
			o.Hits++
		}
	}
	inOrder := func(a, b Failure) int { return a.Stage.index - b.Stage.index }
	slices.SortStableFunc(o.Failures, inOrder)
	slices.SortStableFunc(o.Different, inOrder)
	return left
}
