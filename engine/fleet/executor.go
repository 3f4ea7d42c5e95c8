package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
	"raglab/engine"
)

// Executor is the [engine.Executor] on many machines: it hands plans to a queue and
// follows what workers make of them. Its fields must not change while Apply runs. What
// it tells has the meaning, the order for each stage and the words of
// [engine.Local]'s events.
type Executor struct {
	Queue Queue
	// Bundle stores what a worker builds the plan's graph from where workers find it.
	Bundle func(context.Context, *engine.Plan) (cache.Digest, error)
	// Push uploads results that only this machine has; nil when all read one store.
	Push Pusher
	// Experiment names what is applied; By says whose it is, for people.
	Experiment, By string
	// Planned is when the plan looked at the store; zero is when Apply begins.
	Planned time.Time
	// FailFast begins nothing more after the first failure.
	FailFast bool
	// Attempts bounds how often a stage that fails in a way that may pass is run, Deaths
	// how many workers may die of it; 0 means [engine.DefaultAttempts], and 10.
	Attempts, Deaths int
	// Limits are how many stages that name a limit may run at a time, over all workers;
	// LimitsOf names those of a stage, nil none.
	Limits   map[string]int
	LimitsOf func(*engine.Stage) []string
	// Budget, BudgetUSD and PaidUSD are as in [engine.Local].
	Budget             time.Duration
	BudgetUSD, PaidUSD float64
	// Verify is not supported: a share above 0 is an error.
	Verify float64
	// Detach leaves the run at work when ctx ends; otherwise it is held and its stages
	// are stopped.
	Detach bool
	// Submitted, when set, is told which run is followed.
	Submitted func(RunID)
	// Now is the clock.
	Now func() time.Time
	// Log is for developers; required.
	Log hclog.Logger
	// Events is told what happens, one event at a time.
	Events func(engine.Event)
}

var _ engine.Executor = (*Executor)(nil)

// ErrVerify says that results cannot be verified on a queue.
var ErrVerify = errors.New("results are verified on one machine only: apply without a queue to verify")

// Apply submits what the plan says, or attaches to a run that does the same, and
// follows it to its end. When ctx ends it goes away from a run that stays at work
// (Detach), or holds it. A plan with nothing to do asks no queue.
func (x *Executor) Apply(ctx context.Context, plan *engine.Plan) (*engine.Outcomes, error) {
	if x.Verify > 0 {
		return nil, ErrVerify
	}
	f := x.newFollower(ctx, plan)
	if !plan.Changes() {
		return f.outcomes(), nil
	}
	if x.BudgetUSD > 0 && x.PaidUSD >= x.BudgetUSD {
		f.out.OverBudget = "usd"
		return f.outcomes(), nil
	}
	if err := f.submit(); err != nil {
		if ctx.Err() != nil {
			return f.outcomes(), nil
		}
		return nil, err
	}
	if err := f.follow(); err != nil {
		return nil, fmt.Errorf("follow run %d, which goes on: %w", f.run, err)
	}
	return f.outcomes(), nil
}

// submit brings all to the queue that the plan's stages need.
func (f *follower) submit() error {
	bundle, err := f.Bundle(f.ctx, f.plan)
	if err != nil {
		return fmt.Errorf("store the stages' description: %w", err)
	}
	if err := f.push(f.ctx, f.plan); err != nil {
		return err
	}
	if f.run, err = f.Queue.Submit(f.ctx, f.submission(f.plan, bundle)); err != nil {
		return fmt.Errorf("submit the plan: %w", err)
	}
	if f.Submitted != nil {
		f.Submitted(f.run)
	}
	return nil
}
