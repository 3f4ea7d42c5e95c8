package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"raglab/cache"
	"raglab/engine"
)

// End is how a claim ended. One of Result, Failure and Returned is set, or none for one
// whose inputs are lost.
type End struct {
	Claim   *Claim
	Result  *Result
	Failure *Failure
	// Returned is why it was given back, if that is worth a word.
	Returned string
}

// ending is an end that the queue is still to be told of; without tell, the claim is lost.
type ending struct {
	End
	tell func(context.Context) error
}

// handle makes a claimed stage, or gives it back.
func (s *shift) handle(c *Claim, h *hand, weighed func()) {
	defer h.add(-1)
	defer weighed()
	ctx, cancel := context.WithCancelCause(s.work)
	defer cancel(nil)
	mine := &held{Claim: c, cancel: cancel, hand: h, weighed: weighed}
	defer s.hold(mine)()
	t := newTeller(s, c)
	end := s.begin(ctx, mine, t)
	t.end()
	if end.tell != nil {
		s.conclude(ctx, c, end)
	}
}

// conclude tells the queue how a claim ended, until it knows or the claim is lost. A
// worker that was told to stop at once tries only for a while.
func (s *shift) conclude(ctx context.Context, c *Claim, end ending) {
	telling, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(s.work, func() {
		time.AfterFunc(endsWithin, func() { stop(context.Cause(s.work)) })
	})()
	var failing retry
	for {
		err := end.tell(telling)
		if err == nil && s.Ended != nil {
			s.Ended(end.End)
		}
		if err == nil || errors.Is(err, ErrClaimLost) || errors.Is(context.Cause(ctx), ErrClaimLost) {
			return
		}
		s.Log.Warn("end a claim", "stage", c.Address, "error", err)
		if !failing.again(telling, s.Local.Now(), 0) {
			return
		}
	}
}

// begin finds the stage of a claim and makes it once its resources are free.
func (s *shift) begin(ctx context.Context, c *held, t *teller) ending {
	starting, stop := either(ctx, s.claiming)
	defer stop()
	project, done, err := s.graphs.open(starting, s.claiming, c.Bundle)
	if err != nil {
		return s.unbegun(ctx, starting, c.Claim, fmt.Sprintf("it cannot build the graph: %v", err))
	}
	defer done()
	stage, ok := project.Find(c.Key)
	if !ok {
		return s.refuse(c.Claim, missing(project, c.Claim))
	}
	more := units(c.hand.class, s.room.Cost(stage.Needs)) - 1
	c.hand.add(more)
	defer c.hand.add(-more)
	c.weighed()
	if p, ok := project.(Preparer); ok {
		if err := p.Prepare(starting, stage); err != nil {
			return s.unbegun(ctx, starting, c.Claim, fmt.Sprintf("it cannot get what the stage reads: %v", err))
		}
	}
	s.prefetch(starting, c.Claim, stage)
	release, err := s.acquire(starting, c, stage.Needs)
	switch {
	case errors.Is(err, errWaited):
		return s.giveBack(c.Claim, "", 0)
	case err != nil:
		return s.unbegun(ctx, starting, c.Claim, err.Error())
	}
	defer release()
	if starting.Err() != nil {
		return s.unbegun(ctx, starting, c.Claim, "")
	}
	return s.run(ctx, c, stage, t)
}

// acquire waits for a stage's resources. When it has lost patience the class rests until
// a stage ends here.
func (s *shift) acquire(ctx context.Context, c *held, needs engine.Resources) (release func(), err error) {
	freed := s.nextFreed()
	if units(c.hand.class, s.room.Cost(needs)) <= 1 {
		var stop func()
		ctx, stop = timeout(ctx, orElse(s.Patience, 5*time.Second), errWaited)
		defer stop()
	}
	release, err = s.room.Acquire(ctx, needs)
	switch {
	case err == nil:
		return s.taken(release), nil
	case errors.Is(err, errWaited):
		c.hand.rest(freed)
	}
	return nil, err
}

// missing says why a project does not have a claimed stage.
func missing(p Project, c *Claim) string {
	if e, ok := p.(Explainer); ok {
		return e.Missing(c.Address, c.Kind, c.Version)
	}
	return fmt.Sprintf("its raglab does not have stage kind %s in version %s", c.Kind, c.Version)
}

// either is a context that ends when one of two does.
func either(ctx, other context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(other, func() { cancel(context.Cause(other)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// unbegun gives back a stage that was not begun: because the worker stops, or else for
// what is wrong with it.
func (s *shift) unbegun(ctx, starting context.Context, c *Claim, why string) ending {
	switch {
	case errors.Is(context.Cause(ctx), ErrClaimLost):
		return ending{}
	case starting.Err() != nil:
		return s.stopped(c)
	}
	return s.refuse(c, why)
}

// stopped gives back a stage because the worker stops.
func (s *shift) stopped(c *Claim) ending {
	return s.giveBack(c, fmt.Sprintf("worker %s has been stopped", s.Name), 0)
}

func (s *shift) giveBack(c *Claim, why string, after time.Duration) ending {
	return ending{End{Claim: c, Returned: why}, func(ctx context.Context) error { return s.Queue.Return(ctx, c, why, after) }}
}

// prefetch brings a stage's inputs here. What does not come is looked for again when it
// is read.
func (s *shift) prefetch(ctx context.Context, c *Claim, stage *engine.Stage) {
	if s.Fetch == nil {
		return
	}
	var digests []cache.Digest
	for _, in := range stage.Inputs {
		for _, b := range c.From[in.From.PlanKey()].Outputs {
			if b.Name == in.Output {
				digests = append(digests, b.Digest)
			}
		}
	}
	if len(digests) == 0 {
		return
	}
	if err := s.Fetch.Fetch(ctx, digests...); err != nil && ctx.Err() == nil {
		s.Log.Debug("prefetch", "stage", c.Address, "error", err)
	}
}

// run makes the stage.
func (s *shift) run(ctx context.Context, mine *held, stage *engine.Stage, t *teller) ending {
	c := mine.Claim
	leases := &leasing{Store: s.Local.Store, leaser: s.Lease}
	if c.Again {
		leases.leaser = nil // somebody else has it: that is why
	}
	local := s.Local
	local.Store, local.Events = leases.store(), t.event
	d, err := local.Make(ctx, engine.Order{
		Stage: stage, Reason: c.Reason, Attempt: c.Attempt,
		From: func(from *engine.Stage) engine.Made { return c.From[from.PlanKey()] },
	})
	leases.release()
	switch {
	case errors.Is(context.Cause(ctx), ErrClaimLost):
		return ending{}
	case err == nil && d.Locked != nil && c.Again:
		return s.yield(ctx, mine)
	case err == nil && d.Locked != nil:
		return s.giveBack(c, "somebody else makes its result: "+d.Locked.Holder.String(), orElse(s.Poll, 500*time.Millisecond))
	case err == nil && len(d.Lost) > 0:
		return s.lose(c, d.Lost)
	case err != nil && ctx.Err() != nil:
		return s.stopped(c)
	case err == nil:
		err = s.share(ctx, &d)
	}
	if err != nil {
		f := failureOf(err)
		f.PaidUSD, f.After = d.PaidUSD, s.Local.Pause(c.Attempt+1)
		return ending{End{Claim: c, Failure: &f}, func(ctx context.Context) error { return s.Queue.Fail(ctx, c, f) }}
	}
	for _, text := range d.Warnings {
		t.tell(Notice{Type: engine.EventWarning, Key: d.Key, Message: text})
	}
	r := Result{Made: d.Made, Completion: d.Completion, Wall: d.Wall, CPU: d.CPU, PaidUSD: d.PaidUSD, Unkept: d.Unkept}
	return ending{End{Claim: c, Result: &r}, func(ctx context.Context) error { return s.Queue.Finish(ctx, c, r) }}
}

// yieldFor is how long a second claim of a stage that runs on this machine already is
// kept, so that it is not given to this machine again and again.
const yieldFor = 10 * time.Second

// yield ends a second claim of a stage whose first is this machine's own. It keeps the
// worker from nothing meanwhile.
func (s *shift) yield(ctx context.Context, c *held) ending {
	return ending{End{Claim: c.Claim}, func(telling context.Context) error {
		ctx, stop := either(ctx, s.claiming)
		defer stop()
		c.hand.add(-1)
		pause(ctx, yieldFor)
		c.hand.add(1)
		return s.Queue.Return(telling, c.Claim, "", 0)
	}}
}

// share sees to it that all machines can read a result: one that was found may be on
// this machine alone, and one that is not kept is in no record.
func (s *shift) share(ctx context.Context, d *engine.Delivery) error {
	if d.Completion == engine.Elsewhere {
		// That another stage of the run made it, whoever follows the run knows.
		d.Completion = engine.Hit
	}
	if s.Push == nil || d.Completion == engine.Executed && !d.Unkept {
		return nil
	}
	var err error
	if d.Unkept {
		digests := make([]cache.Digest, len(d.Outputs))
		for i, b := range d.Outputs {
			digests[i] = b.Digest
		}
		err = s.Push.PushBlobs(ctx, digests...)
	} else {
		err = s.found(ctx, d)
	}
	if err != nil {
		return &engine.StoreError{Err: fmt.Errorf("upload result: %w", err)}
	}
	return nil
}

// found uploads a result that was found. Where another machine was first with another
// one, that stands.
func (s *shift) found(ctx context.Context, d *engine.Delivery) error {
	if err := s.Push.Push(ctx, d.Key); err != nil {
		return err
	}
	record, err := s.Local.Store.Get(ctx, d.Key)
	if err == nil {
		d.Outputs = record.Outputs
	}
	return err
}

// lose forgets the results that were found lost, and has them made again.
func (s *shift) lose(c *Claim, lost []*engine.LostInputError) ending {
	var losses []Loss
	seen := map[cache.Key]bool{}
	for _, l := range lost {
		key := l.From.PlanKey()
		if seen[key] {
			continue
		}
		seen[key] = true
		losses = append(losses, Loss{
			Key: key, Reason: l.Reason(),
			Text: fmt.Sprintf("input %s (%s) is lost and will be made again: %v", l.Input, l.From.Address, l.Err),
		})
	}
	return ending{End{Claim: c}, func(ctx context.Context) error {
		for _, l := range lost {
			// A record whose table is gone is looked at, and replaced, under its lease.
			if l.From.Residence != nil {
				continue
			}
			if err := s.Local.Store.Delete(ctx, c.From[l.From.PlanKey()].Key); err != nil {
				return fmt.Errorf("forget lost result: %w", err)
			}
		}
		return s.Queue.Lose(ctx, c, losses)
	}}
}
