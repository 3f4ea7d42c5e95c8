package assets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// errLocked says that another holder has the lock.
var errLocked = errors.New("locked by another process")

// lockPoll is how often a waiter looks whether the lock is free. The operating
// system's own waiting cannot be cancelled, and a download takes seconds.
const lockPoll = 50 * time.Millisecond

// acquire takes the lock file at path for this caller alone, also against other
// goroutines of the process, and returns the function that gives it back. The
// system gives it back when the process dies. While another holds it, waiting is
// called once and acquire waits until ctx ends.
func acquire(ctx context.Context, path string, waiting func()) (func(), error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for first := true; ; first = false {
		err := tryLock(f)
		if err == nil {
			// Closing gives the lock back. The file stays: removing it would let
			// two holders lock two files of one name.
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, errLocked) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("wait for lock %s: %w", path, context.Cause(ctx))
		case <-tick.C:
		}
	}
}
