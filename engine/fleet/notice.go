package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"raglab/cache"
	"raglab/engine"
)

// take tells of a notice and settles what it says.
func (f *follower) take(n Notice) {
	i, ok := f.stages[n.Node]
	if !ok || f.stale(i, n) {
		return
	}
	switch n.Type {
	case engine.EventStart:
		f.start(i, n)
	case engine.EventComplete:
		f.complete(i, n)
	case engine.EventRetry:
		f.retry(i, n)
	case engine.EventErrored:
		f.errored(i, n)
	case engine.EventBlocked:
		f.blocked(i, n)
	case engine.EventProgress, engine.EventWarning, engine.EventWaiting:
		e := f.event(i, n)
		e.Done, e.Total, e.Unit, e.Message = n.Done, n.Total, n.Unit, n.Message
		f.Events(e)
	}
}

// stale reports whether a notice tells of what was before the plan: of a stage whose
// result the plan found, in a run that is older than the plan. A stage whose result was
// lost since is made again for that.
func (f *follower) stale(i int, n Notice) bool {
	if f.plan.Stages[i].Outcome != engine.Cached {
		return false
	}
	if _, again := f.again[i]; again {
		return false
	}
	switch {
	case n.Type == engine.EventErrored, n.Type == engine.EventBlocked:
		return false
	case n.Type == engine.EventComplete && n.Completion == engine.Elsewhere:
		return false
	}
	return !remade(n.Reason)
}

// remade reports whether a reason is one for which a result that was there is made
// again.
func remade(r engine.Reason) bool {
	switch r.Kind {
	case engine.ReasonOutputMissing, engine.ReasonCorrupt, engine.ReasonDerived:
		return true
	}
	return false
}

// event is what all events of a stage tell.
func (f *follower) event(i int, n Notice) engine.Event {
	at := n.Time
	if at.IsZero() {
		at = f.Now()
	}
	return engine.Event{Type: n.Type, Time: at, Stage: f.plan.Stages[i].Stage, Key: n.Key, Where: n.Worker}
}

// reason is why a stage runs: as planned, unless its result was lost since.
func (f *follower) reason(i int) engine.Reason {
	if why, again := f.again[i]; again {
		return why
	}
	return f.plan.Stages[i].Reason
}

// outdated notes that a stage that was done is made again.
func (f *follower) outdated(i int, n Notice) {
	if f.out.State[i] == engine.StateDone && remade(n.Reason) {
		f.again[i], f.out.State[i] = n.Reason, engine.StateQueued
	}
}

func (f *follower) start(i int, n Notice) {
	f.outdated(i, n)
	f.began[i] = n.Key
	e := f.event(i, n)
	e.Reason, e.Attempt = f.reason(i), n.Attempt
	f.Events(e)
}

func (f *follower) complete(i int, n Notice) {
	f.outdated(i, n)
	delete(f.began, i)
	if f.out.State[i] == engine.StateDone && slices.Equal(f.out.Outputs[i], n.Outputs) {
		return // known
	}
	e := f.event(i, n)
	e.Completion, e.Reason, e.Bytes = f.completion(n), f.reason(i), size(n.Outputs)
	if e.Completion == engine.Executed {
		e.Wall, e.CPU, e.Attempt = n.Wall, n.CPU, n.Attempt
		f.ran[n.Key] = true
		f.out.Wall[i] = n.Wall
	}
	f.Events(e)
	if n.Unkept {
		f.out.Unkeep(f.plan.Stages[i].Stage)
	}
	f.out.State[i], f.out.Keys[i], f.out.Outputs[i], f.how[i] = engine.StateDone, n.Key, n.Outputs, e.Completion
	f.pay(n)
}

// completion is how a stage came to its result, as the run sees it: a worker that finds
// one cannot know that another stage of the run made it.
func (f *follower) completion(n Notice) engine.Completion {
	if n.Completion != engine.Executed && f.ran[n.Key] {
		return engine.Shared
	}
	return n.Completion
}

func (f *follower) retry(i int, n Notice) {
	delete(f.began, i)
	e := f.event(i, n)
	e.Attempt, e.Err = n.Attempt, engine.Transient(errorOf(n))
	var after time.Duration // a worker that died needs no pause
	if n.Failure != nil {
		after = n.Failure.After
	}
	e.Message = fmt.Sprintf("again in %s", after.Round(time.Millisecond))
	f.Events(e)
	f.pay(n)
}

func (f *follower) errored(i int, n Notice) {
	if n.State == engine.StateInterrupted {
		// One that waited for its turn had not begun.
		if key, runs := f.began[i]; runs {
			f.interrupt(i, key, f.event(i, n).Time)
		}
		return
	}
	key := f.began[i]
	delete(f.began, i)
	if f.out.State[i] == engine.StateFailed {
		return
	}
	err := errorOf(n)
	e := f.event(i, n)
	if e.Key.IsZero() {
		e.Key = key
	}
	e.State, e.Err = engine.StateFailed, err
	f.Events(e)
	f.out.State[i] = engine.StateFailed
	f.out.Failures = append(f.out.Failures, engine.Failure{Stage: e.Stage, Err: err})
	f.pay(n)
}

// interrupt ends a stage that was told to stop. It has not failed.
func (f *follower) interrupt(i int, key cache.Key, at time.Time) {
	if f.out.State[i] == engine.StateInterrupted {
		return
	}
	delete(f.began, i)
	err := ErrHeld
	if f.ctx.Err() != nil {
		err = context.Cause(f.ctx)
	}
	f.out.State[i] = engine.StateInterrupted
	f.Events(engine.Event{
		Type: engine.EventErrored, Time: at, Stage: f.plan.Stages[i].Stage, Key: key, State: engine.StateInterrupted, Err: err,
	})
}

// blocked ends a stage because of another. The address of that one may be another in
// the experiment that submitted it first.
func (f *follower) blocked(i int, n Notice) {
	if f.out.State[i] == engine.StateBlocked {
		return
	}
	s := f.plan.Stages[i].Stage
	f.out.State[i] = engine.StateBlocked
	e := f.event(i, n)
	e.Message = n.Message
	if root := f.root(s); root != nil {
		f.roots[i], e.Message = root, root.Address
	}
	f.Events(e)
}

// root is the stage because of whose failure one has no result.
func (f *follower) root(s *engine.Stage) *engine.Stage {
	for _, in := range s.Inputs {
		switch at := in.From.Index(); f.out.State[at] {
		case engine.StateFailed:
			return in.From
		case engine.StateBlocked:
			if root := f.roots[at]; root != nil {
				return root
			}
		}
	}
	return nil
}

// pay counts what a run was billed for.
func (f *follower) pay(n Notice) {
	usd := n.PaidUSD
	if usd == 0 && n.Failure != nil {
		usd = n.Failure.PaidUSD
	}
	if n.Type == engine.EventComplete && n.Completion != engine.Executed {
		usd = 0 // another run's
	}
	f.out.PaidUSD += usd
	if f.BudgetUSD > 0 && f.out.PaidUSD >= f.BudgetUSD {
		f.overBudget("usd")
	}
}

func size(blobs []cache.Blob) int64 {
	var n int64
	for _, b := range blobs {
		n += b.Size
	}
	return n
}
