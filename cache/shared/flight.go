package shared

import (
	"context"
	"errors"
	"sync"

	"raglab/cache"
)

// flight lets those of a process who want one blob at a time fetch it once. Safe for concurrent use.
type flight struct {
	mu sync.Mutex
	on map[cache.Digest]*trip
}

// trip is one fetch under way. It ends when it is done, or nobody waits for it any more.
type trip struct {
	done    chan struct{}
	cancel  context.CancelCauseFunc
	waiting int
	err     error
}

var errNobodyWaits = errors.New("nobody waits for it any more")

// do calls fetch unless it is under way for d, and waits for the end of it or of ctx.
func (f *flight) do(ctx context.Context, d cache.Digest, fetch func(context.Context) error) error {
	t := f.join(ctx, d, fetch)
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		f.leave(t)
		return context.Cause(ctx)
	}
}

func (f *flight) join(ctx context.Context, d cache.Digest, fetch func(context.Context) error) *trip {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t, ok := f.on[d]; ok && t.waiting > 0 {
		t.waiting++
		return t
	}
	// Not one asker's context: others may wait when that one has gone.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	t := &trip{done: make(chan struct{}), cancel: cancel, waiting: 1}
	if f.on == nil {
		f.on = map[cache.Digest]*trip{}
	}
	f.on[d] = t
	go func() {
		defer close(t.done)
		t.err = fetch(ctx)
		cancel(nil)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.on[d] == t {
			delete(f.on, d)
		}
	}()
	return t
}

func (f *flight) leave(t *trip) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.waiting--; t.waiting == 0 {
		t.cancel(errNobodyWaits)
	}
}
