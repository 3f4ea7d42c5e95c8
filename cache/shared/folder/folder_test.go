package folder

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"raglab/cache"
	"raglab/cache/cachetest"
	"raglab/cache/shared"
	"raglab/cache/shared/sharedtest"
)

func newBucket(t testing.TB, dir string) shared.Bucket {
	t.Helper()
	b, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFolder_bucket(t *testing.T) {
	t.Parallel()
	sharedtest.RunBucket(t,
		func(t *testing.T) shared.Bucket { return newBucket(t, filepath.Join(t.TempDir(), "store")) },
		func(t *testing.T, b shared.Bucket) shared.Bucket { return newBucket(t, b.(*bucket).dir) })
}

// store is a store with the folder it is in.
type store struct {
	*shared.Store
	dir string
}

func openStore(t testing.TB, dir string, mode shared.Mode) *store {
	t.Helper()
	s := &store{shared.New(newBucket(t, dir), shared.Options{Mode: mode, Name: "file://" + dir}), dir}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func path(dir, prefix, hex string) string { return filepath.Join(dir, prefix, hex[:2], hex) }

func TestFolder_conformance(t *testing.T) {
	t.Parallel()
	cachetest.Run(t, cachetest.Subject{
		New: func(t *testing.T) cache.Store {
			return openStore(t, filepath.Join(t.TempDir(), "Спільна тека"), shared.Write)
		},
		Reopen: func(t *testing.T, s cache.Store) cache.Store { return openStore(t, s.(*store).dir, shared.Write) },
		RewriteBlob: func(t *testing.T, s cache.Store, d cache.Digest, change func([]byte) []byte) {
			sharedtest.RewriteFile(t, path(s.(*store).dir, "cas", d.String()), change)
		},
		RewriteRecord: func(t *testing.T, s cache.Store, k cache.Key, change func([]byte) []byte) {
			sharedtest.RewriteFile(t, path(s.(*store).dir, "ac", k.String()), change)
		},
	})
}

func TestFolder_readerWritesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	reader := openStore(t, dir, shared.Read)
	if _, err := reader.Stat(t.Context(), cache.Digest{1}); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Stat: %v, want ErrNotFound", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a reader made the folder: %v", err)
	}
}

func TestFolder_notMounted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not mounted", "store")
	for _, mode := range []shared.Mode{shared.Read, shared.Write} {
		s := openStore(t, dir, mode)
		if err := s.Check(t.Context()); !errors.Is(err, shared.ErrPermanent) || !strings.Contains(err.Error(), "not mounted") {
			t.Errorf("%s: %v, want that the folder above is missing", mode, err)
		}
	}
}

// TestFolder_away has the folder of a store go away while it is open, as one does that is not mounted any
// more, with an empty one in its place or none: it is an outage, and no new store is begun there.
func TestFolder_away(t *testing.T) {
	t.Parallel()
	for _, empty := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "store")
		s := shared.New(newBucket(t, dir), shared.Options{Mode: shared.Write, Name: "file://" + dir, Attempts: 1})
		before := cachetest.Write(t, s, "before", []byte("before"))
		if err := os.Rename(dir, dir+".away"); err != nil {
			t.Fatal(err)
		}
		if empty {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		w, err := s.Create(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("meanwhile")); err != nil {
			t.Fatal(err)
		}
		_, putErr := w.Commit()
		_, getErr := s.Get(t.Context(), cache.Key{1})
		_, statErr := s.Stat(t.Context(), before.Digest)
		_, duErr := s.Du(t.Context())
		_, gcErr := s.GC(t.Context(), shared.GCOptions{DryRun: true})
		for doing, err := range map[string]error{"Commit": putErr, "Get": getErr, "Stat": statErr, "GC": gcErr} {
			if !errors.Is(err, cache.ErrUnavailable) {
				t.Errorf("empty %v: %s: %v, want ErrUnavailable", empty, doing, err)
			}
		}
		if !empty && !errors.Is(duErr, cache.ErrUnavailable) {
			t.Errorf("Du: %v, want ErrUnavailable", duErr)
		}
		if left, err := os.ReadDir(dir); !errors.Is(err, fs.ErrNotExist) && len(left) > 0 {
			t.Errorf("a store was begun anew: %v", left)
		}
		_ = os.Remove(dir) // the empty one
		if err := os.Rename(dir+".away", dir); err != nil {
			t.Fatal(err)
		}
		cachetest.Write(t, s, "after", []byte("after"))
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

// TestFolder_symlinks has a store behind a link, and its blobs behind another.
func TestFolder_symlinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"real", "blobs"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"store": "real", "real/cas": "../blobs"} {
		if err := os.Symlink(to, filepath.Join(dir, filepath.FromSlash(link))); err != nil {
			t.Skip(err)
		}
	}
	s := openStore(t, filepath.Join(dir, "store"), shared.Write)
	cachetest.Write(t, s, "blob", []byte("blob"))
	if u, err := s.Du(t.Context()); err != nil || u.States.Count != 2 {
		t.Errorf("Du: %+v, %v; want VERSION and a session", u, err)
	}
	if r, err := s.Verify(t.Context()); err != nil || r.Blobs.Count != 1 {
		t.Errorf("Verify: %+v, %v; want one blob", r, err)
	}
}

// TestFolder_noFile has a folder in the place of an object: a sentence, not a store that is out of reach.
func TestFolder_noFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s := openStore(t, dir, shared.Write)
	d := cachetest.Write(t, s, "blob", []byte("blob")).Digest
	at := path(dir, "cas", d.String())
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	_, openErr := s.Open(t.Context(), d)
	_, statErr := s.Stat(t.Context(), d)
	for _, err := range []error{openErr, statErr} {
		if !errors.Is(err, shared.ErrPermanent) || !strings.Contains(err.Error(), "is no file: remove it") {
			t.Errorf("%v, want that it is no file", err)
		}
	}
}

func TestFolder_sweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBucket(t, dir)
	if err := os.MkdirAll(filepath.Join(dir, "cas", "aa"), 0o755); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for name, age := range map[string]time.Duration{".tmp-old": 48 * time.Hour, ".tmp-new": time.Minute, "object": 48 * time.Hour} {
		at := filepath.Join(dir, "cas", "aa", name)
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(at, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.(shared.Sweeper).Sweep(t.Context(), now.Add(-24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Join(dir, "cas", "aa"))
	if err != nil || len(left) != 2 || left[0].Name() != ".tmp-new" || left[1].Name() != "object" {
		t.Errorf("left: %v, %v; want the young draft and the object", left, err)
	}
}

func TestDriver_urls(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"file:///mnt/store":          "/mnt/store",
		"file://localhost/mnt/store": "/mnt/store",
		"file:///":                   "",
		"file://mnt/store":           "",
		"file:store":                 "",
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Driver().Open(t.Context(), u)
		switch {
		case want == "" && err == nil:
			t.Errorf("%s was opened", raw)
		case want != "" && (err != nil || b.(*bucket).dir != want):
			t.Errorf("%s: %v, %v; want %s", raw, b, err, want)
		}
	}
}
