package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// corrupt-store DIR EXPERIMENT ADDRESS flips a bit in the first output of a stage, in the
// shared folder DIR.
func cmdCorruptStore(ts *testscript.TestScript, args []string) {
	usage(ts, args, 3, "corrupt-store DIR EXPERIMENT ADDRESS")
	c := openCache(ts)
	defer func() { ts.Check(c.Close()) }()
	r, err := c.Get(context.Background(), lastKey(ts, c, args[1], args[2]))
	ts.Check(err)
	name := r.Outputs[0].Digest.String()
	path := filepath.Join(ts.MkAbs(args[0]), "cas", name[:2], name)
	b, err := os.ReadFile(path)
	ts.Check(err)
	b[len(b)/2] ^= 1
	ts.Check(os.Chmod(path, 0o644))
	ts.Check(os.WriteFile(path, b, 0o444))
}

// objects DIR prints how many blobs, records and other objects a shared folder holds.
func cmdObjects(ts *testscript.TestScript, args []string) {
	usage(ts, args, 1, "objects DIR")
	root := ts.MkAbs(args[0])
	counts := map[string]int{}
	ts.Check(filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		first, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
		counts[first]++
		return err
	}))
	for _, name := range []string{"ac", "cas", "pins", "sessions"} {
		_, err := fmt.Fprintf(ts.Stdout(), "%s %d\n", name, counts[name])
		ts.Check(err)
	}
}
