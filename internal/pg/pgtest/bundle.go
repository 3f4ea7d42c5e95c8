// Package pgtest gives tests a Postgres: the programs, a private server of the test
// binary's own, and a schema for each test.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"raglab/internal/assets"
	"raglab/internal/pg/private"
)

// Main runs a test binary's tests; TestMain passes its result to os.Exit. The
// binary is its own supervisor of private servers.
func Main(m *testing.M) int {
	if private.IsSupervisor(os.Args) {
		return private.Supervise(os.Args)
	}
	code := m.Run()
	if err := shared.stop(); err != nil {
		os.Stderr.WriteString("stop the server of the tests: " + err.Error() + "\n")
		return max(code, 1)
	}
	return code
}

// Bundle returns the folder tree of the Postgres bundle and the folder with its
// programs, fetching it on first use. A test whose bundle cannot be had is skipped
// with a line that begins with SKIP-ASSETS; in continuous integration, where the
// variable CI is set, it fails.
func Bundle(t testing.TB) (tree, programs string) {
	t.Helper()
	tree, programs, err := Fetch(t.Context())
	if err != nil {
		Skip(t, "SKIP-ASSETS: %v", err)
	}
	return tree, programs
}

// Skip skips a test that lacks something; in continuous integration, where the
// variable CI is set, the test fails.
func Skip(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// Fetch is [Bundle] for those who decide themselves what to do without it. The tree
// is a folder of the user's assets folder, as raglab unpacks it there.
func Fetch(ctx context.Context) (tree, programs string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Minute, errors.New("the bundle took more than 5 minutes"))
	defer cancel()
	store := assets.New(assets.Config{Dir: filepath.Join(cache, "raglab", "assets")})
	paths, err := store.Fetch(ctx, assets.Postgres(), nil)
	if err != nil {
		return "", "", err
	}
	return assets.PostgresTree(ctx, paths)
}

// Private returns the configuration of a private server of the test's own, which
// is stopped and removed, and seen to be gone, when the test ends.
func Private(t testing.TB) private.Config {
	t.Helper()
	tree, programs := Bundle(t)
	return serverOf(t, tree, programs)
}

// Debian is [Private] with Debian's own Postgres, which has the extensions of
// Postgres's sources and no pgvector: the bundle is the other way round.
func Debian(t testing.TB) private.Config {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		Skip(t, "SKIP-POSTGRES: Debian's package postgresql is not installed")
	}
	programs := filepath.Dir(filepath.Dir(found[len(found)-1]))
	return serverOf(t, programs, programs)
}

func serverOf(t testing.TB, tree, programs string) private.Config {
	t.Helper()
	dir, err := temporaryDir()
	if err != nil {
		t.Fatal(err)
	}
	c := private.Config{Dir: dir, Tree: tree, Programs: programs, IdleAfter: 20 * time.Second}
	t.Cleanup(func() {
		if err := Remove(c.Dir); err != nil {
			t.Error(err)
		}
		os.RemoveAll(dir)
	})
	return c
}

// Remove stops the private server in a folder, if there is one, removes what it
// left anywhere, and sees that none of its processes goes on.
func Remove(dir string) error {
	// To drop a server takes no programs.
	c := private.Config{Dir: dir, Programs: filepath.Join(filepath.Dir(dir), "no programs")}
	status, err := private.Look(c)
	if err == nil {
		err = private.Drop(context.Background(), c, true)
	}
	if err != nil {
		return fmt.Errorf("remove the server of the test: %w", err)
	}
	for _, pid := range []int{status.Supervisor, status.Server} {
		if pid != 0 && !ends(pid) {
			return fmt.Errorf("process %d of the server in %s was left behind", pid, dir)
		}
	}
	return nil
}

// ends waits for the end of a process that has let go of all it held.
func ends(pid int) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for Alive(pid) {
		select {
		case <-tick.C:
		case <-deadline:
			return false
		}
	}
	return true
}

// temporaryDir makes a folder that an unprivileged account can pass: that of
// testing.T.TempDir is closed to others.
func temporaryDir() (string, error) {
	dir, err := os.MkdirTemp("", "raglab-pg-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o711)
}
