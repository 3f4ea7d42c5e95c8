package shared

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"raglab/cache"
)

// Put stores a record, here and then, for a writer, in the store with its outputs. The first writer of
// a key wins over all machines: the record returned may be that of another, and then stands here too.
// When the store is not available and the tier is not strict, the record stays here, to be pushed
// another time.
func (t *Tiered) Put(ctx context.Context, r *cache.Record) (*cache.Record, error) {
	if t.writes() {
		first, err := t.standing(ctx, r.Key)
		if err != nil || first != nil {
			return first, err
		}
	}
	kept, err := t.putLocal(ctx, r)
	if err != nil || !t.writes() {
		return kept, err
	}
	first := kept
	err = t.ask(ctx, func() (err error) { first, err = t.send(ctx, kept); return err })
	switch {
	case err != nil && (t.opts.Strict || !errors.Is(err, cache.ErrNotFound)):
		return nil, fmt.Errorf("put record %s: %w", r.Key.Short(), err)
	case err != nil || sameOutputs(first, kept):
		return kept, nil
	}
	return first, t.replaceLocal(ctx, first)
}

// standing is the record that another machine put first; nil when there is none, or no way to ask.
func (t *Tiered) standing(ctx context.Context, k cache.Key) (first *cache.Record, err error) {
	err = t.ask(ctx, func() (err error) {
		if err := t.shared.Check(ctx); err != nil {
			return err
		}
		first, err = t.shared.standing(ctx, k)
		return err
	})
	if err != nil && !t.opts.Strict && errors.Is(err, cache.ErrNotFound) {
		return nil, nil
	}
	if err != nil || first == nil {
		return nil, err
	}
	return first, t.replaceLocal(ctx, first)
}

// putLocal stores a record here. Outputs that only the store has come first.
func (t *Tiered) putLocal(ctx context.Context, r *cache.Record) (*cache.Record, error) {
	for range len(r.Outputs) + 1 {
		kept, err := t.local.Put(ctx, r)
		var missing *cache.OutputMissingError
		if err == nil {
			t.show(r.Key)
		}
		if t.shared == nil || !errors.As(err, &missing) {
			return kept, err
		}
		if fetchErr := t.fetch(ctx, missing.Output.Digest); errors.Is(fetchErr, cache.ErrNotFound) {
			return nil, err
		} else if fetchErr != nil {
			return nil, fetchErr
		}
	}
	return t.local.Put(ctx, r)
}

// show asks the store again for a key that was deleted here.
func (t *Tiered) show(k cache.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.hidden, k)
}

// replaceLocal makes a record of the store the one that stands here.
func (t *Tiered) replaceLocal(ctx context.Context, first *cache.Record) error {
	here, err := t.local.Get(ctx, first.Key)
	if err == nil && sameOutputs(here, first) {
		return nil
	}
	if err == nil {
		if err := t.local.Delete(ctx, first.Key); err != nil {
			return err
		}
	}
	t.show(first.Key)
	return t.remember(ctx, first)
}

func sameOutputs(a, b *cache.Record) bool {
	if len(a.Outputs) != len(b.Outputs) {
		return false
	}
	for i := range a.Outputs {
		if a.Outputs[i] != b.Outputs[i] {
			return false
		}
	}
	return true
}

// send uploads the outputs of a record that is here, then the record. The record returned is the one
// in the store now.
func (t *Tiered) send(ctx context.Context, r *cache.Record) (*cache.Record, error) {
	if err := t.shared.writable(ctx, "push record "+r.Key.Short()); err != nil {
		return nil, err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(t.opts.Transfers)
	for _, b := range r.Outputs {
		g.Go(func() error {
			err := t.sendBlob(gctx, b)
			if lostHere(err) {
				return &cache.OutputMissingError{Key: r.Key, Output: b}
			}
			if err != nil {
				return fmt.Errorf("output %s: %w", b.Name, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return t.shared.Put(ctx, r)
}

// lostHere reports whether a blob could not be uploaded because it is not here, or damaged: it was
// found so, and set aside, when it was read.
func lostHere(err error) bool {
	var source *sourceError
	var damage *cache.CorruptError
	return errors.As(err, &source) && (errors.As(err, &damage) || errors.Is(err, cache.ErrNotFound))
}

func (t *Tiered) sendBlob(ctx context.Context, b cache.Blob) error {
	return t.shared.upload(ctx, b, func() (io.ReadCloser, error) { return t.local.Open(ctx, b.Digest) })
}

// Push uploads results that are here and that the store does not have: what was made before there was
// a store, or while it was not available. Keys without a record here are passed over. It goes on after
// one that fails; the error joins what failed. A store that is not available is an error in any tier, and
// ends it: each question more would cost all its attempts.
func (t *Tiered) Push(ctx context.Context, keys ...cache.Key) error {
	_, err := t.PushCount(ctx, keys...)
	return err
}

// PushBlobs uploads blobs that are here, without a record: those of a result that is used and not
// kept. A collection removes them as what no record names.
func (t *Tiered) PushBlobs(ctx context.Context, digests ...cache.Digest) error {
	const doing = "push blobs"
	if t.shared == nil {
		return nil
	}
	if err := t.shared.writable(ctx, doing); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(t.opts.Transfers)
	for _, d := range digests {
		g.Go(func() error {
			size, err := t.local.Stat(ctx, d)
			if errors.Is(err, cache.ErrNotFound) {
				_, err = t.shared.Stat(ctx, d)
				return err
			}
			if err != nil {
				return fmt.Errorf("%s: %w", doing, err)
			}
			return t.sendBlob(ctx, cache.Blob{Digest: d, Size: size})
		})
	}
	return g.Wait()
}

// PushCount is Push that tells how many results went up.
func (t *Tiered) PushCount(ctx context.Context, keys ...cache.Key) (int, error) {
	if t.shared == nil {
		return 0, nil
	}
	if err := t.shared.writable(ctx, "push results"); err != nil {
		return 0, err
	}
	pushed, errs := make([]bool, len(keys)), make([]error, len(keys))
	var away atomic.Bool
	var g errgroup.Group
	g.SetLimit(statWorkers)
	for i, k := range keys {
		g.Go(func() error {
			if ctx.Err() != nil || away.Load() {
				return nil
			}
			pushed[i], errs[i] = t.pushOne(ctx, k)
			if errors.Is(errs[i], cache.ErrUnavailable) && away.Swap(true) {
				errs[i] = nil // one that says so is enough
			}
			return nil
		})
	}
	_ = g.Wait() // its functions return nil
	n := 0
	for _, up := range pushed {
		if up {
			n++
		}
	}
	if ctx.Err() != nil {
		errs = append(errs, context.Cause(ctx))
	}
	return n, errors.Join(errs...)
}

func (t *Tiered) pushOne(ctx context.Context, k cache.Key) (bool, error) {
	r, err := t.local.Get(ctx, k)
	if errors.Is(err, cache.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	first, err := t.shared.standing(ctx, k)
	if err != nil || first != nil {
		return false, err
	}
	if !t.allHere(ctx, r) {
		return false, nil
	}
	_, err = t.send(ctx, r)
	return err == nil, err
}

// Delete removes the record of an action here, and for a writer in the store. From then on a reader
// does not ask the store for it, until it puts one of its own.
func (t *Tiered) Delete(ctx context.Context, k cache.Key) error {
	if err := t.local.Delete(ctx, k); err != nil || t.shared == nil {
		return err
	}
	t.mu.Lock()
	delete(t.records, k)
	t.hidden[k] = !t.writes()
	t.mu.Unlock()
	if !t.writes() {
		return nil
	}
	err := t.ask(ctx, func() error { return t.shared.Delete(ctx, k) })
	if err != nil && !t.opts.Strict && errors.Is(err, cache.ErrNotFound) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.hidden[k] = true
		return nil
	}
	return err
}
