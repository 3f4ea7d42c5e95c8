package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"raglab/cache"
	"raglab/cache/cachetest"
	"raglab/cache/shared"
	"raglab/cache/shared/s3/s3test"
	"raglab/cache/shared/sharedtest"
)

func openBucket(t testing.TB, raw string) shared.Bucket {
	t.Helper()
	b, err := shared.OpenBucket(t.Context(), []shared.Driver{Driver()}, raw)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// testStore is a store with its URL.
type testStore struct {
	*shared.Store
	url string
}

func openStore(t testing.TB, raw string, mode shared.Mode) *testStore {
	t.Helper()
	s, err := shared.Open(context.Background(), []shared.Driver{Driver()}, raw, shared.Options{
		Mode: mode, Pause: func(int) time.Duration { return time.Millisecond },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &testStore{s, raw}
}

// path is where the server keeps an object.
func path(t testing.TB, raw, name string) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(server.Dir, u.Host, filepath.FromSlash(u.Path), filepath.FromSlash(name))
}

// rewrite changes an object behind the server's back: its length and bytes are those of the file.
func rewrite(t testing.TB, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || len(b) == 0 {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	changed := change(b)
	if changed == nil {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, changed, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func shard(prefix, hex string) string { return prefix + "/" + hex[:2] + "/" + hex }

func TestS3_bucket(t *testing.T) {
	t.Parallel()
	var urls sync.Map
	sharedtest.RunBucket(t,
		func(t *testing.T) shared.Bucket {
			raw := newURL(t, server.URL)
			b := openBucket(t, raw)
			urls.Store(b, raw)
			return b
		},
		func(t *testing.T, b shared.Bucket) shared.Bucket {
			raw, _ := urls.Load(b)
			return openBucket(t, raw.(string))
		})
}

func TestS3_conformance(t *testing.T) {
	t.Parallel()
	cachetest.Run(t, cachetest.Subject{
		New:    func(t *testing.T) cache.Store { return openStore(t, newURL(t, server.URL), shared.Write) },
		Reopen: func(t *testing.T, s cache.Store) cache.Store { return openStore(t, s.(*testStore).url, shared.Write) },
		RewriteBlob: func(t *testing.T, s cache.Store, d cache.Digest, change func([]byte) []byte) {
			rewrite(t, path(t, s.(*testStore).url, shard("cas", d.String())), change)
		},
		RewriteRecord: func(t *testing.T, s cache.Store, k cache.Key, change func([]byte) []byte) {
			rewrite(t, path(t, s.(*testStore).url, shard("ac", k.String())), change)
		},
	})
}

// TestS3_partsRace lets several upload different bytes in parts under one name: one wins, and what is
// there is the winner's.
func TestS3_partsRace(t *testing.T) {
	t.Parallel()
	raw := newURL(t, server.URL)
	const writers = 4
	var wins atomic.Int64
	var won atomic.Int64
	var all sync.WaitGroup
	for i := range writers {
		b := openBucket(t, raw)
		content := sharedtest.Bytes(20<<20 + i)
		all.Go(func() {
			for {
				err := b.Create(t.Context(), "cas/00/race", int64(len(content)), bytes.NewReader(content))
				if err == nil {
					wins.Add(1)
					won.Store(int64(len(content)))
				} else if !errors.Is(err, fs.ErrExist) && !errors.Is(err, shared.ErrPermanent) {
					continue // a conflict of two, which passes
				} else if !errors.Is(err, fs.ErrExist) {
					t.Errorf("Create: %v", err)
				}
				return
			}
		})
	}
	all.Wait()
	o, err := openBucket(t, raw).Stat(t.Context(), "cas/00/race")
	if wins.Load() != 1 || err != nil || o.Size != won.Load() {
		t.Errorf("%d winners; the object has %d bytes (%v), the winner's %d", wins.Load(), o.Size, err, won.Load())
	}
}

// TestS3_largeBlob uploads a blob in parts and downloads it over connections that are cut every few
// megabytes.
func TestS3_largeBlob(t *testing.T) {
	t.Parallel()
	p := newProxy(t)
	raw := newURL(t, p.URL)
	s := openStore(t, raw, shared.Write)
	content := sharedtest.Bytes(110 << 20)
	blob := cachetest.Write(t, s, "index", content)
	parts := p.Requests()
	if parts < 10 {
		t.Errorf("it went up in %d requests", parts)
	}
	var cuts atomic.Int64
	p.Cut = func(r *http.Request) int64 {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/cas/") {
			cuts.Add(1)
			return 13 << 20
		}
		return 0
	}
	before := p.Requests()
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
	if n := cuts.Load(); n != 9 {
		t.Errorf("it took %d connections of 13 MiB for 110 MiB, want 9: each goes on where the last was cut", n)
	}
	t.Logf("%d requests up, %d down", parts, p.Requests()-before)
}

// TestS3_slowDown refuses every third request: everything works all the same.
func TestS3_slowDown(t *testing.T) {
	t.Parallel()
	p := newProxy(t)
	p.Refuse = func(n int64, _ *http.Request) int {
		switch n % 6 {
		case 0:
			return http.StatusServiceUnavailable
		case 3:
			return http.StatusInternalServerError
		}
		return 0
	}
	s := openStore(t, newURL(t, p.URL), shared.Write)
	for i := range 8 {
		r := &cache.Record{Key: cache.Key{byte(i + 1)}}
		for _, n := range []int{100 + i, 6<<20 + i} {
			out := cachetest.Write(t, s, fmt.Sprint(n), sharedtest.Bytes(n))
			r.Outputs = append(r.Outputs, out)
		}
		if _, err := s.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if _, miss, err := cache.Lookup(t.Context(), s, r.Key); err != nil || miss.Reason != cache.Hit {
			t.Errorf("Lookup: %+v, %v", miss, err)
		}
	}
	if r, err := s.Verify(t.Context()); err != nil || r.Blobs.Count != 16 || len(r.Bad)+len(r.Incomplete) > 0 {
		t.Errorf("Verify: %+v, %v", r, err)
	}
}

// TestS3_refusals: a server that refuses everything is not available, one that refuses the
// credentials will not pass, and neither error shows them.
func TestS3_refusals(t *testing.T) {
	t.Parallel()
	p := newProxy(t)
	raw := newURL(t, p.URL)
	for _, tt := range []struct {
		status      int
		unavailable bool
	}{
		{http.StatusServiceUnavailable, true},
		{http.StatusForbidden, false},
	} {
		p.Refuse = func(int64, *http.Request) int { return tt.status }
		s := openStore(t, raw, shared.Write)
		_, err := s.Get(t.Context(), cache.Key{1})
		if errors.Is(err, cache.ErrUnavailable) != tt.unavailable || errors.Is(err, shared.ErrPermanent) == tt.unavailable || errors.Is(err, cache.ErrNotFound) {
			t.Errorf("%d: %v", tt.status, err)
		}
		if text := err.Error(); strings.Contains(text, secretKey) || strings.Contains(text, accessKey) {
			t.Errorf("%d: the error shows credentials: %v", tt.status, err)
		}
	}
	p.Refuse = nil
	s := openStore(t, s3test.StoreURL("no-such-bucket", p.URL), shared.Read)
	if _, err := s.Get(t.Context(), cache.Key{1}); !errors.Is(err, shared.ErrPermanent) || !strings.Contains(err.Error(), "no such bucket") {
		t.Errorf("no bucket: %v", err)
	}
}

// TestS3_objectsHoldNoCredentials looks at all that a writer left, names and bytes.
func TestS3_objectsHoldNoCredentials(t *testing.T) {
	t.Parallel()
	raw := newURL(t, server.URL)
	s := openStore(t, raw, shared.Write)
	blob := cachetest.Write(t, s, "x", []byte("text"))
	if _, err := s.Put(t.Context(), &cache.Record{Key: cache.Key{1}, Outputs: []cache.Blob{blob}}); err != nil {
		t.Fatal(err)
	}
	files := 0
	err := filepath.WalkDir(path(t, raw, ""), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		for _, secret := range []string{accessKey, secretKey} {
			if strings.Contains(path, secret) || bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s holds a credential", path)
			}
		}
		return err
	})
	if err != nil || files < 4 { // VERSION, blob, record, session
		t.Errorf("%d files, %v", files, err)
	}
}
