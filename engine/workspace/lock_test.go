package workspace_test

import (
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"raglab/axes/source/sourcetest"
	"raglab/engine/workspace"
)

// lockSpec writes a spec over a wiki of one article and returns its path.
func lockSpec(t *testing.T, wiki *sourcetest.MediaWiki) string {
	t.Helper()
	server := httptest.NewServer(wiki)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	err := errors.Join(
		os.WriteFile(filepath.Join(dir, "golden.jsonl"), []byte(`{"id":"q1","question":"long river","relevant":[{"doc":"1000"}]}`+"\n"), 0o644),
		os.WriteFile(filepath.Join(dir, "s.hcl"), []byte(`experiment "s" {}
corpus "wikipedia" {
  language = "uk"
  titles   = ["Дніпро"]
  lock     = "locks.json"
  api      = "`+server.URL+`"
}
golden { file = "golden.jsonl" }
`), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "s.hcl")
}

// TestLocks_areWrittenWholeOrNotAtAll locks over what is no lock, and expects the
// results of a pinned corpus to stay while the wiki changes.
func TestLocks_areWrittenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	wiki := sourcetest.NewMediaWiki([]sourcetest.Article{{Title: "Дніпро", Text: "A long river."}})
	path := lockSpec(t, wiki)
	lock := filepath.Join(filepath.Dir(path), "locks.json")
	w := open(t, t.TempDir())
	s := start(t, w, path, nil)
	if u := s.Unpinned(); len(u) != 1 || !strings.HasPrefix(u[0], "corpus: ") {
		t.Errorf("unpinned: %q", u)
	}
	files, err := s.Locks(t.Context(), nil, func(string, int, int) {})
	if err != nil || len(files) != 1 || !files[0].Changed() {
		t.Fatalf("%+v, %v", files, err)
	}
	if _, err := os.Stat(lock); err == nil {
		t.Error("asking wrote the file")
	}
	if err := files[0].Write(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 3 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
	s = start(t, w, path, nil)
	if u := s.Unpinned(); len(u) != 0 {
		t.Errorf("unpinned: %q", u)
	}
	apply(t, s)
	wiki.Edit("Дніпро", "Another text.", "")
	plan, err := start(t, w, path, nil).Plan(t.Context(), workspace.Selection{})
	if err != nil || plan.Changes() {
		t.Errorf("a wiki that changed makes work: %v", err)
	}
}
