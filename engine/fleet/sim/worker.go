package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
)

// worker is a simulated worker with one slot.
type worker struct {
	*world
	name   string
	claim  *fleet.Claim
	begun  time.Time
	cancel func() bool // of its offer
	work   *event      // the end of what it works on, or what goes wrong before
	renew  *event
	death  *event
	leave  *event
	leaves bool
}

// join lets a worker come.
func (w *world) join() {
	w.names++
	a := &worker{world: w, name: fmt.Sprint("w", w.names)}
	if w.LifeSpan > 0 {
		a.death = w.clock.after(w.exponential(w.LifeSpan), a.die)
	}
	if w.Stay > 0 {
		a.leave = w.clock.after(w.exponential(w.Stay), a.goAway)
	}
	a.offer()
}

func (w *world) exponential(mean time.Duration) time.Duration {
	return time.Duration(w.random.ExpFloat64() * float64(mean))
}

// offer asks for work, or leaves.
func (a *worker) offer() {
	a.claim, a.work, a.renew = nil, nil, nil
	if a.leaves {
		a.clock.cancel(a.death)
		a.clock.after(a.exponential(a.Away), a.join)
		return
	}
	a.cancel = a.queue.Await(fleet.Offer{Worker: a.name, Classes: []fleet.Class{fleet.CPU}}, a.take)
}

// take begins what the queue hands out, once the event has passed in which it does.
func (a *worker) take(c *fleet.Claim) {
	a.cancel, a.claim, a.begun = nil, c, a.clock.now
	if err := a.ledger.claimed(a.name, c); err != nil {
		a.world.fail("%w", err)
		return
	}
	a.report.Claims++
	if c.Again {
		a.report.Backups++
	}
	wall := a.shape.Wall[a.place[c.Key]]
	if a.random.Float64() < a.Slow {
		wall = time.Duration(float64(wall) * a.Slowdown)
	}
	early := time.Duration(found * float64(wall))
	switch draw := a.random.Float64(); {
	case draw < a.Loss && len(c.Needs) > 0:
		a.work = a.clock.after(early, a.lose)
	case draw >= a.Loss && draw < a.Loss+a.Retry:
		a.work = a.clock.after(early, a.retry)
	default:
		a.work = a.clock.after(wall, a.finish)
	}
	a.renew = a.clock.after(renewEvery, a.renewClaim)
}

// over sums up a claim that has ended, and asks for the next.
func (a *worker) over(useful bool) {
	took := a.clock.now.Sub(a.begun)
	a.busy += took
	if !useful {
		a.wasted += took
	}
	a.clock.cancel(a.work)
	a.clock.cancel(a.renew)
	a.offer()
}

func (a *worker) finish() {
	c := a.claim
	r := fleet.Result{
		Made:       engine.Made{Key: cache.Key(cache.DigestOf(c.Key[:])), Outputs: []cache.Blob{{Name: "out", Digest: cache.DigestOf(c.Key[:]), Size: 1}}},
		Completion: engine.Executed, Wall: a.clock.now.Sub(a.begun),
	}
	// The ledger hears of it first: the queue hands on what the result releases.
	won := a.ledger.finished(c)
	err := a.queue.Finish(context.Background(), c, r)
	if won != (err == nil) {
		a.world.fail("%s was finished by %s, whose claim stood: %v; the queue says %v", c.Address, a.name, won, err)
	}
	if won && c.Again {
		a.report.BackupsWon++
	}
	a.over(won)
	a.look()
}

// look ends the simulation when the run has ended.
func (a *worker) look() {
	if a.ledger.done == len(a.shape.Wall) {
		a.ended = true
	}
}

// lose finds a result of a need lost.
func (a *worker) lose() {
	c := a.claim
	need := c.Needs[a.random.IntN(len(c.Needs))]
	// More would fail the node, as it should: the simulation is of runs that end well.
	if a.ledger.remade[need] >= fleet.LostLimit {
		a.retry()
		return
	}
	if a.ledger.lost(c, need) {
		a.report.Losses++
	}
	a.ends(a.queue.Lose(context.Background(), c, []fleet.Loss{{Key: need, Text: "lost", Reason: engine.Reason{Kind: engine.ReasonOutputMissing}}}))
}

func (a *worker) retry() {
	c := a.claim
	if a.ledger.gaveUp(c) {
		a.report.Retries++
	}
	a.ends(a.queue.Fail(context.Background(), c, fleet.Failure{Text: "it may pass", Class: fleet.StageFailure, MayPass: true, After: time.Second}))
}

// ends is over for a claim without a result.
func (a *worker) ends(err error) {
	if err != nil && !errors.Is(err, fleet.ErrClaimLost) {
		a.world.fail("%w", err)
	}
	a.over(false)
}

// renewClaim stops what nobody wants any more.
func (a *worker) renewClaim() {
	err := a.queue.Renew(context.Background(), a.claim)
	if a.ledger.stands(a.claim) != (err == nil) {
		a.world.fail("renew %s: %v", a.claim.Address, err)
	}
	if err != nil {
		a.over(false)
		return
	}
	a.renew = a.clock.after(renewEvery, a.renewClaim)
}

// die ends a worker; the queue finds out later.
func (a *worker) die() {
	a.report.Deaths++
	a.clock.cancel(a.leave)
	if a.claim != nil {
		a.report.Orphaned++
		took := a.clock.now.Sub(a.begun)
		a.busy += took
		a.wasted += took
		a.clock.cancel(a.work)
		a.clock.cancel(a.renew)
	} else if a.cancel != nil {
		a.cancel()
	}
	a.clock.after(a.Detect, func() {
		a.ledger.died(a.name)
		a.queue.Kill(a.name)
		a.join()
	})
}

// goAway lets a worker finish what it has and leave.
func (a *worker) goAway() {
	a.leaves = true
	if a.claim == nil && a.cancel() {
		a.offer()
	}
}
