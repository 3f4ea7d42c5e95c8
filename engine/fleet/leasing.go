package fleet

import (
	"context"
	"fmt"

	"raglab/cache"
	"raglab/engine"
)

// leasing is a store that takes the fleet's lease of a key before the machine's. It is
// for one claim: what it took is released together.
type leasing struct {
	engine.Store
	leaser Leaser
	held   []func()
}

// store is what a stage is made in. Where the store below can show blobs as files, this
// one can.
func (l *leasing) store() engine.Store {
	if files, ok := l.Store.(cache.Filer); ok {
		return &leasingFiles{l, files}
	}
	return l
}

type leasingFiles struct {
	*leasing
	files cache.Filer
}

func (l *leasingFiles) File(ctx context.Context, d cache.Digest) (string, error) {
	return l.files.File(ctx, d)
}

// Acquire is called by the goroutine that makes the stage.
func (l *leasing) Acquire(ctx context.Context, k cache.Key, req cache.LeaseRequest) (*cache.Lease, error) {
	if l.leaser == nil {
		return l.Store.Acquire(ctx, k, req)
	}
	release, ok, err := l.leaser.Lease(ctx, k)
	switch {
	case err != nil:
		return nil, fmt.Errorf("lease %s in the fleet: %w", k.Short(), err)
	case !ok:
		return nil, &cache.LockedError{Key: k}
	}
	lease, err := l.Store.Acquire(ctx, k, req)
	if err != nil {
		release()
		return nil, err
	}
	l.held = append(l.held, release)
	return lease, nil
}

func (l *leasing) release() {
	for _, release := range l.held {
		release()
	}
	l.held = nil
}
