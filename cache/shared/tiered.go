package shared

import (
	"context"
	"errors"
	"io"
	"sync"

	"raglab/cache"
)

// TieredOptions of a [Tiered].
type TieredOptions struct {
	// Strict makes every failure of the shared store one of the method that met it, as a
	// [cache.ErrUnavailable]: a worker whose result nobody else can read has not done its work. When
	// it is not set, the store is done without, and warned of once.
	Strict bool
	// Warn is told, once each time the store becomes unavailable, that it is done without; nil
	// tells nobody. It may be called from any goroutine.
	Warn func(text string)
	// Transfers bounds how many blobs are fetched or pushed at a time; 0 is 4.
	Transfers int
}

// Tiered is the cache of this machine with a shared store behind it. It is what an engine runs on:
//
//   - A record or blob that the machine does not have is looked for in the store. Records come along
//     with the answer, blobs when they are first opened, or by Fetch; several that want one blob
//     fetch it once, those of other processes of the machine included.
//   - What is put here is stored here first, and then, by a writer, in the store: blobs, then the
//     record.
//   - What experiments remember, run logs, embeddings, leases and pins stay with the machine.
//
// Without a shared store it is the local one. All methods are safe for concurrent use. It implements
// [cache.Filer], and with Acquire what an engine asks of its store.
type Tiered struct {
	local  *cache.Local
	shared *Store // nil: there is none
	opts   TieredOptions
	outage outage
	flight flight

	mu      sync.Mutex
	records map[cache.Key]knownRecord // of the store, with outputs that are not all here
	wanted  map[cache.Digest][]cache.Key
	hidden  map[cache.Key]bool // deleted here; a reader leaves them in the store
}

var _ cache.Filer = (*Tiered)(nil)

// NewTiered puts a shared store, which may be nil, behind the cache of this machine. Both stay the
// caller's to close.
func NewTiered(local *cache.Local, store *Store, o TieredOptions) *Tiered {
	if o.Transfers == 0 {
		o.Transfers = 4
	}
	return &Tiered{
		local: local, shared: store, opts: o, outage: newOutage(o.Warn),
		records: map[cache.Key]knownRecord{}, wanted: map[cache.Digest][]cache.Key{},
		hidden: map[cache.Key]bool{},
	}
}

// Local is the cache of this machine.
func (t *Tiered) Local() *cache.Local { return t.local }

// Shared is the store behind it, or nil.
func (t *Tiered) Shared() *Store { return t.shared }

// writes reports whether what is put here goes to the store.
func (t *Tiered) writes() bool { return t.shared != nil && t.shared.Mode() == Write }

// Acquire takes the lease of a key among the processes of this machine. Machines do not wait for each
// other: of two that make one result at a time the first to put it wins.
func (t *Tiered) Acquire(ctx context.Context, k cache.Key, req cache.LeaseRequest) (*cache.Lease, error) {
	return t.local.Acquire(ctx, k, req)
}

// Create begins a blob, here. It goes to the store with the record that names it.
func (t *Tiered) Create(ctx context.Context) (cache.Writer, error) { return t.local.Create(ctx) }

// Open reads a blob, and fetches it first when only the store has it. A cache that may not be written
// to reads it from there.
func (t *Tiered) Open(ctx context.Context, d cache.Digest) (io.ReadCloser, error) {
	r, err := t.local.Open(ctx, d)
	if !t.elsewhere(err) {
		return r, err
	}
	if t.local.ReadOnly() {
		err = t.ask(ctx, func() (err error) { r, err = t.shared.Open(ctx, d); return err })
		return r, err
	}
	if err := t.fetch(ctx, d); err != nil {
		return nil, err
	}
	return t.local.Open(ctx, d)
}

// ReadAll reads a whole blob, from either tier.
func (t *Tiered) ReadAll(ctx context.Context, d cache.Digest) ([]byte, error) {
	b, err := t.local.ReadAll(ctx, d)
	if !t.elsewhere(err) {
		return b, err
	}
	if t.local.ReadOnly() {
		err = t.ask(ctx, func() (err error) { b, err = t.shared.ReadAll(ctx, d); return err })
		return b, err
	}
	if err := t.fetch(ctx, d); err != nil {
		return nil, err
	}
	return t.local.ReadAll(ctx, d)
}

// File is the path of a blob on this machine, fetched first when only the store has it: once per
// machine, for all its processes.
func (t *Tiered) File(ctx context.Context, d cache.Digest) (string, error) {
	path, err := t.local.File(ctx, d)
	if !t.elsewhere(err) {
		return path, err
	}
	if err := t.fetch(ctx, d); err != nil {
		return "", err
	}
	return t.local.File(ctx, d)
}

// Stat says how long a blob is that either tier has.
func (t *Tiered) Stat(ctx context.Context, d cache.Digest) (int64, error) {
	size, err := t.local.Stat(ctx, d)
	if !t.elsewhere(err) {
		return size, err
	}
	err = t.ask(ctx, func() (err error) { size, err = t.shared.Stat(ctx, d); return err })
	if errors.Is(err, cache.ErrNotFound) {
		t.forget(d)
	}
	return size, err
}

// elsewhere reports whether the store is to be asked for what this machine does not have.
func (t *Tiered) elsewhere(err error) bool {
	return t.shared != nil && errors.Is(err, cache.ErrNotFound)
}
