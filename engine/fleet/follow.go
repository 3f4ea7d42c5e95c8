package fleet

import (
	"context"
	"errors"
	"time"

	"raglab/cache"
	"raglab/engine"
)

// follower is one apply: it follows a run and keeps what came of it. One goroutine owns
// it.
type follower struct {
	*Executor
	ctx  context.Context // of the apply
	plan *engine.Plan
	out  *engine.Outcomes
	run  RunID

	stages map[cache.Key]int // by plan key
	how    []engine.Completion
	began  map[int]cache.Key     // what is at work: the content keys by stage
	again  map[int]engine.Reason // why stages are made again that had a result
	ran    map[cache.Key]bool    // content keys that stages of this run made
	roots  map[int]*engine.Stage // of blocked stages

	started time.Time
	held    bool // by somebody else
	leaving bool // ctx has ended
}

func (x *Executor) newFollower(ctx context.Context, plan *engine.Plan) *follower {
	f := &follower{
		Executor: x, ctx: ctx, plan: plan, out: engine.NewOutcomes(plan), started: x.Now(),
		stages: make(map[cache.Key]int, len(plan.Stages)), how: make([]engine.Completion, len(plan.Stages)),
		began: map[int]cache.Key{}, again: map[int]engine.Reason{}, ran: map[cache.Key]bool{}, roots: map[int]*engine.Stage{},
	}
	f.out.PaidUSD = x.PaidUSD
	for i := range plan.Stages {
		if plan.Stages[i].Outcome != "" {
			f.stages[plan.Stages[i].Stage.PlanKey()] = i
		}
	}
	return f
}

// Following is interrupted with these causes.
var (
	errBudget = errors.New("the budget of time has ended")
	errLeft   = errors.New("the run does not end")
)

// endsWithin bounds how long a run that was held may take to end, and lostAfter how long
// a queue may be out of reach before following is given up.
const (
	endsWithin = 20 * time.Second
	lostAfter  = 5 * time.Minute
)

// follow takes the run's notices until it has ended or is left.
func (f *follower) follow() error {
	ctx, stop := f.watched()
	defer func() { stop() }()
	var at Cursor
	var failing retry
	for {
		news, err := f.Queue.Follow(ctx, f.run, at)
		switch {
		case ctx.Err() != nil:
			stop()
			var on bool
			if ctx, stop, on = f.interrupted(context.Cause(ctx)); !on {
				f.interruptAll()
				return nil
			}
			continue
		case err != nil:
			f.Log.Warn("follow run", "run", f.run, "error", err)
			if !failing.again(ctx, f.Now(), lostAfter) && ctx.Err() == nil {
				return err
			}
			continue
		}
		failing = retry{}
		for _, n := range news.Notices {
			f.take(n)
		}
		at, f.held = news.Cursor, f.held || news.Held
		if news.Ended {
			if f.leaving {
				f.interruptAll()
			}
			return nil
		}
	}
}

// watched is the context of following: it ends with the apply's, and when the budget of
// time does.
func (f *follower) watched() (context.Context, func()) {
	if f.Budget <= 0 {
		return f.ctx, func() {}
	}
	return timeout(f.ctx, f.Budget-f.Now().Sub(f.started), errBudget)
}

// timeout is a context that ends with a cause after a time.
func timeout(ctx context.Context, d time.Duration, cause error) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(d, func() { cancel(cause) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// interrupted decides what becomes of the run when following it ended with a cause, and
// returns the context in which it is followed on, if it is.
func (f *follower) interrupted(cause error) (context.Context, func(), bool) {
	switch {
	case f.leaving:
		f.Log.Warn("run does not end", "run", f.run, "cause", cause)
		return nil, func() {}, false
	case f.ctx.Err() == nil:
		f.overBudget("seconds")
		return f.ctx, func() {}, true
	}
	f.leaving = true
	if f.Detach {
		clear(f.began) // they go on
		return nil, func() {}, false
	}
	f.hold(true)
	ctx, stop := timeout(context.WithoutCancel(f.ctx), endsWithin, errLeft)
	return ctx, stop, true
}

// hold begins nothing more of the run.
func (f *follower) hold(stop bool) {
	ctx, cancel := timeout(context.WithoutCancel(f.ctx), endsWithin, errLeft)
	defer cancel()
	if err := f.Queue.Hold(ctx, f.run, stop); err != nil {
		f.Log.Warn("hold run", "run", f.run, "error", err)
	}
}

// overBudget begins nothing more, for want of what the budget bounds. What runs comes to
// its end.
func (f *follower) overBudget(what string) {
	if f.out.OverBudget == "" {
		f.out.OverBudget = what
		f.hold(false)
	}
}

// interruptAll ends the stages that were at work when the apply was told to stop.
func (f *follower) interruptAll() {
	for i := range f.plan.Stages {
		if key, runs := f.began[i]; runs {
			f.interrupt(i, key, f.Now())
		}
	}
}

// outcomes sums up.
func (f *follower) outcomes() *engine.Outcomes {
	left := f.out.Sum(f.how)
	mine := f.out.OverBudget != "" || f.FailFast && len(f.out.Failures) > 0
	gone, held := f.ctx.Err() != nil, f.held && !mine && !f.storeFailed()
	f.out.Interrupted = left && (gone || held)
	f.out.Held = left && held
	f.out.Detached = left && gone && !held && f.Detach && f.run != 0
	if !left {
		f.out.OverBudget = ""
	}
	return f.out
}

// storeFailed reports whether a failure of the store ended the run.
func (f *follower) storeFailed() bool {
	for _, failed := range f.out.Failures {
		var store *engine.StoreError
		if errors.As(failed.Err, &store) {
			return true
		}
	}
	return false
}

// retry spaces attempts at something that fails.
type retry struct {
	since time.Time
	pause time.Duration
}

// The pauses of a retry: they double from the first to the last.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 5 * time.Second
)

// again waits before the next attempt; false when it has failed for all the time there
// is, or ctx has ended.
func (r *retry) again(ctx context.Context, now time.Time, limit time.Duration) bool {
	if r.since.IsZero() {
		r.since, r.pause = now, firstPause
	}
	if limit > 0 && now.Sub(r.since) > limit {
		return false
	}
	pause(ctx, r.pause)
	r.pause = min(2*r.pause, lastPause)
	return ctx.Err() == nil
}

// pause waits.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
