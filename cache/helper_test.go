package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func openTest(t testing.TB, dir string, opts Options) *Local {
	t.Helper()
	l, err := OpenLocal(dir, opts)
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

// newTest is a store in a new folder.
func newTest(t testing.TB) *Local {
	t.Helper()
	return openTest(t, t.TempDir(), Options{NoSync: true})
}

func keyOf(s string) Key { return Key(DigestOf([]byte(s))) }

// store puts a record with one output.
func store(t testing.TB, l *Local, name string) *Record {
	t.Helper()
	r := &Record{Key: keyOf(name), Outputs: []Blob{write(t, l, "out", []byte("output of "+name))}}
	got, err := l.Put(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// age makes every file of the store look as old as so long before its clock's now.
func age(t testing.TB, l *Local, by time.Duration) {
	t.Helper()
	then := l.now().Add(-by)
	for _, dir := range []string{casDir, acDir, memoDir, quarantineDir} {
		eachFile(t, l.path(dir), func(path string) {
			if err := os.Chtimes(path, then, then); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func eachFile(t testing.TB, dir string, f func(path string)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) || err == nil && e.IsDir() {
			return nil
		}
		if err == nil {
			f(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// tree is every file below dir with its content and time.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	eachFile(t, dir, func(path string) {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = fmt.Sprintf("%s %v %s", info.Mode(), info.ModTime(), DigestOf(b))
	})
	return files
}

// drafts lists what is being written, or was left.
func drafts(t testing.TB, l *Local) []string {
	t.Helper()
	var names []string
	eachFile(t, l.dir, func(path string) {
		if isDraft(filepath.Base(path)) {
			names = append(names, path)
		}
	})
	return names
}

func wantHit(t testing.TB, l *Local, k Key) {
	t.Helper()
	r, miss, err := Lookup(context.Background(), l, k)
	if err != nil || miss.Reason != Hit {
		t.Errorf("Lookup of %s: %+v, %v; want a hit", k.Short(), miss, err)
		return
	}
	for _, b := range r.Outputs {
		if _, err := l.ReadAll(context.Background(), b.Digest); err != nil {
			t.Errorf("output of a hit: %v", err)
		}
	}
}

func wantMiss(t testing.TB, l *Local, k Key) {
	t.Helper()
	if _, miss, err := Lookup(context.Background(), l, k); err != nil || miss.Reason == Hit {
		t.Errorf("Lookup of %s: %+v, %v; want a miss", k.Short(), miss, err)
	}
}
