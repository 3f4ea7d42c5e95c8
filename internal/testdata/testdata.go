// Package testdata finds the public data sets that some tests read.
//
// The data is not part of the repository: it lies in a folder named shared
// beside the checkout. A test that needs it skips, and says so, where it is
// absent. In continuous integration, where the variable CI is set, it fails
// instead: a test that never runs proves nothing.
package testdata

import (
	"os"
	"path/filepath"
	"testing"
)

// Shared returns the absolute path of name below the shared data folder beside
// the checkout. It skips the test when the file or folder is not there.
func Shared(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(Root(t), "..", "shared", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		skip := t.Skipf
		if os.Getenv("CI") != "" {
			skip = t.Fatalf
		}
		skip("SKIP-SHARED: ../shared/%s is not there", name)
	}
	return path
}

// Root returns the folder of the checkout: the nearest one above the working
// folder that holds go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the working folder")
		}
		dir = parent
	}
}
