package cache

import (
	"errors"
	"fmt"
)

// WriteError is a write that the world refused for a reason the user can do something about. It
// unwraps to the operating system's error.
type WriteError struct {
	// Dir is the cache folder.
	Dir string
	// Advice says what to do.
	Advice string
	Err    error
}

// Error says where, what and what to do about it.
func (e *WriteError) Error() string {
	return fmt.Sprintf("write to cache folder %s: %v; %s", e.Dir, e.Err, e.Advice)
}

// Unwrap is the error underneath.
func (e *WriteError) Unwrap() error { return e.Err }

// explainWrite turns a full disk, a read-only file system or missing permission into a
// *WriteError. Every other error passes as it is.
func explainWrite(dir string, err error) error {
	if err == nil || errors.As(err, new(*WriteError)) {
		return err
	}
	advice := ""
	switch {
	case isAny(err, noSpace):
		advice = "free space on that disk, run `raglab cache gc`, or name another folder with --cache or RAGLAB_CACHE"
	case isAny(err, noWrite):
		advice = "that file system is read-only: name another folder with --cache or RAGLAB_CACHE"
	case isAny(err, noAccess):
		advice = "make the folder writable for this user, or name another with --cache or RAGLAB_CACHE"
	default:
		return err
	}
	return &WriteError{Dir: dir, Advice: advice, Err: err}
}

func isAny(err error, targets []error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}
