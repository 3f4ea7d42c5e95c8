package shared

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"raglab/cache"
)

const (
	// firstLeave is how long a store that was unavailable is left alone, twice as long each time
	// after, up to longestLeave: each question that it does not answer costs all its attempts.
	firstLeave   = 15 * time.Second
	longestLeave = 4 * time.Minute
)

// outage remembers that a store does not answer, for those who can do without. Safe for concurrent
// use.
type outage struct {
	warn func(string)

	mu    sync.Mutex
	until time.Time
	leave time.Duration
	told  bool
}

func newOutage(warn func(string)) outage { return outage{warn: warn, leave: firstLeave} }

// over reports whether the store may be asked.
func (o *outage) over() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !time.Now().Before(o.until)
}

// note learns from an answer.
func (o *outage) note(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !errors.Is(err, cache.ErrUnavailable) {
		o.leave, o.told = firstLeave, false
		return
	}
	o.until = time.Now().Add(o.leave)
	o.leave = min(2*o.leave, longestLeave)
	if !o.told && o.warn != nil {
		o.told = true
		o.warn(fmt.Sprintf("%v; going on with what this machine has", err))
	}
}

// ask asks the store. What a store that is not available would have said is cache.ErrNotFound, unless
// the tier is strict.
func (t *Tiered) ask(ctx context.Context, question func() error) error {
	if t.opts.Strict {
		return question()
	}
	if !t.outage.over() {
		return fmt.Errorf("%w; the shared store is not available just now", cache.ErrNotFound)
	}
	err := question()
	if ctx.Err() == nil {
		t.outage.note(err)
	}
	if errors.Is(err, cache.ErrUnavailable) && ctx.Err() == nil {
		return fmt.Errorf("%w: %v", cache.ErrNotFound, err) // not wrapped: it is an answer now
	}
	return err
}
