//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package cache

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flock takes the lock of f without waiting; errWouldBlock when another open file has it. The
// kernel frees it when the last descriptor of this open file goes, so a killed process holds
// nothing. Go opens files close-on-exec: children do not inherit it.
func flock(f *os.File, mode lockMode) error {
	how := unix.LOCK_EX
	if mode == lockShared {
		how = unix.LOCK_SH
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return errWouldBlock
		}
		return err
	}
}

// renameFile replaces newPath by oldPath in one step.
func renameFile(oldPath, newPath string) error { return os.Rename(oldPath, newPath) }

// syncFolder makes the entries of a folder durable.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	err = f.Sync()
	// Some file systems know no fsync on folders and say so; there is nothing more to do there.
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return err
}

// canRemoveOpen says that a file can be unlinked while it is open.
const canRemoveOpen = true

// noSpace, noWrite and noAccess are the errors of a full disk or quota, of a file system that is
// mounted read-only, and of missing permission.
var (
	noSpace  = []error{unix.ENOSPC, unix.EDQUOT, unix.EFBIG}
	noWrite  = []error{unix.EROFS}
	noAccess = []error{unix.EACCES, unix.EPERM}
	// noLink are the errors of file systems without hard links.
	noLink = []error{unix.EPERM, unix.ENOTSUP, unix.ENOSYS, unix.EMLINK, unix.EXDEV}
)
