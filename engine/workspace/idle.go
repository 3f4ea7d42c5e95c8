package workspace

import (
	"context"
	"sync"
	"time"

	"raglab/engine/fleet"
)

// idleQueue closes a channel once nothing was claimed or renewed through it for a
// while: a worker renews what it holds.
type idleQueue struct {
	fleet.Queue
	after time.Duration
	idle  chan struct{}
	once  sync.Once
	timer *time.Timer
}

// newIdleQueue watches a queue. Idle is closed too when drain is.
func newIdleQueue(q fleet.Queue, after time.Duration, drain <-chan struct{}) *idleQueue {
	i := &idleQueue{Queue: q, after: after, idle: make(chan struct{})}
	i.timer = time.AfterFunc(after, i.end)
	go func() {
		select {
		case <-drain:
			i.end()
		case <-i.idle:
		}
	}()
	return i
}

func (i *idleQueue) end() { i.once.Do(func() { close(i.idle) }) }

// stop ends watching.
func (i *idleQueue) stop() {
	i.timer.Stop()
	i.end()
}

// Claim implements [fleet.Queue].
func (i *idleQueue) Claim(ctx context.Context, o fleet.Offer) (*fleet.Claim, error) {
	c, err := i.Queue.Claim(ctx, o)
	if err == nil {
		i.timer.Reset(i.after)
	}
	return c, err
}

// Renew implements [fleet.Queue].
func (i *idleQueue) Renew(ctx context.Context, c *fleet.Claim) error {
	i.timer.Reset(i.after)
	return i.Queue.Renew(ctx, c)
}

// Lost implements [fleet.Watcher].
func (i *idleQueue) Lost(c *fleet.Claim) <-chan struct{} {
	if w, ok := i.Queue.(fleet.Watcher); ok {
		return w.Lost(c)
	}
	return nil
}
