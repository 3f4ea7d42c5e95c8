package private

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// errHeld says that another open file has the lock.
var errHeld = errors.New("the lock is held")

// lockMode tells a lock for one from a lock for many.
type lockMode int

const (
	exclusive lockMode = iota
	shared
)

// lockPoll is how often a waiter asks again: waiting in the kernel could not be
// cancelled, and what is waited for takes some tenths of a second.
const lockPoll = 10 * time.Millisecond

// tryLock takes the lock of the file at path, making the file if needed, or
// returns errHeld. Closing the file, also by the death of the process, frees it.
func tryLock(path string, mode lockMode) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f, mode); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// waitLock is tryLock that waits until ctx is done.
func waitLock(ctx context.Context, path string, mode lockMode) (*os.File, error) {
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		f, err := tryLock(path, mode)
		if !errors.Is(err, errHeld) {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the lock %s: %w", path, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// held tells whether somebody has the lock that is taken in a mode. An exclusive
// lock is asked for as a shared one, so that those who ask do not see each other.
func held(path string, by lockMode) (bool, error) {
	ask := shared
	if by == shared {
		ask = exclusive
	}
	f, err := tryLock(path, ask)
	if errors.Is(err, errHeld) {
		return true, nil
	}
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return false, f.Close()
}
