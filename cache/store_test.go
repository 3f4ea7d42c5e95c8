package cache_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"raglab/cache"
	"raglab/cache/cachetest"
)

func open(t testing.TB, dir string, opts cache.Options) *cache.Local {
	t.Helper()
	l, err := cache.OpenLocal(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return l
}

// rewrite changes a file behind the store's back; nil removes it. What is not there stays so.
func rewrite(t testing.TB, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(b) == 0 {
		return
	}
	changed := change(b)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if changed == nil {
		return
	}
	if err := os.WriteFile(path, changed, 0o444); err != nil {
		t.Fatal(err)
	}
}

func recordPath(l *cache.Local, k cache.Key) string {
	return filepath.Join(l.Dir(), "ac", k.String()[:2], k.String())
}

func TestLocal_conformance(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"plain", "with spaces and юнікод — Ґґ"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			cachetest.Run(t, cachetest.Subject{
				New: func(t *testing.T) cache.Store {
					return open(t, filepath.Join(t.TempDir(), folder, "cache"), cache.Options{NoSync: true})
				},
				Reopen: func(t *testing.T, s cache.Store) cache.Store {
					return open(t, s.(*cache.Local).Dir(), cache.Options{NoSync: true})
				},
				RewriteBlob: func(t *testing.T, s cache.Store, d cache.Digest, change func([]byte) []byte) {
					rewrite(t, s.(*cache.Local).Path(d), change)
				},
				RewriteRecord: func(t *testing.T, s cache.Store, k cache.Key, change func([]byte) []byte) {
					rewrite(t, recordPath(s.(*cache.Local), k), change)
				},
			})
		})
	}
}
