package shared

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"time"

	"raglab/cache"
)

// Mode says what a store is opened for.
type Mode string

// The modes.
const (
	// Read changes nothing in the store.
	Read Mode = "read"
	// Write uploads, and removes what it finds damaged.
	Write Mode = "write"
)

// ParseMode reads a mode; empty is Read.
func ParseMode(s string) (Mode, error) {
	switch m := cmp.Or(Mode(s), Read); m {
	case Read, Write:
		return m, nil
	}
	return "", fmt.Errorf("%q is no mode of a store: read or write", s)
}

// Options of a store.
type Options struct {
	// Mode is Read unless it is set.
	Mode Mode
	// Name is the store's URL, for messages; it is redacted.
	Name string
	// Now is the clock of this machine; nil is time.Now.
	Now func() time.Time
	// OnCorrupt is told of every object found damaged, from the goroutine that found it; nil tells
	// nobody. It must not call the store.
	OnCorrupt func(*cache.CorruptError)
	// Attempts, Pause and Stall replace how often a request is made, the wait after an attempt
	// (counted from 1), and how long one may stand still; zero is for the defaults.
	Attempts int
	Pause    func(attempt int) time.Duration
	Stall    time.Duration
	// Grace is how long a collection lets everything live, see [Store.GC]; 0 is a week, and four
	// hours the least. All who collect a store must agree on it.
	Grace time.Duration
}

const (
	// grace is the grace period unless one is set.
	grace = 7 * 24 * time.Hour
	// leastGrace is the least: writers must have read what is condemned before it goes.
	leastGrace = 4 * renewEvery
)

func (o Options) withDefaults() Options {
	o.Mode = cmp.Or(o.Mode, Read)
	o.Attempts = cmp.Or(o.Attempts, attempts)
	o.Stall = cmp.Or(o.Stall, stall)
	o.Grace = max(cmp.Or(o.Grace, grace), leastGrace)
	if o.Pause == nil {
		o.Pause = pause
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Store is a [cache.Store] in a bucket. It may be used from any number of processes and machines at
// once; all methods are safe for concurrent use. Nothing is asked of the bucket before it is needed.
type Store struct {
	bucket Bucket
	name   string
	opts   Options

	opening chan struct{} // holds one token: who takes it may look at the next two
	ready   bool
	closed  bool

	session *session // of a writer, once ready

	mu  sync.Mutex
	bad map[string]time.Time // found damaged and left where it is, as it was made then
}

var _ cache.Store = (*Store)(nil)

// Open opens the store at a URL, without asking anything of it yet: see [Store.Check].
func Open(ctx context.Context, drivers []Driver, url string, o Options) (*Store, error) {
	b, err := OpenBucket(ctx, drivers, url)
	if err != nil {
		return nil, err
	}
	o.Name = url
	return New(b, o), nil
}

// New is the store in a bucket, which it closes.
func New(b Bucket, o Options) *Store {
	s := &Store{bucket: b, name: Redact(o.Name), opts: o.withDefaults(), opening: make(chan struct{}, 1), bad: map[string]time.Time{}}
	s.opening <- struct{}{}
	return s
}

// Name is the store's URL, fit to be shown.
func (s *Store) Name() string { return s.name }

// Mode is what the store was opened for.
func (s *Store) Mode() Mode { return s.opts.Mode }

const (
	versionObject = "VERSION"
	// formatVersion is raised when an older raglab would misread what a newer one wrote.
	formatVersion = 1
	versionPrefix = "raglab store format "
)

// Check makes sure that the store can be used: that the bucket is there, may be read, and has a
// format that this package reads. A writer begins a store where there is none; a reader finds nothing
// in it. Other methods do the same when they are first called. It may be called again after a
// [cache.ErrUnavailable].
func (s *Store) Check(ctx context.Context) error {
	select {
	case <-s.opening:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { s.opening <- struct{}{} }()
	if s.closed {
		return fmt.Errorf("open store %s: it was closed", s.name)
	}
	if s.ready {
		return nil
	}
	ctx = context.WithValue(ctx, openingKey{}, true)
	if err := s.checkVersion(ctx); err != nil {
		return err
	}
	if s.opts.Mode == Write {
		session, err := s.beginSession(ctx)
		if err != nil {
			return err
		}
		s.session = session
	}
	s.ready = true
	return nil
}

// checkVersion refuses what a newer raglab wrote.
func (s *Store) checkVersion(ctx context.Context) error {
	const doing = "open"
	b, err := s.object(ctx, doing, versionObject)
	if errors.Is(err, fs.ErrNotExist) {
		return s.begin(ctx)
	}
	if err != nil {
		return err
	}
	text, ok := strings.CutPrefix(string(b), versionPrefix)
	v, err := strconv.Atoi(strings.TrimSpace(text))
	if !ok || err != nil || v < 1 {
		return fmt.Errorf("open store %s: its VERSION object says %.40q, which is no format of a raglab store", s.name, b)
	}
	if v > formatVersion {
		return fmt.Errorf("open store %s: it has format %d and this raglab reads up to %d: use a newer raglab, or another store", s.name, v, formatVersion)
	}
	return nil
}

// begin makes the VERSION object of a new store, and for a reader looks whether there is a bucket at
// all: to some providers it is as little there as the object.
func (s *Store) begin(ctx context.Context) error {
	const doing = "open"
	if s.opts.Mode != Write {
		return s.try(ctx, doing, func(ctx context.Context) error {
			for _, err := range s.bucket.List(ctx, versionObject) {
				if errors.Is(err, fs.ErrNotExist) {
					return fmt.Errorf("%w: there is no such bucket", ErrPermanent)
				}
				return err
			}
			return nil
		})
	}
	text := fmt.Appendf(nil, "%s%d\n", versionPrefix, formatVersion)
	err := s.try(ctx, doing, func(ctx context.Context) error {
		err := s.bucket.Create(ctx, versionObject, int64(len(text)), bytes.NewReader(text))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: there is no such bucket", ErrPermanent)
		}
		return err
	})
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// Close ends the session of a writer and releases connections. The store must not be used after it.
func (s *Store) Close() error {
	<-s.opening
	defer func() { s.opening <- struct{}{} }()
	if s.closed {
		return nil
	}
	s.closed = true
	var err error
	if s.session != nil {
		err = s.endSession()
	}
	return errors.Join(err, s.bucket.Close())
}

// writable is why nothing can be written, if it cannot.
func (s *Store) writable(ctx context.Context, doing string) error {
	if s.opts.Mode != Write {
		return fmt.Errorf("store %s: %s: it was opened to be read, not to be written to: %w", s.name, doing, cache.ErrReadOnly)
	}
	return s.Check(ctx)
}

// The names of objects; those of blobs and records shard by the first byte, as the files of a
// cache.Local do.
const (
	blobPrefix    = "cas/"
	recordPrefix  = "ac/"
	pinPrefix     = "pins/"
	sessionPrefix = "sessions/"
	usePrefix     = "uses/"
	gcPrefix      = "gc/"
)

func blobName(d cache.Digest) string { return shard(blobPrefix, d.String()) }

func recordName(k cache.Key) string { return shard(recordPrefix, k.String()) }

func shard(prefix, hex string) string { return prefix + hex[:2] + "/" + hex }

// place is where an object is, for messages.
func (s *Store) place(name string) string { return strings.TrimSuffix(s.name, "/") + "/" + name }
