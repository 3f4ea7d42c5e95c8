package revision

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"HEAD~1:results/docs.json": {"HEAD~1", "results/docs.json"}, "main:a:b": {"main", "a:b"},
		"docs.json": {}, `C:\results.json`: {}, "HEAD:": {}, ":a": {}, "": {},
	} {
		commit, file, ok := Split(name)
		if ok != (want[0] != "") || ok && (commit != want[0] || file != want[1]) {
			t.Errorf("%q: %q, %q, %v", name, commit, file, ok)
		}
	}
}

// repository has two commits of results/docs.json.
func repository(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git program")
	}
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	for _, text := range []string{"first", "second"} {
		if err := os.MkdirAll(filepath.Join(dir, "results"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "results", "docs.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		git("add", "-A")
		git("commit", "-qm", text)
	}
	return dir
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	for _, tc := range []struct{ folder, commit, file, want string }{
		{dir, "HEAD", "results/docs.json", "second"},
		{dir, "HEAD~1", "results/docs.json", "first"},
		{filepath.Join(dir, "results"), "HEAD~1", "docs.json", "first"},
		{filepath.Join(dir, "results"), "HEAD~1", "../results/docs.json", "first"},
	} {
		got, err := Read(t.Context(), tc.folder, tc.commit, tc.file)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s of %s in %s: %q, %v", tc.file, tc.commit, tc.folder, got, err)
		}
	}
	for _, tc := range []struct{ commit, file, want string }{
		{"HEAD", "gone.json", "read gone.json of commit HEAD: "},
		{"nosuch", "results/docs.json", "read results/docs.json of commit nosuch: "},
		{"--help", "results/docs.json", "give a commit, a colon and a path relative to this folder"},
		{"HEAD", dir, "give a commit, a colon and a path relative to this folder"},
	} {
		if _, err := Read(t.Context(), dir, tc.commit, tc.file); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s of %s: %v", tc.file, tc.commit, err)
		}
	}
}
