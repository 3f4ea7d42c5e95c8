package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// bench is what rows measure with.
type bench struct {
	o       options
	root    string // of the checkout
	work    string // scratch folder
	raglab  string // the program
	self    string // this program, for drivers
	peers   peerFolder
	machine machine
	close   func()
}

func newBench(ctx context.Context, o options) (*bench, error) {
	dir, err := root()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if o.out == "" {
		o.out = filepath.Join(dir, "results", "bench.jsonl")
	}
	b := &bench{o: o, root: dir, self: self, machine: readMachine(o.cores), close: func() {}}
	b.peers = findPeers(dir)
	if b.work = o.work; b.work == "" {
		if b.work, err = os.MkdirTemp("", "raglab-bench-"); err != nil {
			return nil, err
		}
		b.close = func() { os.RemoveAll(b.work) }
	} else if b.work, err = filepath.Abs(b.work); err != nil {
		return nil, err
	}
	if b.raglab, err = b.program(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// program builds raglab, or takes the one that the flags name.
func (b *bench) program(ctx context.Context) (string, error) {
	if b.o.raglab != "" {
		return filepath.Abs(b.o.raglab)
	}
	path := filepath.Join(b.work, "raglab")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", path, "./cmd/raglab")
	build.Dir, build.Stderr = b.root, os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("build raglab: %w", err)
	}
	return path, nil
}

// made returns the folder of inputs with that name, filled by fill unless an
// earlier run with the same -work has. A fill that fails leaves nothing.
func (b *bench) made(name string, fill func(dir string) error) (string, error) {
	final := filepath.Join(b.work, name)
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	dir := final + ".part"
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := fill(dir); err != nil {
		return "", fmt.Errorf("make %s: %w", name, err)
	}
	return final, os.Rename(dir, final)
}

// fresh returns an empty folder of that name.
func (b *bench) fresh(name string) (string, error) {
	dir := filepath.Join(b.work, name)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// driver runs one of this program's drivers in a process of its own.
func (b *bench) driver(name string, args ...string) runner {
	return func(ctx context.Context) ([]sample, error) {
		return output(ctx, nil, append([]string{b.self, driverFlag, name}, args...)...)
	}
}

// size is full, or quick when small inputs are asked for.
func (b *bench) size(full, quick int) int {
	if b.o.quick {
		return quick
	}
	return full
}

// inner is how often a step of less than a second is repeated within a turn.
func (b *bench) inner() string { return strconv.Itoa(b.size(3, 1)) }
