package shared_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"raglab/cache"
	"raglab/cache/cachetest"
	"raglab/cache/shared"
	"raglab/cache/shared/sharedtest"
)

// machine is a cache of its own with the store of a bucket behind it.
type machine struct {
	*shared.Tiered
	bucket *sharedtest.Memory
}

func newMachine(t testing.TB, dir string, b shared.Bucket, o shared.Options, to shared.TieredOptions) *shared.Tiered {
	t.Helper()
	l, err := cache.OpenLocal(dir, cache.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return shared.NewTiered(l, open(t, b, o), to)
}

// TestTiered_conformance damages both tiers at once: what only one lost the other has.
func TestTiered_conformance(t *testing.T) {
	t.Parallel()
	for _, behind := range []string{"memory", "nothing"} {
		t.Run(behind, func(t *testing.T) {
			t.Parallel()
			found := newBuckets[machine]()
			start := func(t *testing.T, dir string, m *sharedtest.Memory) cache.Store {
				tiered := newMachine(t, dir, m, shared.Options{Mode: shared.Write}, shared.TieredOptions{})
				if behind == "nothing" {
					tiered = shared.NewTiered(tiered.Local(), nil, shared.TieredOptions{})
				}
				return found.keep(tiered, machine{tiered, m})
			}
			cachetest.Run(t, cachetest.Subject{
				New: func(t *testing.T) cache.Store { return start(t, t.TempDir(), new(sharedtest.Memory)) },
				Reopen: func(t *testing.T, s cache.Store) cache.Store {
					m := found.of(s)
					return start(t, m.Local().Dir(), m.bucket)
				},
				RewriteBlob: func(t *testing.T, s cache.Store, d cache.Digest, change func([]byte) []byte) {
					m := found.of(s)
					m.bucket.Rewrite(blobObject(d), change)
					sharedtest.RewriteFile(t, m.Local().Path(d), change)
				},
				RewriteRecord: func(t *testing.T, s cache.Store, k cache.Key, change func([]byte) []byte) {
					m := found.of(s)
					m.bucket.Rewrite(recordObject(k), change)
					sharedtest.RewriteFile(t, m.Local().Dir()+"/"+recordObject(k), change)
				},
			})
		})
	}
}

// two are two machines with one store.
func two(t testing.TB, second shared.Mode) (a, b *shared.Tiered, m *sharedtest.Memory) {
	t.Helper()
	m = new(sharedtest.Memory)
	a = newMachine(t, t.TempDir(), m, shared.Options{Mode: shared.Write}, shared.TieredOptions{})
	b = newMachine(t, t.TempDir(), m, shared.Options{Mode: second}, shared.TieredOptions{})
	return a, b, m
}

func TestTiered_otherMachineReads(t *testing.T) {
	t.Parallel()
	a, b, m := two(t, shared.Read)
	r := result(t, a, "result")
	before := len(m.Names(""))
	if !hits(t, b, "result") {
		t.Fatal("the other machine does not find it")
	}
	if _, err := b.Local().Get(t.Context(), r.Key); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("the record is here before its outputs: %v", err)
	}
	for _, out := range r.Outputs {
		path, err := b.File(t.Context(), out.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if content, err := os.ReadFile(path); err != nil || cache.DigestOf(content) != out.Digest {
			t.Errorf("%s: %v", out.Name, err)
		}
	}
	if !hits(t, b.Local(), "result") {
		t.Error("with all its outputs here, the record is not")
	}
	if n := len(m.Names("")); n != before {
		t.Errorf("a reader left %d objects of %d", n, before)
	}
}

// TestTiered_fetchesOnce has many want one blob, in two processes of one machine: it comes down once.
func TestTiered_fetchesOnce(t *testing.T) {
	t.Parallel()
	m := new(sharedtest.Memory)
	w := open(t, m, shared.Options{Mode: shared.Write})
	d := cachetest.Write(t, w, "index", sharedtest.Bytes(3<<20)).Digest
	var downloads atomic.Int64
	b := &sharedtest.Faulty{Bucket: m, Before: func(op sharedtest.Op, name string) error {
		if op == sharedtest.OpOpen && name == blobObject(d) {
			downloads.Add(1)
		}
		return nil
	}}
	dir := t.TempDir()
	processes := []*shared.Tiered{newMachine(t, dir, b, shared.Options{}, shared.TieredOptions{}), newMachine(t, dir, b, shared.Options{}, shared.TieredOptions{})}
	var all sync.WaitGroup
	for i := range 40 {
		p := processes[i%2]
		all.Go(func() {
			switch i % 4 {
			case 0:
				if err := p.Fetch(t.Context(), d, d); err != nil {
					t.Errorf("Fetch: %v", err)
				}
			case 1:
				if _, err := p.File(t.Context(), d); err != nil {
					t.Errorf("File: %v", err)
				}
			default:
				if b, err := p.ReadAll(t.Context(), d); err != nil || cache.DigestOf(b) != d {
					t.Errorf("ReadAll: %v", err)
				}
			}
		})
	}
	all.Wait()
	if n := downloads.Load(); n != 1 {
		t.Errorf("it came down %d times", n)
	}
	if err := processes[0].Fetch(t.Context(), cache.Digest{1}, d); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Fetch of what nobody has: %v, want ErrNotFound", err)
	}
}

// TestTiered_oneGivesUp: one of two who wait is told to stop; the other gets the blob.
func TestTiered_oneGivesUp(t *testing.T) {
	t.Parallel()
	m := new(sharedtest.Memory)
	d := cachetest.Write(t, open(t, m, shared.Options{Mode: shared.Write}), "x", []byte("text")).Digest
	var once sync.Once
	asked, answer := make(chan struct{}), make(chan struct{})
	b := &sharedtest.Faulty{Bucket: m, Before: func(op sharedtest.Op, name string) error {
		if op == sharedtest.OpOpen && name == blobObject(d) {
			once.Do(func() { close(asked) })
			<-answer
		}
		return nil
	}}
	tiered := newMachine(t, t.TempDir(), b, shared.Options{}, shared.TieredOptions{})
	why := errors.New("the first gives up")
	ctx, cancel := context.WithCancelCause(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if err := tiered.Fetch(ctx, d); !errors.Is(err, why) {
			t.Errorf("the first: %v, want the cause of its end", err)
		}
	})
	<-asked
	all.Go(func() {
		if err := tiered.Fetch(t.Context(), d); err != nil {
			t.Errorf("the second: %v", err)
		}
	})
	cancel(why)
	close(answer)
	all.Wait()
}

// TestTiered_firstWriterWins over machines: both go on with the first one's result.
func TestTiered_firstWriterWins(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t, shared.Write)
	put := func(m *shared.Tiered, text string) *cache.Record {
		r := &cache.Record{Key: keyOf("embed"), Outputs: []cache.Blob{cachetest.Write(t, m, "vectors", []byte(text))}}
		kept, err := m.Put(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return kept
	}
	first := put(a, "by a")
	if second := put(b, "by b, a bit different"); !cmp.Equal(first, second) {
		t.Errorf("the second was told of %+v", second)
	}
	for name, m := range map[string]*shared.Tiered{"a": a, "b": b} {
		r, miss, err := cache.Lookup(t.Context(), m, keyOf("embed"))
		if err != nil || miss.Reason != cache.Hit || !cmp.Equal(r, first) {
			t.Errorf("%s: %+v, %+v, %v; want the first record", name, r, miss, err)
			continue
		}
		if text, err := m.ReadAll(t.Context(), r.Outputs[0].Digest); err != nil || string(text) != "by a" {
			t.Errorf("%s reads %q, %v", name, text, err)
		}
	}
}

// TestTiered_outage: a store that does not answer is done without, is warned of once, and gets later
// what was made meanwhile. A strict tier fails with what may pass.
func TestTiered_outage(t *testing.T) {
	t.Parallel()
	m := new(sharedtest.Memory)
	var down atomic.Bool
	b := &sharedtest.Faulty{Bucket: m, Before: func(sharedtest.Op, string) error {
		if down.Load() {
			return sharedtest.ErrFault
		}
		return nil
	}}
	var warnings []string
	o := shared.Options{Mode: shared.Write, Attempts: 2}
	easy := newMachine(t, t.TempDir(), b, o, shared.TieredOptions{Warn: func(s string) { warnings = append(warnings, s) }})
	strict := newMachine(t, t.TempDir(), b, o, shared.TieredOptions{Strict: true})
	far := result(t, strict, "far")
	down.Store(true)
	if hits(t, easy, "far") {
		t.Error("a store that is away answered")
	}
	near := result(t, easy, "near")
	if !hits(t, easy, "near") {
		t.Error("what was made here is not found")
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "going on with what this machine has") {
		t.Errorf("warnings: %q, want one", warnings)
	}
	if _, _, err := cache.Lookup(t.Context(), strict, near.Key); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("strict Lookup: %v, want ErrUnavailable", err)
	}
	other := &cache.Record{Key: keyOf("other"), Outputs: []cache.Blob{cachetest.Write(t, strict, "x", []byte("x"))}}
	if _, err := strict.Put(t.Context(), other); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("strict Put: %v, want ErrUnavailable", err)
	}
	if err := easy.Push(t.Context(), near.Key); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("Push: %v, want ErrUnavailable", err)
	}
	down.Store(false)
	if n, err := easy.PushCount(t.Context(), near.Key, far.Key, keyOf("none")); n != 1 || err != nil {
		t.Errorf("pushed %d, %v; want the one that is here alone", n, err)
	}
	if n, err := easy.PushCount(t.Context(), near.Key); n != 0 || err != nil {
		t.Errorf("pushed again: %d, %v", n, err)
	}
	if !hits(t, strict, "near") {
		t.Error("what was pushed is not found")
	}
}

// TestTiered_pushEndsWithTheStore: hundreds of results do not each ask a store that has gone away.
func TestTiered_pushEndsWithTheStore(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	b := &sharedtest.Faulty{Bucket: new(sharedtest.Memory), Before: func(sharedtest.Op, string) error {
		if down.Load() {
			return sharedtest.ErrFault
		}
		return nil
	}}
	m := newMachine(t, t.TempDir(), b, shared.Options{Mode: shared.Write, Attempts: 2}, shared.TieredOptions{})
	keys := []cache.Key{result(t, m, "first").Key}
	for i := range 300 {
		k := keyOf(fmt.Sprint("made here ", i))
		keys = append(keys, k)
		if _, err := m.Local().Put(t.Context(), &cache.Record{Key: k}); err != nil {
			t.Fatal(err)
		}
	}
	down.Store(true)
	before := b.Requests()
	err := m.Push(t.Context(), keys...)
	if !errors.Is(err, cache.ErrUnavailable) || strings.Count(err.Error(), "not available") != 1 {
		t.Errorf("Push: %v, want one ErrUnavailable", err)
	}
	if asked := b.Requests() - before; asked > 40 {
		t.Errorf("the store was asked %d times after it had gone", asked)
	}
	down.Store(false)
}

// TestTiered_deletedByAReader is not found in the store again, until the reader has made its own.
func TestTiered_deletedByAReader(t *testing.T) {
	t.Parallel()
	a, b, m := two(t, shared.Read)
	r := result(t, a, "result")
	if err := b.Delete(t.Context(), r.Key); err != nil {
		t.Fatal(err)
	}
	if hits(t, b, "result") {
		t.Error("it is found again")
	}
	if !hits(t, a, "result") || len(m.Names("ac/")) != 1 {
		t.Error("a reader deleted it in the store")
	}
	result(t, b, "result")
	if !hits(t, b, "result") {
		t.Error("its own is not found")
	}
}

// TestTiered_remadeElsewhere: a result that one machine found lost, and another made anew, is the new
// one for the first too.
func TestTiered_remadeElsewhere(t *testing.T) {
	t.Parallel()
	a, b, m := two(t, shared.Write)
	put := func(on *shared.Tiered, text string) *cache.Record {
		r := &cache.Record{Key: keyOf("k"), Outputs: []cache.Blob{cachetest.Write(t, on, "x", []byte(text))}}
		kept, err := on.Put(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return kept
	}
	first := put(a, "first")
	if !hits(t, b, "k") {
		t.Fatal("b does not find it")
	}
	m.Rewrite(blobObject(first.Outputs[0].Digest), func([]byte) []byte { return nil })
	if err := b.Delete(t.Context(), keyOf("k")); err != nil {
		t.Fatal(err)
	}
	if err := a.Delete(t.Context(), keyOf("k")); err != nil {
		t.Fatal(err)
	}
	second := put(a, "second")
	if r, miss, err := cache.Lookup(t.Context(), b, keyOf("k")); err != nil || miss.Reason != cache.Hit || !cmp.Equal(r, second) {
		t.Errorf("b finds %+v, %+v, %v; want the new one", r, miss, err)
	}
}

// TestTiered_damagedHereIsNotUploaded: a blob damaged at rest is found out when it is uploaded.
func TestTiered_damagedHereIsNotUploaded(t *testing.T) {
	t.Parallel()
	m := new(sharedtest.Memory)
	a := newMachine(t, t.TempDir(), m, shared.Options{Mode: shared.Write}, shared.TieredOptions{})
	out := cachetest.Write(t, a, "x", []byte("some text"))
	sharedtest.RewriteFile(t, a.Local().Path(out.Digest), func(b []byte) []byte { b[0] ^= 1; return b })
	_, err := a.Put(t.Context(), &cache.Record{Key: keyOf("k"), Outputs: []cache.Blob{out}})
	if !errors.As(err, new(*cache.OutputMissingError)) {
		t.Errorf("Put: %v, want an *OutputMissingError", err)
	}
	if names := append(m.Names("cas/"), m.Names("ac/")...); len(names) > 0 {
		t.Errorf("%v is in the store", names)
	}
}

// TestTiered_pushBlobs uploads what no record will name.
func TestTiered_pushBlobs(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t, shared.Read)
	d := cachetest.Write(t, a, "x", []byte("used once")).Digest
	if err := a.PushBlobs(t.Context(), d, d); err != nil {
		t.Fatal(err)
	}
	if text, err := b.ReadAll(t.Context(), d); err != nil || string(text) != "used once" {
		t.Errorf("%q, %v", text, err)
	}
	if err := a.PushBlobs(t.Context(), cache.Digest{1}); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("a blob that nobody has: %v", err)
	}
	if err := b.PushBlobs(t.Context(), d); !errors.Is(err, cache.ErrReadOnly) {
		t.Errorf("by a reader: %v", err)
	}
}

// TestTiered_readOnlyCache reads from the store what it may not keep.
func TestTiered_readOnlyCache(t *testing.T) {
	t.Parallel()
	m := new(sharedtest.Memory)
	a := newMachine(t, t.TempDir(), m, shared.Options{Mode: shared.Write}, shared.TieredOptions{})
	r := result(t, a, "result")
	l, err := cache.OpenLocal(t.TempDir()+"/none", cache.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	b := shared.NewTiered(l, open(t, m, shared.Options{}), shared.TieredOptions{})
	if !hits(t, b, "result") {
		t.Error("not found")
	}
	for _, out := range r.Outputs {
		if text, err := b.ReadAll(t.Context(), out.Digest); err != nil || cache.DigestOf(text) != out.Digest {
			t.Errorf("%q, %v", text, err)
		}
		f, err := b.Open(t.Context(), out.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(f); err != nil || cache.DigestOf(text) != out.Digest {
			t.Errorf("%q, %v", text, err)
		}
		f.Close()
	}
	if _, err := os.Stat(l.Dir()); !os.IsNotExist(err) {
		t.Errorf("the cache's folder was made: %v", err)
	}
}
