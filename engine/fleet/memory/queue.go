package memory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"raglab/cache"
	"raglab/engine/fleet"
)

// Clock tells the time and calls back later.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once d has passed, from a goroutine that holds no lock of the
	// queue's. Stop keeps it from being called, if it was not yet.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// Options are how a queue is made. The zero value is a queue on the real clock.
type Options struct {
	// Clock is nil for the real one.
	Clock Clock
	// Backups is the policy of running slow nodes twice.
	Backups fleet.Backups
	// Look is how often, at most, idle workers make it look for a slow node; 0 means a
	// second.
	Look time.Duration
}

// Queue is a [fleet.Queue] in memory. What has ended is kept as long as the queue.
type Queue struct {
	clock   Clock
	backups fleet.Backups
	look    time.Duration

	mu      sync.Mutex
	now     time.Time // when the present change began
	nodes   map[cache.Key]*node
	runs    map[fleet.RunID]*run
	atWork  map[runName]*run
	limits  map[string]*limit
	ready   ready
	delayed heap // nodes that may begin later
	wake    timer
	looking timer
	looked  time.Time
	waiting waiters
	claims  map[int64]*claim
	workers map[string]*worker
	walls   fleet.Walls

	token, notice int64
	// changed are runs that may have ended; handed are claims to be delivered when the
	// lock is released.
	changed []*run
	handed  []delivery
}

// New returns an empty queue.
func New(o Options) *Queue {
	q := &Queue{
		clock: o.Clock, backups: o.Backups, look: o.Look,
		nodes: map[cache.Key]*node{}, runs: map[fleet.RunID]*run{}, atWork: map[runName]*run{},
		limits: map[string]*limit{}, claims: map[int64]*claim{}, workers: map[string]*worker{},
	}
	if q.clock == nil {
		q.clock = wallClock{}
	}
	if q.look == 0 {
		q.look = time.Second
	}
	q.ready.groups = map[groupName]*group{}
	q.delayed.before = func(a, b *node) bool { return a.before(b, a.since.Compare(b.since)) }
	return q
}

// wallClock is the real time.
type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

// do changes the queue: it holds the lock while f runs, ends the runs that have come
// to their end, hands out what is ready, and delivers it when the lock is released.
func (q *Queue) do(f func() error) error {
	q.mu.Lock()
	q.now = q.clock.Now()
	err := f()
	q.endRuns()
	q.dispatch()
	handed := q.handed
	q.handed = nil
	q.mu.Unlock()
	for _, d := range handed {
		d.to(d.claim)
	}
	return err
}

// timer is a callback that is asked for at most once at a time.
type timer struct {
	at   time.Time
	stop func() bool // nil while nothing is asked for
}

// set asks for a call at a time, unless one is asked for that comes no later.
func (t *timer) set(c Clock, at time.Time, f func()) {
	if t.stop != nil {
		if !at.Before(t.at) {
			return
		}
		t.stop()
	}
	t.at, t.stop = at, c.AfterFunc(max(0, at.Sub(c.Now())), f)
}

func (t *timer) clear() {
	if t.stop != nil {
		t.stop()
		t.stop = nil
	}
}

// run finds a run.
func (q *Queue) run(id fleet.RunID) (*run, error) {
	r, ok := q.runs[id]
	if !ok {
		return nil, fmt.Errorf("the queue has no run %d", id)
	}
	return r, nil
}

// ended returns the cause of a context that is done.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

var _ fleet.Queue = (*Queue)(nil)
