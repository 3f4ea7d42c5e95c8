package assets

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Derive returns the path of the file name in an asset's folder, made from the
// asset's files by write if it is not there yet. The name must contain the
// version of whatever write does, so that a new version makes a new file. However
// many goroutines and processes ask, it is made once; a crash leaves nothing
// under the name.
func Derive(ctx context.Context, dir, name string, write func(io.Writer) error) (string, error) {
	path := filepath.Join(dir, name)
	if err := makeOnce(ctx, path, func() error { return writeAtomic(path, write) }); err != nil {
		return "", fmt.Errorf("make %s: %w", path, err)
	}
	return path, nil
}

// makeOnce has the file or folder at path made if it is not there yet, by one of
// all that ask. What a crashed maker left beside it under path.tmp-* is removed.
func makeOnce(ctx context.Context, path string, make func() error) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	release, err := acquire(ctx, path+".lock", func() {})
	if err != nil {
		return err
	}
	defer release()
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	remains, err := filepath.Glob(path + ".tmp-*")
	if err != nil {
		return err
	}
	for _, r := range remains {
		os.RemoveAll(r)
	}
	return make()
}
