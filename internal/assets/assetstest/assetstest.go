// Package assetstest gives tests the assets they need.
package assetstest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"raglab/internal/assets"
)

// Dir returns the folder of a known asset in the user's own assets folder,
// fetching it on first use. A test whose asset cannot be had is skipped with a
// line that begins with SKIP-ASSETS; in continuous integration, where the
// variable CI is set, it fails.
func Dir(t testing.TB, name string) string {
	t.Helper()
	skip := t.Skipf
	if os.Getenv("CI") != "" {
		skip = t.Fatalf
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		skip("SKIP-ASSETS: %v", err)
	}
	asset, ok := assets.Find(name)
	if !ok {
		t.Fatalf("no asset is called %q", name)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Minute, context.DeadlineExceeded)
	defer cancel()
	store := assets.New(assets.Config{Dir: filepath.Join(cache, "raglab", "assets")})
	paths, err := store.Fetch(ctx, asset, nil)
	if err != nil {
		skip("SKIP-ASSETS: %v", err)
	}
	return paths.Dir
}
