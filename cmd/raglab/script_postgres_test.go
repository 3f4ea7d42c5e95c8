package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"raglab/internal/pg/pgtest"
)

// postgres puts the programs of raglab's own server into the script's cache: a link
// to where the user's are.
func cmdPostgres(ts *testscript.TestScript, _ []string) {
	tree, _, err := pgtest.Fetch(context.Background())
	ts.Check(err)
	assets := filepath.Join(ts.Getenv("RAGLAB_CACHE"), "assets")
	ts.Check(os.MkdirAll(assets, 0o755))
	asset := filepath.Dir(filepath.Dir(tree))
	ts.Check(os.Symlink(asset, filepath.Join(assets, filepath.Base(asset))))
}

// database NAME makes an empty database and sets a variable to its address.
func cmdDatabase(ts *testscript.TestScript, args []string) {
	usage(ts, args, 1, "database NAME")
	dsn, drop, err := pgtest.Database(context.Background())
	ts.Check(err)
	ts.Defer(func() { _ = drop() })
	ts.Setenv(args[0], dsn)
}
