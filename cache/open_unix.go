//go:build unix

package cache

import (
	"io/fs"
	"os"
	"syscall"
)

// openRegular opens a regular file to be read. [os.Open] asks the system five
// more questions, to learn whether the file can be waited for; with a thousand
// records to read that is felt.
func openRegular(path string) (*os.File, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		switch err {
		case nil:
			return os.NewFile(uintptr(fd), path), nil
		case syscall.EINTR:
		default:
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}
