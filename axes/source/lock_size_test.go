package source_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"raglab/axes"
	"raglab/axes/source"
	"raglab/axes/source/sourcetest"
)

// pinnedAt is a source with a lock file.
type pinnedAt struct{ path string }

func (pinnedAt) Documents(context.Context) iter.Seq2[axes.Document, error]   { return nil }
func (pinnedAt) Inputs(context.Context) ([]string, error)                    { return nil, nil }
func (pinnedAt) Unpinned() string                                            { return "" }
func (p pinnedAt) LockFile() string                                          { return p.path }
func (pinnedAt) Lock(context.Context, func(done, total int)) ([]byte, error) { return nil, nil }

func TestLocked_readsNoMoreThanItMust(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "corpus.lock.json")
	for text, want := range map[string]int64{
		`{"source":"git","bytes":7,"files":[`:            7, // what follows is the source's to judge
		`{"version":1,"list":[{"bytes":9}],"bytes":2e3}`: 0, // no whole number
		`{"list":[{"bytes":9}],"bytes":12345678901234}`:  12345678901234,
		`{"list":[{"bytes":9}]}`:                         0,
		`{"bytes":-1}`:                                   0,
		`{"bytes":null}`:                                 0,
		`[{"bytes":9}]`:                                  0,
		`"bytes"`:                                        0,
		`{"bytes"`:                                       0,
		``:                                               0,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := source.Locked(pinnedAt{path}); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := source.Locked(pinnedAt{path}) + source.Locked(pinnedAt{}); got != 0 {
		t.Errorf("no lock says %d", got)
	}
}

// wantBytes holds what a lock says of the size against what is read: files have some
// bytes more than their texts.
func wantBytes(t *testing.T, s source.Source) {
	t.Helper()
	texts, documents := int64(0), int64(0)
	for _, d := range sourcetest.Read(t, s) {
		texts += int64(len(d.Text))
		documents++
	}
	if got := source.Locked(s); got < texts || got > 2*texts+100*documents {
		t.Errorf("the lock says %d bytes, and %d documents have texts of %d", got, documents, texts)
	}
}
