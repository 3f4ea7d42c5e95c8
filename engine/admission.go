package engine

import (
	"context"
	"sync"
)

// Admission hands out a machine's resources to those who wait for them, in the order in
// which an apply gives them to its stages: one line for each main class, first in, first
// out, and one that wants all threads is not starved by small ones. It is safe for
// concurrent use.
type Admission struct {
	all Resources

	mu    sync.Mutex
	free  Resources
	lines lines
	ready map[*job]chan struct{} // of those that wait
}

// NewAdmission returns one that has all of the capacity, at least one thread, to give.
func NewAdmission(capacity Resources) *Admission {
	capacity.CPU = max(capacity.CPU, 1)
	return &Admission{all: capacity, free: capacity, ready: map[*job]chan struct{}{}}
}

// Cost is what a stage with those needs takes: at least one thread, connection or
// device, and at most what there is, so that one that wants more runs alone instead of
// never.
func (a *Admission) Cost(needs Resources) Resources { return needs.atLeastOne().atMost(a.all) }

// Acquire waits until the needs' cost is free and takes it; release gives it back, once.
// The error is ctx's cause.
func (a *Admission) Acquire(ctx context.Context, needs Resources) (release func(), err error) {
	j, ready := a.stand(a.Cost(needs))
	select {
	case <-ready:
	case <-ctx.Done():
		if a.leave(j) {
			return nil, context.Cause(ctx)
		}
		// It was given meanwhile; whoever works notices the end of ctx.
	}
	var once sync.Once
	return func() { once.Do(func() { a.release(j.cost) }) }, nil
}

// stand puts somebody at the end of a line; ready is closed when it is their turn.
func (a *Admission) stand(cost Resources) (*job, chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	j, ready := &job{cost: cost}, make(chan struct{})
	a.ready[j] = ready
	a.lines.add(j)
	a.admit()
	return j, ready
}

// leave takes somebody out of the line; false when it was their turn already.
func (a *Admission) leave(j *job) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, waits := a.ready[j]; !waits {
		return false
	}
	delete(a.ready, j)
	a.lines.remove(j)
	a.admit() // the next ones may have waited for this one's sake
	return true
}

func (a *Admission) release(cost Resources) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.free = a.free.plus(cost)
	a.admit()
}

// admit lets in those whose turn it is.
func (a *Admission) admit() {
	for j := a.lines.take(a.free); j != nil; j = a.lines.take(a.free) {
		a.free = a.free.minus(j.cost)
		close(a.ready[j])
		delete(a.ready, j)
	}
}
