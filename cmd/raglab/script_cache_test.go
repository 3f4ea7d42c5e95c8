package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"raglab/cache"
	"raglab/engine"
)

// openCache opens the script's cache.
func openCache(ts *testscript.TestScript) *cache.Local {
	c, err := cache.OpenLocal(ts.Getenv("RAGLAB_CACHE"), cache.Options{Command: "a test"})
	ts.Check(err)
	return c
}

// lastApply is how many applies of all experiments left a log, and the addresses
// of the stages that ran in the last, in order.
type lastApply struct {
	runs      int
	addresses []string
}

func executed(ts *testscript.TestScript) lastApply {
	c := openCache(ts)
	defer func() { ts.Check(c.Close()) }()
	experiments, err := c.Experiments()
	ts.Check(err)
	var out lastApply
	last := ""
	for _, e := range experiments {
		runs, err := c.Runs(e)
		ts.Check(err)
		out.runs += len(runs)
		if len(runs) == 0 || runs[0].ID < last {
			continue
		}
		last = runs[0].ID
		l, err := readRunLog(c, e, last)
		ts.Check(err)
		out.addresses = nil
		for _, s := range l.Stages {
			if s.State == "executed" {
				out.addresses = append(out.addresses, s.Address)
			}
		}
	}
	slices.Sort(out.addresses)
	return out
}

// ran prints how many applies left a log and the addresses of the stages that
// ran in the last, in order.
func cmdRan(ts *testscript.TestScript, _ []string) {
	l := executed(ts)
	fmt.Fprintf(ts.Stdout(), "%d runs\n", l.runs)
	for _, a := range l.addresses {
		fmt.Fprintln(ts.Stdout(), a)
	}
}

// lastKey is the key of the result that an experiment's last apply left for a
// stage.
func lastKey(ts *testscript.TestScript, c *cache.Local, experiment, address string) cache.Key {
	raw, err := c.State(experiment).Read("ledger")
	ts.Check(err)
	l, err := engine.ParseLedger(raw)
	ts.Check(err)
	e, ok := l[address]
	if !ok {
		ts.Fatalf("the ledger of %s has no %s", experiment, address)
	}
	return e.Key
}

func blobPath(c *cache.Local, d cache.Digest) string {
	name := d.String()
	return filepath.Join(c.Dir(), "cas", name[:2], name)
}

// corrupt FILE flips a bit in the middle of a file; corrupt EXPERIMENT ADDRESS
// does so in the first output of a stage.
func cmdCorrupt(ts *testscript.TestScript, args []string) {
	usage(ts, args, 1, "corrupt FILE | EXPERIMENT ADDRESS")
	path := ts.MkAbs(args[0])
	if len(args) == 2 {
		c := openCache(ts)
		defer func() { ts.Check(c.Close()) }()
		r, err := c.Get(context.Background(), lastKey(ts, c, args[0], args[1]))
		ts.Check(err)
		path = blobPath(c, r.Outputs[0].Digest)
	}
	b, err := os.ReadFile(path)
	ts.Check(err)
	if len(b) == 0 {
		ts.Fatalf("%s is empty", path)
	}
	b[len(b)/2] ^= 1
	ts.Check(os.Chmod(path, 0o644))
	ts.Check(os.WriteFile(path, b, 0o444))
}

// forget record|blob EXPERIMENT ADDRESS removes the record or the first output
// of a stage's result.
func cmdForget(ts *testscript.TestScript, args []string) {
	usage(ts, args, 3, "forget record|blob EXPERIMENT ADDRESS")
	c := openCache(ts)
	defer func() { ts.Check(c.Close()) }()
	key := lastKey(ts, c, args[1], args[2])
	if args[0] == "record" {
		ts.Check(c.Delete(context.Background(), key))
		return
	}
	r, err := c.Get(context.Background(), key)
	ts.Check(err)
	ts.Check(os.Remove(blobPath(c, r.Outputs[0].Digest)))
}

// secret-cache checks that no file of the cache holds it.
func cmdSecretCache(ts *testscript.TestScript, _ []string) {
	files := 0
	ts.Check(filepath.WalkDir(ts.Getenv("RAGLAB_CACHE"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(theSecret)) {
			return fmt.Errorf("%s holds the secret", path)
		}
		return err
	}))
	if files == 0 {
		ts.Fatalf("the cache is empty")
	}
}

// keyof NAME EXPERIMENT ADDRESS sets a variable to the key of a stage's result.
func cmdKeyOf(ts *testscript.TestScript, args []string) {
	usage(ts, args, 3, "keyof NAME EXPERIMENT ADDRESS")
	c := openCache(ts)
	defer func() { ts.Check(c.Close()) }()
	ts.Setenv(args[0], lastKey(ts, c, args[1], args[2]).String())
}

// age makes everything in the cache but assets and databases look as if it had
// last been used two days ago.
func cmdAge(ts *testscript.TestScript, _ []string) {
	then := time.Now().Add(-48 * time.Hour)
	ts.Check(filepath.WalkDir(ts.Getenv("RAGLAB_CACHE"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "assets" || d.Name() == "postgres"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		return os.Chtimes(path, then, then)
	}))
}

// await-log EXPERIMENT waits until an apply that was started in the background
// has begun: its log is there and has no end.
func cmdAwaitLog(ts *testscript.TestScript, args []string) {
	usage(ts, args, 1, "await-log EXPERIMENT")
	c := openCache(ts)
	defer func() { ts.Check(c.Close()) }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 4000 {
		runs, err := c.Runs(args[0])
		ts.Check(err)
		if len(runs) > 0 {
			if l, err := readRunLog(c, args[0], runs[0].ID); err == nil && l.End == nil {
				return
			}
		}
		<-tick.C
	}
	ts.Fatalf("no apply of %s is under way", args[0])
}

// falsify EXPERIMENT ADDRESS puts another result in the place of a stage's: its
// first output with a byte more.
func cmdFalsify(ts *testscript.TestScript, args []string) {
	usage(ts, args, 2, "falsify EXPERIMENT ADDRESS")
	ctx := context.Background()
	c := openCache(ts)
	defer func() { ts.Check(c.Close()) }()
	r, err := c.Get(ctx, lastKey(ts, c, args[0], args[1]))
	ts.Check(err)
	b, err := c.ReadAll(ctx, r.Outputs[0].Digest)
	ts.Check(err)
	w, err := c.Create(ctx)
	ts.Check(err)
	_, err = w.Write(append(b, ' '))
	ts.Check(err)
	blob, err := w.Commit()
	ts.Check(err)
	blob.Name = r.Outputs[0].Name
	other := *r
	other.Outputs = append([]cache.Blob{blob}, r.Outputs[1:]...)
	ts.Check(c.Delete(ctx, r.Key))
	_, err = c.Put(ctx, &other)
	ts.Check(err)
}

// heldLeases is where a script keeps the leases that it holds.
type heldLeases struct {
	cache  *cache.Local
	leases []*cache.Lease
}

// lease ADDRESS takes, in the test's own process, the lease of a stage's key as
// the last command's output, of plan -json, tells it.
func cmdLease(ts *testscript.TestScript, args []string) {
	usage(ts, args, 1, "lease ADDRESS")
	var key cache.Key
	for _, e := range parseEvents(ts, ts.ReadFile("stdout")) {
		if e.Change.Address == args[0] {
			var err error
			key, err = cache.ParseKey(e.Change.Key)
			ts.Check(err)
		}
	}
	if key.IsZero() {
		ts.Fatalf("the last output plans no key for %s", args[0])
	}
	c := openCache(ts)
	l, err := c.Acquire(context.Background(), key, cache.LeaseRequest{Command: "a test", Timeout: time.Second})
	ts.Check(err)
	held := ts.Value(heldKey{}).(*heldLeases)
	held.cache, held.leases = c, append(held.leases, l)
}

type heldKey struct{}

func (h *heldLeases) release() error {
	var errs []error
	for _, l := range h.leases {
		errs = append(errs, l.Release())
	}
	if h.cache != nil {
		errs = append(errs, h.cache.Close())
	}
	*h = heldLeases{}
	return errors.Join(errs...)
}

// release gives back all leases.
func cmdRelease(ts *testscript.TestScript, _ []string) {
	ts.Check(ts.Value(heldKey{}).(*heldLeases).release())
}
