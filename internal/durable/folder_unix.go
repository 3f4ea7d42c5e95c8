//go:build !windows

package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// SyncFolder makes the entries of a folder durable, such as a file that was renamed
// into it.
func SyncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	// Some file systems cannot sync a folder and say so; a rename is then as durable
	// as they make it.
	if err := f.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}
