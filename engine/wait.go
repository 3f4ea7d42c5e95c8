package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"raglab/cache"
)

// wait puts a job aside whose key another process has.
func (r *runner) wait(j *job) {
	holder := j.locked.Holder
	age := j.locked.Age
	j.locked = nil
	first := j.since.IsZero()
	if first {
		j.since = r.Now()
	}
	if waited := r.Now().Sub(j.since); r.LockTimeout > 0 && waited >= r.LockTimeout {
		j.err = &cache.LockedError{Key: j.key, Holder: holder, Waited: waited, Age: age}
		r.failAll(j)
		return
	}
	if first || holder != j.told && holder.PID != 0 {
		j.told = holder
		r.Events(Event{Type: EventWaiting, Time: r.Now(), Stage: j.stage, Key: j.key, Holder: holder})
	}
	r.locked = append(r.locked, j)
	if r.tick == nil {
		r.tick = time.After(r.poll())
	}
}

func (r *runner) poll() time.Duration {
	if r.Poll == 0 {
		return 100 * time.Millisecond
	}
	return r.Poll
}

// probeLocked looks at all that was put aside. It takes no resources: a job that
// needs the whole machine must not clear it just to find its key still locked.
func (r *runner) probeLocked() {
	if r.stopped {
		return
	}
	for _, j := range r.locked {
		r.start(j, Resources{}, r.probe)
	}
	r.locked = nil
}

// probe looks whether another process has made a job's result, or has given up.
func (r *runner) probe(j *job) {
	if r.fromCache(j) {
		return
	}
	lease, err := r.Store.Acquire(r.ctx, j.key, cache.LeaseRequest{Timeout: -1})
	if errors.As(err, &j.locked) {
		return
	}
	if err == nil {
		err = lease.Release()
	}
	if err != nil {
		j.err = storeError(r.ctx, "lease result", err)
		return
	}
	j.unlocked, j.since = true, time.Time{}
}

// fromCache reports whether a job's result was found, or the look-up failed.
func (r *execution) fromCache(j *job) bool {
	if j.forced {
		return false
	}
	record, miss, err := cache.Lookup(r.ctx, r.Store, j.key)
	if err != nil {
		j.err = storeError(r.ctx, "look up result", err)
		return true
	}
	if miss.Reason != cache.Hit {
		return false
	}
	there, err := r.resides(r.ctx, j)
	if err != nil {
		j.err = err
		return true
	}
	if !there {
		return false
	}
	j.blobs, j.completion = record.Outputs, Elsewhere
	if j.stage.Residence != nil && j.told == (cache.Holder{}) {
		j.completion = Hit
	}
	return true
}

// DefaultAttempts is how often a stage that fails in a way that may pass is run.
const DefaultAttempts = 4

func (e *Local) attempts() int {
	if e.Attempts == 0 {
		return DefaultAttempts
	}
	return e.Attempts
}

// later runs a job again after a while, during which it holds nothing.
func (r *runner) later(j *job) {
	delay := r.Pause(j.attempt + 1)
	r.Events(Event{
		Type: EventRetry, Time: r.Now(), Stage: j.stage, Key: j.key, Attempt: j.attempt, Err: j.err,
		Message: fmt.Sprintf("again in %s", delay.Round(time.Millisecond)),
	})
	j.attempt++
	j.err = nil
	r.delayed++
	time.AfterFunc(delay, func() {
		select {
		case r.retry <- j:
		case <-r.over:
		}
	})
}

// Pause is how long to wait before an attempt, from 2.
func (e *Local) Pause(attempt int) time.Duration {
	if e.Backoff != nil {
		return e.Backoff(attempt)
	}
	base := 500 * time.Millisecond << min(attempt-2, 6)
	return base/2 + rand.N(base)
}
