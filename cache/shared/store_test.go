package shared_test

import (
	"sync"
	"testing"
	"time"

	"raglab/cache"
	"raglab/cache/cachetest"
	"raglab/cache/shared"
	"raglab/cache/shared/sharedtest"
)

// quick makes a store's attempts follow each other at once.
func quick(o shared.Options) shared.Options {
	o.Pause = func(int) time.Duration { return time.Microsecond }
	return o
}

// open opens a store that closes with the test.
func open(t testing.TB, b shared.Bucket, o shared.Options) *shared.Store {
	t.Helper()
	if o.Name == "" {
		o.Name = "mem://test"
	}
	s := shared.New(b, quick(o))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func blobObject(d cache.Digest) string { return "cas/" + d.String()[:2] + "/" + d.String() }

func recordObject(k cache.Key) string { return "ac/" + k.String()[:2] + "/" + k.String() }

func TestMemory_conformance(t *testing.T) {
	t.Parallel()
	sharedtest.RunBucket(t,
		func(*testing.T) shared.Bucket { return new(sharedtest.Memory) },
		func(_ *testing.T, b shared.Bucket) shared.Bucket { return b })
}

// buckets finds what is behind a store under test. Safe for concurrent use.
type buckets[B any] struct{ m sync.Map }

func newBuckets[B any]() *buckets[B] { return new(buckets[B]) }

func (b *buckets[B]) keep(s cache.Store, behind B) cache.Store {
	b.m.Store(s, behind)
	return s
}

func (b *buckets[B]) of(s cache.Store) B {
	behind, _ := b.m.Load(s)
	return behind.(B)
}

func TestStore_conformance(t *testing.T) {
	t.Parallel()
	buckets := newBuckets[*sharedtest.Memory]()
	cachetest.Run(t, cachetest.Subject{
		New: func(t *testing.T) cache.Store {
			m := new(sharedtest.Memory)
			return buckets.keep(open(t, m, shared.Options{Mode: shared.Write}), m)
		},
		Reopen: func(t *testing.T, s cache.Store) cache.Store {
			m := buckets.of(s)
			return buckets.keep(open(t, m, shared.Options{Mode: shared.Write}), m)
		},
		RewriteBlob: func(t *testing.T, s cache.Store, d cache.Digest, change func([]byte) []byte) {
			buckets.of(s).Rewrite(blobObject(d), change)
		},
		RewriteRecord: func(t *testing.T, s cache.Store, k cache.Key, change func([]byte) []byte) {
			buckets.of(s).Rewrite(recordObject(k), change)
		},
	})
}
