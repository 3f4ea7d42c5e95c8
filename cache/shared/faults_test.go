package shared_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"raglab/cache"
	"raglab/cache/cachetest"
	"raglab/cache/shared"
	"raglab/cache/shared/sharedtest"
)

// TestStore_conformanceUnderFaults refuses every third request, and loses the answer to every seventh.
func TestStore_conformanceUnderFaults(t *testing.T) {
	t.Parallel()
	found := newBuckets[*sharedtest.Memory]()
	start := func(t *testing.T, m *sharedtest.Memory) cache.Store {
		var n atomic.Int64
		b := &sharedtest.Faulty{
			Bucket: m,
			Before: func(sharedtest.Op, string) error {
				if n.Add(1)%3 == 0 {
					return sharedtest.ErrFault
				}
				return nil
			},
			After: func(sharedtest.Op, string) error {
				if n.Load()%7 == 0 {
					return sharedtest.ErrFault
				}
				return nil
			},
			Cut: func(string, int64) int64 { return 700_000 },
		}
		return found.keep(open(t, b, shared.Options{Mode: shared.Write, Attempts: 30}), m)
	}
	cachetest.Run(t, cachetest.Subject{
		New:    func(t *testing.T) cache.Store { return start(t, new(sharedtest.Memory)) },
		Reopen: func(t *testing.T, s cache.Store) cache.Store { return start(t, found.of(s)) },
		RewriteBlob: func(t *testing.T, s cache.Store, d cache.Digest, change func([]byte) []byte) {
			found.of(s).Rewrite(blobObject(d), change)
		},
		RewriteRecord: func(t *testing.T, s cache.Store, k cache.Key, change func([]byte) []byte) {
			found.of(s).Rewrite(recordObject(k), change)
		},
	})
}

func TestStore_downloadGoesOnWhereItWasCut(t *testing.T) {
	t.Parallel()
	m := new(sharedtest.Memory)
	content := sharedtest.Bytes(1_000_000)
	d := cachetest.Write(t, open(t, m, shared.Options{Mode: shared.Write}), "x", content).Digest
	var offsets []int64
	b := &sharedtest.Faulty{Bucket: m, Cut: func(name string, offset int64) int64 {
		if strings.HasPrefix(name, "cas/") {
			offsets = append(offsets, offset)
			return 300_000
		}
		return 0
	}}
	got, err := open(t, b, shared.Options{Attempts: 2}).ReadAll(t.Context(), d)
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	want := []int64{0, 300_000, 600_000, 900_000}
	if len(offsets) != len(want) || offsets[3] != want[3] {
		t.Errorf("asked from %v, want %v", offsets, want)
	}
}

// TestStore_damageOnTheWay: bytes that change on the way are not the object's fault.
func TestStore_damageOnTheWay(t *testing.T) {
	t.Parallel()
	m := new(sharedtest.Memory)
	var flips atomic.Int64
	b := &sharedtest.Faulty{Bucket: m, Flip: func(name string) bool { return strings.HasPrefix(name, "cas/") && flips.Add(1) == 1 }}
	s := open(t, b, shared.Options{Mode: shared.Write})
	d := cachetest.Write(t, s, "x", []byte("some text")).Digest
	_, err := s.ReadAll(t.Context(), d)
	if !errors.Is(err, cache.ErrUnavailable) || errors.As(err, new(*cache.CorruptError)) {
		t.Errorf("%v, want that it may pass", err)
	}
	if got, err := s.ReadAll(t.Context(), d); err != nil || string(got) != "some text" {
		t.Errorf("the second time: %q, %v", got, err)
	}
}

// TestStore_readerWritesNothing: every method that writes is refused, and damage is left where it is
// but not used; what a writer puts in its place is.
func TestStore_readerWritesNothing(t *testing.T) {
	t.Parallel()
	m := new(sharedtest.Memory)
	w := open(t, m, shared.Options{Mode: shared.Write})
	r := result(t, w, "result")
	before := len(m.Names(""))
	var reported []*cache.CorruptError
	s := open(t, m, shared.Options{OnCorrupt: func(e *cache.CorruptError) { reported = append(reported, e) }})
	ctx := t.Context()
	_, createErr := s.Create(ctx)
	_, putErr := s.Put(ctx, r)
	_, gcErr := s.GC(ctx, shared.GCOptions{})
	for what, err := range map[string]error{
		"Create": createErr, "Put": putErr, "GC": gcErr, "Delete": s.Delete(ctx, r.Key), "Pin": s.Pin(ctx, "x", nil), "Unpin": s.Unpin(ctx, "x"),
	} {
		if !errors.Is(err, cache.ErrReadOnly) {
			t.Errorf("%s: %v, want ErrReadOnly", what, err)
		}
	}
	own := r.Outputs[0].Digest
	flip := func(b []byte) []byte { b[0] ^= 1; return b }
	m.Rewrite(blobObject(own), flip)
	if _, err := s.ReadAll(ctx, own); !errors.As(err, new(*cache.CorruptError)) {
		t.Errorf("ReadAll: %v, want a *CorruptError", err)
	}
	if _, miss, err := cache.Lookup(ctx, s, r.Key); err != nil || miss.Reason != cache.MissOutputMissing {
		t.Errorf("Lookup: %+v, %v; want the output missing", miss, err)
	}
	if n := len(m.Names("")); n != before || len(reported) != 1 {
		t.Errorf("%d objects of %d are left, %d damages reported", n, before, len(reported))
	}
	m.Rewrite(blobObject(own), flip) // a writer mended it
	if !hits(t, s, "result") {
		t.Error("the mended result is not found")
	}
}

func TestStore_formats(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"raglab store format 2\n":  "it has format 2 and this raglab reads up to 1: use a newer raglab, or another store",
		"raglab cache format 1\n":  "is no format of a raglab store",
		"raglab store format -1\n": "is no format of a raglab store",
		"raglab store format 1\n":  "",
	} {
		for _, mode := range []shared.Mode{shared.Read, shared.Write} {
			m := new(sharedtest.Memory)
			if err := m.Create(t.Context(), "VERSION", int64(len(text)), strings.NewReader(text)); err != nil {
				t.Fatal(err)
			}
			err := open(t, m, shared.Options{Mode: mode}).Check(t.Context())
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%q: %v, want %q", text, err, want)
			}
		}
	}
}

// stuck is a bucket whose first download of a blob never comes to an end.
type stuck struct {
	shared.Bucket
	opens atomic.Int64
}

func (s *stuck) Open(ctx context.Context, name string, offset int64) (io.ReadCloser, shared.Object, error) {
	r, o, err := s.Bucket.Open(ctx, name, offset)
	if err == nil && strings.HasPrefix(name, "cas/") && s.opens.Add(1) == 1 {
		r = io.NopCloser(io.MultiReader(io.LimitReader(r, 5), blocked{ctx}))
	}
	return r, o, err
}

type blocked struct{ ctx context.Context }

func (b blocked) Read([]byte) (int, error) {
	<-b.ctx.Done()
	return 0, context.Cause(b.ctx)
}

func TestStore_stalledDownloadIsCut(t *testing.T) {
	t.Parallel()
	b := &stuck{Bucket: new(sharedtest.Memory)}
	s := open(t, b, shared.Options{Mode: shared.Write, Stall: 50 * time.Millisecond})
	d := cachetest.Write(t, s, "x", []byte("some text")).Digest
	if got, err := s.ReadAll(t.Context(), d); err != nil || string(got) != "some text" || b.opens.Load() != 2 {
		t.Errorf("%q, %v after %d requests", got, err, b.opens.Load())
	}
}

// silent is a bucket that answers nothing, and calls the end of a request a cancel, as drivers do.
type silent struct{ shared.Bucket }

func (silent) Open(ctx context.Context, _ string, _ int64) (io.ReadCloser, shared.Object, error) {
	<-ctx.Done()
	return nil, shared.Object{}, ctx.Err()
}

func TestStore_silenceIsTold(t *testing.T) {
	t.Parallel()
	s := open(t, silent{new(sharedtest.Memory)}, shared.Options{Attempts: 2, Stall: 20 * time.Millisecond})
	err := s.Check(t.Context())
	if !errors.Is(err, cache.ErrUnavailable) || !strings.Contains(err.Error(), "the connection stood still") {
		t.Errorf("Check: %v, want that the connection stood still", err)
	}
}

// TestStore_unavailable counts attempts: what may pass is tried again, what is refused is not.
func TestStore_unavailable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault    error
		requests int64
		want     error
	}{
		{sharedtest.ErrFault, 3, cache.ErrUnavailable},
		{shared.ErrPermanent, 1, shared.ErrPermanent},
		{fs.ErrNotExist, 1, cache.ErrNotFound},
	} {
		m := new(sharedtest.Memory)
		b := &sharedtest.Faulty{Bucket: m}
		s := open(t, b, shared.Options{Attempts: 3})
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.Before = func(sharedtest.Op, string) error { return tt.fault }
		before := b.Requests()
		_, err := s.Get(t.Context(), keyOf("x"))
		if !errors.Is(err, tt.want) || b.Requests()-before != tt.requests {
			t.Errorf("%v: %v after %d requests, want %d", tt.fault, err, b.Requests()-before, tt.requests)
		}
	}
}

// TestStore_lostAnswer: a long blob whose upload was answered in vain is not sent a second time.
func TestStore_lostAnswer(t *testing.T) {
	t.Parallel()
	m := new(sharedtest.Memory)
	b := &sharedtest.Faulty{Bucket: m}
	s := open(t, b, shared.Options{Mode: shared.Write})
	sent := 0
	b.Before = func(op sharedtest.Op, name string) error {
		if op == sharedtest.OpCreate && strings.HasPrefix(name, "cas/") {
			sent++
		}
		return nil
	}
	lose := true
	b.After = func(op sharedtest.Op, name string) error {
		if op == sharedtest.OpCreate && strings.HasPrefix(name, "cas/") && lose {
			lose = false
			return sharedtest.ErrFault
		}
		return nil
	}
	content := sharedtest.Bytes(1 << 20)
	blob := cachetest.Write(t, s, "output", content)
	if sent != 1 || lose {
		t.Errorf("it was sent %d times", sent)
	}
	if got, err := s.ReadAll(t.Context(), blob.Digest); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
}

// TestStore_cancelEndsAttempts: whoever is told to stop does not try again, and says why.
func TestStore_cancelEndsAttempts(t *testing.T) {
	t.Parallel()
	why := errors.New("the user changed their mind")
	ctx, cancel := context.WithCancelCause(t.Context())
	b := &sharedtest.Faulty{Bucket: new(sharedtest.Memory)}
	s := open(t, b, shared.Options{})
	if err := s.Check(ctx); err != nil {
		t.Fatal(err)
	}
	b.Before = func(sharedtest.Op, string) error { cancel(why); return sharedtest.ErrFault }
	before := b.Requests()
	if _, err := s.Get(ctx, keyOf("x")); !errors.Is(err, why) || errors.Is(err, cache.ErrUnavailable) || b.Requests()-before != 1 {
		t.Errorf("%v after %d requests", err, b.Requests()-before)
	}
}
