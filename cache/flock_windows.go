package cache

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// flock takes the lock of f without waiting; errWouldBlock when another handle has it. Windows
// locks are mandatory, so one byte far behind the end is locked: the text stays readable.
func flock(f *os.File, mode lockMode) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if mode == lockExclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	at := &windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errWouldBlock
	}
	return err
}

// renameFile replaces newPath by oldPath. A virus scanner or an indexer may hold either for a
// moment, so it is tried for up to two seconds.
func renameFile(oldPath, newPath string) error {
	var err error
	for wait := time.Millisecond; wait < time.Second; wait *= 2 {
		err = os.Rename(oldPath, newPath)
		if !errors.Is(err, windows.ERROR_SHARING_VIOLATION) && !errors.Is(err, windows.ERROR_ACCESS_DENIED) {
			return err
		}
		time.Sleep(wait)
	}
	return err
}

// syncFolder does nothing: Windows has no such call, NTFS journals its folders.
func syncFolder(string) error { return nil }

// canRemoveOpen says that a file cannot be removed while it is open.
const canRemoveOpen = false

// noSpace, noWrite and noAccess are the errors of a full disk or quota, of a medium that is
// write-protected, and of missing permission.
var (
	noSpace  = []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED}
	noWrite  = []error{windows.ERROR_WRITE_PROTECT}
	noAccess = []error{windows.ERROR_ACCESS_DENIED}
	// noLink are the errors of file systems without hard links.
	noLink = []error{windows.ERROR_NOT_SUPPORTED, windows.ERROR_INVALID_FUNCTION, windows.ERROR_TOO_MANY_LINKS}
)
