//go:build !windows

package web

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncFolder makes renames within the folder durable.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	// Some file systems cannot sync a folder; the rename is then as durable as
	// they make it.
	if err := f.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}
