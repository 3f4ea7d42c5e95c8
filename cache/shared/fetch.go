package shared

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"raglab/cache"
)

// Fetch brings blobs here that only the store has, so that who opens them later does not wait. Those
// that are here cost nothing. It fetches some at a time and goes on after one that fails; the error
// joins what failed, cache.ErrNotFound for what neither tier has.
func (t *Tiered) Fetch(ctx context.Context, digests ...cache.Digest) error {
	errs := make([]error, len(digests))
	var g errgroup.Group
	g.SetLimit(t.opts.Transfers)
	for i, d := range digests {
		g.Go(func() error {
			if _, err := t.local.Stat(ctx, d); t.elsewhere(err) {
				errs[i] = t.fetch(ctx, d)
			} else {
				errs[i] = err
			}
			return nil
		})
	}
	_ = g.Wait() // its functions return nil
	return errors.Join(errs...)
}

// fetch brings one blob here, once for all who want it: in this process, and on this machine.
func (t *Tiered) fetch(ctx context.Context, d cache.Digest) error {
	if t.shared == nil {
		return fmt.Errorf("fetch blob %s: %w", d, cache.ErrNotFound)
	}
	return t.flight.do(ctx, d, func(ctx context.Context) error {
		lease, err := t.local.Acquire(ctx, fetchKey(d), cache.LeaseRequest{Command: "fetch blob " + d.Short()})
		if err != nil {
			return fmt.Errorf("fetch blob %s: %w", d.Short(), err)
		}
		defer lease.Release()
		if _, err := t.local.Stat(ctx, d); err == nil {
			return nil
		}
		err = t.ask(ctx, func() error { return t.copyDown(lease.Context(), d) })
		if errors.Is(err, cache.ErrNotFound) {
			t.forget(d)
		}
		if err != nil {
			return err
		}
		return t.arrived(ctx, d)
	})
}

// fetchKey is the key under whose lease a blob is fetched. No stage has it.
func fetchKey(d cache.Digest) cache.Key {
	return cache.Key(sha256.Sum256(append([]byte("fetch blob "), d[:]...)))
}

// copyDown copies a blob of the store into the local cache. A digest that does not fit fails the read
// before its end, and then nothing is kept.
func (t *Tiered) copyDown(ctx context.Context, d cache.Digest) error {
	r, err := t.shared.Open(ctx, d)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := t.local.Create(ctx)
	if err != nil {
		return fmt.Errorf("fetch blob %s: %w", d.Short(), err)
	}
	defer w.Abort()
	if _, err := io.CopyBuffer(w, r, make([]byte, 256<<10)); err != nil {
		return err
	}
	if _, err := w.Commit(); err != nil {
		return fmt.Errorf("fetch blob %s: %w", d.Short(), err)
	}
	return nil
}

// Get reads the record of an action, from here or from the store.
func (t *Tiered) Get(ctx context.Context, k cache.Key) (*cache.Record, error) {
	r, err := t.local.Get(ctx, k)
	if !t.elsewhere(err) || t.isHidden(k) {
		return r, err
	}
	if known := t.known(k); known != nil {
		return known, nil
	}
	localErr := err
	err = t.ask(ctx, func() (err error) { r, err = t.shared.Get(ctx, k); return err })
	if err != nil {
		var damage *cache.CorruptError
		if errors.Is(err, cache.ErrNotFound) && errors.As(localErr, &damage) {
			return nil, localErr // says more
		}
		return nil, err
	}
	return r, t.remember(ctx, r)
}

// maxKnown bounds how many records of the store are held in memory.
const maxKnown = 100_000

// remember keeps a record of the store: here as soon as all its outputs are, until then in memory.
func (t *Tiered) remember(ctx context.Context, r *cache.Record) error {
	if t.local.ReadOnly() {
		return nil
	}
	missing := 0
	t.mu.Lock()
	for _, b := range r.Outputs {
		if _, err := t.local.Stat(ctx, b.Digest); err != nil {
			if !slices.Contains(t.wanted[b.Digest], r.Key) {
				t.wanted[b.Digest] = append(t.wanted[b.Digest], r.Key)
			}
			missing++
		}
	}
	if missing > 0 {
		if len(t.records) >= maxKnown {
			clear(t.records)
			clear(t.wanted)
		}
		t.records[r.Key] = knownRecord{r, time.Now()}
	}
	t.mu.Unlock()
	if missing > 0 {
		return nil
	}
	return t.settle(ctx, r)
}

// settle puts a record of the store here, all of whose outputs are.
func (t *Tiered) settle(ctx context.Context, r *cache.Record) error {
	_, err := t.local.Put(ctx, r)
	var lost *cache.OutputMissingError
	if err != nil && !errors.As(err, &lost) { // an output was collected since: then not now
		return fmt.Errorf("keep record %s: %w", r.Key.Short(), err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.records, r.Key)
	return nil
}

// arrived settles the records that waited for a blob alone.
func (t *Tiered) arrived(ctx context.Context, d cache.Digest) error {
	t.mu.Lock()
	var waiting []*cache.Record
	for _, k := range t.wanted[d] {
		if known, ok := t.records[k]; ok {
			waiting = append(waiting, known.Record)
		}
	}
	delete(t.wanted, d)
	t.mu.Unlock()
	for _, r := range waiting {
		if t.allHere(ctx, r) {
			if err := t.settle(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Tiered) allHere(ctx context.Context, r *cache.Record) bool {
	for _, b := range r.Outputs {
		if size, err := t.local.Stat(ctx, b.Digest); err != nil || size != b.Size {
			return false
		}
	}
	return true
}

// knownRecord is a record of the store as it was read at a time.
type knownRecord struct {
	*cache.Record
	read time.Time
}

// believed is how long a record of the store is not asked for again: another machine may have found it
// lost, and put a new one. An apply asks for each several times within moments.
const believed = 10 * time.Second

// known is a record of the store that was read a moment ago.
func (t *Tiered) known(k cache.Key) *cache.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r, ok := t.records[k]; ok && time.Since(r.read) < believed {
		return r.Record
	}
	return nil
}

// forget is for a blob that turned out to be in neither tier: records that name it do not hold.
func (t *Tiered) forget(d cache.Digest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range t.wanted[d] {
		delete(t.records, k)
	}
	delete(t.wanted, d)
}

func (t *Tiered) isHidden(k cache.Key) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.hidden[k]
}
