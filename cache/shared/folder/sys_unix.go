//go:build unix

package folder

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// isPassing reports errors of a network file system that may pass. A disk that is full is one: who can
// do without the store goes on.
func isPassing(err error) bool {
	for _, e := range []error{unix.EINTR, unix.EAGAIN, unix.EIO, unix.ESTALE, unix.ETIMEDOUT, unix.EHOSTDOWN, unix.EBUSY, unix.ENFILE, unix.EMFILE, unix.ENOSPC, unix.EDQUOT} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// openRead opens a file. A pipe in its place is not waited for.
func openRead(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
}

// syncDir makes the entries of a folder durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	err = f.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return nil // a file system that keeps no order of its own to wait for
	}
	return err
}
