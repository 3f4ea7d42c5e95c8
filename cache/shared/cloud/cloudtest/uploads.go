package cloudtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"raglab/cache"
	"raglab/cache/cachetest"
	"raglab/cache/shared"
	"raglab/cache/shared/sharedtest"
)

// partsRace lets several upload different bytes in parts under one name: one wins, and what is there is
// the winner's.
func partsRace(t *testing.T, p Provider) {
	at := p.newPlace(t, p.Server())
	const writers = 4
	var wins, won atomic.Int64
	var all sync.WaitGroup
	for i := range writers {
		b := p.at(t, at)
		content := sharedtest.Bytes(20<<20 + i)
		all.Go(func() {
			for {
				err := b.Create(t.Context(), "cas/00/race", int64(len(content)), bytes.NewReader(content))
				switch {
				case err == nil:
					wins.Add(1)
					won.Store(int64(len(content)))
				case errors.Is(err, shared.ErrPermanent):
					t.Errorf("Create: %v", err)
				case !errors.Is(err, fs.ErrExist):
					continue // a conflict of two, which passes
				}
				return
			}
		})
	}
	all.Wait()
	o, err := p.at(t, at).Stat(t.Context(), "cas/00/race")
	if wins.Load() != 1 || err != nil || o.Size != won.Load() {
		t.Fatalf("%d winners; the object has %d bytes (%v), the winner's %d", wins.Load(), o.Size, err, won.Load())
	}
	got, err := readAll(t.Context(), p.at(t, at), "cas/00/race")
	if err != nil || !bytes.Equal(got, sharedtest.Bytes(int(o.Size))) {
		t.Errorf("the object holds what no writer wrote (%v)", err)
	}
}

// storesRace lets several machines upload one blob in parts at once: all succeed.
func storesRace(t *testing.T, p Provider) {
	at := p.newPlace(t, p.Server())
	content := sharedtest.Bytes(17 << 20)
	var all sync.WaitGroup
	for range 4 {
		s := p.writer(t, at)
		all.Go(func() {
			w, err := s.Create(t.Context())
			if err == nil {
				if _, err = w.Write(content); err == nil {
					_, err = w.Commit()
				}
			}
			if err != nil {
				t.Errorf("upload: %v", err)
			}
		})
	}
	all.Wait()
	if b, err := p.writer(t, at).ReadAll(t.Context(), cache.DigestOf(content)); err != nil || !bytes.Equal(b, content) {
		t.Errorf("%d bytes came back (%v)", len(b), err)
	}
}

// largeBlob uploads a blob in parts and downloads it over connections that are cut every few megabytes.
func largeBlob(t *testing.T, p Provider) {
	proxy := p.proxy(t)
	s := p.writer(t, p.newPlace(t, proxy.URL))
	const size, each = 36 << 20, 5 << 20
	var parts, cuts atomic.Int64
	proxy.CutRequest = func(r *http.Request) int64 {
		if p.Uploads(r) {
			parts.Add(1)
		}
		return 0
	}
	proxy.Cut = func(r *http.Request) int64 {
		if downloads(r) {
			cuts.Add(1)
			return each
		}
		return 0
	}
	blob := cachetest.Write(t, s, "index", sharedtest.Bytes(size))
	if n := parts.Load(); n < 3 {
		t.Errorf("it went up in %d parts", n)
	}
	r, err := s.Open(t.Context(), blob.Digest)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := cache.DigestOf(b); got != blob.Digest {
		t.Errorf("%d bytes came with the digest %s, want %s", len(b), got, blob.Digest)
	}
	if n := cuts.Load(); n != size/each+1 {
		t.Errorf("it took %d connections, want %d: each goes on where the last was cut", n, size/each+1)
	}
}

// downloads reports whether a request asks for a blob's bytes. What lies below /storage is Google's word
// on an object.
func downloads(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/cas/") && !strings.HasPrefix(r.URL.Path, "/storage/")
}

// cutUpload cuts the connection in the middle of parts: what arrives is whole all the same.
func cutUpload(t *testing.T, p Provider) {
	proxy := p.proxy(t)
	s := p.writer(t, p.newPlace(t, proxy.URL))
	var parts, cuts atomic.Int64
	proxy.CutRequest = func(r *http.Request) int64 {
		if p.Uploads(r) && parts.Add(1)%3 == 2 {
			cuts.Add(1)
			return 1 << 20
		}
		return 0
	}
	content := sharedtest.Bytes(20 << 20)
	blob := cachetest.Write(t, s, "index", content)
	if b, err := s.ReadAll(t.Context(), blob.Digest); err != nil || !bytes.Equal(b, content) {
		t.Errorf("%d bytes came back (%v)", len(b), err)
	}
	if cuts.Load() == 0 {
		t.Error("no connection was cut")
	}
}

// givenUp ends uploads when a part has arrived: by the writer, and by a way that stays cut. Nothing of
// either is visible, and it can be made later.
func givenUp(t *testing.T, p Provider) {
	proxy := p.proxy(t)
	at := p.newPlace(t, proxy.URL)
	content := sharedtest.Bytes(20 << 20)
	b := p.at(t, at)
	const name = "cas/00/given-up"

	ctx, cancel := context.WithCancelCause(t.Context())
	var arrived, broken atomic.Int64
	proxy.CutRequest = func(r *http.Request) int64 {
		if p.Uploads(r) && broken.Load() == 1 && arrived.Add(1) > 1 {
			return 1 << 20
		}
		return 0
	}
	half := io.MultiReader(bytes.NewReader(content[:17<<20]), readerFunc(func([]byte) (int, error) {
		cancel(errors.New("the writer gave up"))
		return 0, context.Canceled
	}))
	if err := b.Create(ctx, name, int64(len(content)), half); err == nil {
		t.Error("a cancelled upload succeeded")
	}
	wantNone(t, b, name)

	broken.Store(1)
	if err := b.Create(t.Context(), name, int64(len(content)), bytes.NewReader(content)); err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, shared.ErrPermanent) {
		t.Errorf("an upload that is cut, and cut again: %v, want an error that may pass", err)
	}
	wantNone(t, b, name)

	broken.Store(0)
	if err := b.Create(t.Context(), name, int64(len(content)), bytes.NewReader(content)); err != nil {
		t.Errorf("what was given up cannot be made: %v", err)
	}
	if got, err := readAll(t.Context(), b, name); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes came back (%v)", len(got), err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// lostAnswers ends the connection after every third write that the server has done.
func lostAnswers(t *testing.T, p Provider) {
	proxy := p.proxy(t)
	at := p.newPlace(t, proxy.URL)
	var n atomic.Int64
	proxy.Lose = func(r *http.Request) bool {
		if r.Method == http.MethodGet || r.Method == http.MethodHead || p.Uploads(r) && !p.LosesAnswers {
			return false
		}
		return n.Add(1)%3 == 1
	}
	s := p.writer(t, at)
	for i := range 3 {
		r := &cache.Record{Key: cache.Key{byte(i + 1)}}
		for _, n := range []int{100 + i, 9<<20 + i} {
			r.Outputs = append(r.Outputs, cachetest.Write(t, s, fmt.Sprint(n), sharedtest.Bytes(n)))
		}
		if _, err := s.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	v, err := s.Verify(t.Context())
	if err != nil || v.Blobs.Count != 6 || v.Records.Count != 3 || len(v.Bad)+len(v.Incomplete) > 0 {
		t.Errorf("Verify: %+v, %v", v, err)
	}
	if n.Load() < 6 {
		t.Errorf("only %d writes", n.Load())
	}
}

// wrongBytesUp uploads a blob that is damaged in the cache of this machine: nothing of it reaches the
// store.
func wrongBytesUp(t *testing.T, p Provider) {
	at := p.newPlace(t, p.Server())
	m := p.machine(t, t.TempDir(), at)
	for _, n := range []int{100, 17 << 20} {
		blob := cachetest.Write(t, m, "output", sharedtest.Bytes(n))
		sharedtest.RewriteFile(t, m.Local().Path(blob.Digest), func(b []byte) []byte {
			b[len(b)/2] ^= 1
			return b
		})
		if err := m.PushBlobs(t.Context(), blob.Digest); err == nil {
			t.Errorf("a damaged blob of %d bytes went up", n)
		}
		wantNone(t, p.at(t, at), blobObject(blob.Digest))
	}
}

// wrongBytesDown turns a bit on the way: it is asked for again, the object stays, and what comes wrong
// every time is never served.
func wrongBytesDown(t *testing.T, p Provider) {
	proxy := p.proxy(t)
	at := p.newPlace(t, proxy.URL)
	var always atomic.Bool
	var flipped atomic.Int64
	proxy.Flip = func(r *http.Request) bool {
		return downloads(r) && (flipped.Add(1) == 1 || always.Load())
	}
	s := p.writer(t, at)
	content := sharedtest.Bytes(6 << 20)
	blob := cachetest.Write(t, s, "output", content)
	b, err := s.ReadAll(t.Context(), blob.Digest)
	if err == nil || !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("what was damaged on the way: %d bytes, %v, want cache.ErrUnavailable", len(b), err)
	}
	if b, err := s.ReadAll(t.Context(), blob.Digest); err != nil || !bytes.Equal(b, content) {
		t.Errorf("the second time: %d bytes, %v", len(b), err)
	}
	always.Store(true)
	var damage *cache.CorruptError
	if b, err := s.ReadAll(t.Context(), blob.Digest); !errors.As(err, &damage) {
		t.Errorf("what comes wrong twice: %d bytes, %v", len(b), err)
	}
	always.Store(false)
	wantNone(t, p.at(t, at), blobObject(blob.Digest)) // the writer took it for damaged
}
