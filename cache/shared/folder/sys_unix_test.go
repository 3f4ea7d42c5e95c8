//go:build unix

package folder

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"raglab/cache/shared"
)

// TestExplain_fullDisk takes a full disk for an outage, and a missing right for what will not pass.
func TestExplain_fullDisk(t *testing.T) {
	t.Parallel()
	for errno, permanent := range map[unix.Errno]bool{unix.ENOSPC: false, unix.EDQUOT: false, unix.EROFS: true, unix.EACCES: true} {
		if err := explain(&os.PathError{Op: "write", Path: "x", Err: errno}); errors.Is(err, shared.ErrPermanent) != permanent {
			t.Errorf("%v: permanent %v, want %v", errno, !permanent, permanent)
		}
	}
}
