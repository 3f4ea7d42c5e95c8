package onnx

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A process loads one library at most, so that each case is one of its own: the
// test binary runs itself.
const childLoad = "RAGLAB_TEST_LOAD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childLoad); path != "" {
		_, err := Load(path)
		fmt.Println(err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestLoad_unusableLibrary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text.so")
	if err := os.WriteFile(text, []byte("not a library"), 0o666); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ path, problem string }{
		"missing": {filepath.Join(dir, "missing.so"), "load ONNX Runtime: stat " + filepath.Join(dir, "missing.so") + ": no such file"},
		"folder":  {dir, "this is a folder, expected the shared library in it"},
		"text":    {text, "load ONNX Runtime " + text + ": "},
	}
	if old := oldLibrary(t, dir); old != "" {
		tests["old"] = struct{ path, problem string }{old, "the library is older than ONNX Runtime 1.24, or not ONNX Runtime"}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), childLoad+"="+test.path)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), test.problem) {
				t.Errorf("%v, said %q, expected %q", err, out, test.problem)
			}
		})
	}
}

// oldLibrary compiles a library that refuses the API version, as an old ONNX
// Runtime does. It returns an empty path where there is no C compiler.
func oldLibrary(t *testing.T, dir string) string {
	t.Helper()
	source := `
typedef struct { const void *(*get)(unsigned); const char *(*version)(void); } base;
static const void *get(unsigned v) { (void)v; return 0; }
static const char *version(void) { return "1.10.0"; }
static const base b = { get, version };
const base *OrtGetApiBase(void) { return &b; }
`
	c, so := filepath.Join(dir, "old.c"), filepath.Join(dir, "old.so")
	if err := os.WriteFile(c, []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "cc", "-shared", "-fPIC", "-o", so, c).CombinedOutput(); err != nil {
		t.Logf("no old library: %v %s", err, out)
		return ""
	}
	return so
}
