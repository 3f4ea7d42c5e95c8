package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"raglab/engine"
	"raglab/engine/workspace"
)

// TestShown_onlyWhileNothingChanged keeps what an apply showed, and expects it
// back only while the results, the spec and the files are the same.
func TestShown_onlyWhileNothingChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("docs/a.md", "# A\n\nThe river is long.\n")
	write("docs/b.md", "# B\n\nThe hill is high.\n")
	write("golden.jsonl", `{"id":"q1","question":"long river","relevant":[{"doc":"a"}]}`+"\n")
	spec := `experiment "shown" {}
corpus "files" { path = "docs" }
golden { file = "golden.jsonl" }
output "csv" { path = "out.csv" }
`
	write("s.hcl", spec)
	w := open(t, t.TempDir())
	once := func() (*workspace.Session, *engine.Outcomes) {
		s := start(t, w, filepath.Join(dir, "s.hcl"), nil)
		return s, apply(t, s)
	}
	write("out.csv", "what was written")
	s, out := once()
	if s.Shown(out) != nil {
		t.Error("something is shown before anything was kept")
	}
	if err := s.Remember(out, "the tables"); err != nil {
		t.Fatal(err)
	}
	if s.Shown(out) != nil {
		t.Error("an apply that ran stages shows what was kept")
	}
	s, out = once()
	if shown := s.Shown(out); shown == nil || shown.Text != "the tables" {
		t.Errorf("with nothing to do: %+v, want what was kept", shown)
	}
	write("out.csv", "edited by hand")
	if s.Shown(out) != nil {
		t.Error("an edited output passes for unchanged")
	}
	write("out.csv", "what was written")
	write("s.hcl", spec+"score { metrics = [\"recall@5\"] }\n")
	if s, out = once(); s.Shown(out) != nil {
		t.Error("another spec shows what was kept")
	}
}
