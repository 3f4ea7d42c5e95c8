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

func rewrite(t testing.TB, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || len(b) == 0 {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if changed := change(b); changed != nil {
		if err := os.WriteFile(path, changed, 0o444); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFolder_conformance(t *testing.T) {
	t.Parallel()
	cachetest.Run(t, cachetest.Subject{
		New: func(t *testing.T) cache.Store {
			return openStore(t, filepath.Join(t.TempDir(), "Спільна тека"), shared.Write)
		},
		Reopen: func(t *testing.T, s cache.Store) cache.Store { return openStore(t, s.(*store).dir, shared.Write) },
		RewriteBlob: func(t *testing.T, s cache.Store, d cache.Digest, change func([]byte) []byte) {
			rewrite(t, path(s.(*store).dir, "cas", d.String()), change)
		},
		RewriteRecord: func(t *testing.T, s cache.Store, k cache.Key, change func([]byte) []byte) {
			rewrite(t, path(s.(*store).dir, "ac", k.String()), change)
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
