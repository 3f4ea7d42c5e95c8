package assets

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"raglab/internal/durable"
)

// writeAtomic makes the file at path with what write writes: a temporary file in
// the same folder, synced, then renamed. A crash leaves the old state or the new.
func writeAtomic(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails, as it should, once the file is renamed
	w := bufio.NewWriterSize(f, 1<<20)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return publish(f.Name(), path)
}

// publish makes the finished file temp visible as path: synced, read-only, and
// renamed within its folder, which is synced too.
func publish(temp, path string) error {
	if err := syncFile(temp); err != nil {
		return fmt.Errorf("sync %s: %w", temp, err)
	}
	if err := os.Chmod(temp, 0o444); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return durable.SyncFolder(filepath.Dir(path))
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = f.Sync()
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
