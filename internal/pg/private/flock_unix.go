//go:build unix

package private

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flock locks f without waiting. Go opens files close-on-exec, so that no child
// keeps the lock of its parent.
func flock(f *os.File, mode lockMode) error {
	how := unix.LOCK_EX
	if mode == shared {
		how = unix.LOCK_SH
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return errHeld
		default:
			return err
		}
	}
}
