package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

type lockMode int

const (
	lockExclusive lockMode = iota
	lockShared
)

var errWouldBlock = errors.New("lock is held")

// fileLock is an advisory lock of the operating system on a file that may be unlinked and made
// anew by others. Whoever has it knows that its path named this very file when it was taken.
type fileLock struct {
	f    *os.File
	path string
}

// tryLock opens (or makes) the file and locks it, or returns errWouldBlock. A lock won on a file
// that was unlinked between opening and locking would exclude nobody, hence the second look.
func tryLock(path string, mode lockMode) (*fileLock, error) {
	for {
		f, err := openLockFile(path)
		if err != nil {
			return nil, err
		}
		if err := flock(f, mode); err != nil {
			f.Close()
			return nil, err
		}
		lk := &fileLock{f: f, path: path}
		held, err := lk.current()
		if err == nil && held {
			return lk, nil
		}
		f.Close()
		if err != nil {
			return nil, err
		}
	}
}

func openLockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
}

// waitLock is tryLock for locks held for moments only: it asks again, ever less often, until ctx
// is done. Waiting in the kernel could not be cancelled.
func waitLock(ctx context.Context, path string, mode lockMode) (*fileLock, error) {
	for pause := newBackoff(200*time.Microsecond, 20*time.Millisecond); ; {
		lk, err := tryLock(path, mode)
		if !errors.Is(err, errWouldBlock) {
			return lk, err
		}
		if err := pause.wait(ctx); err != nil {
			return nil, fmt.Errorf("wait for %s: %w", path, err)
		}
	}
}

// current reports whether the path still names the locked file.
func (lk *fileLock) current() (bool, error) {
	mine, err := lk.f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Lstat(lk.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return os.SameFile(mine, there), nil
}

// unlock frees the lock and leaves the file for the next one.
func (lk *fileLock) unlock() error { return lk.f.Close() }

// remove unlinks the file while the lock is held, then frees it. Whoever opened the file before
// will see that its path names another one or none, and begin again.
func (lk *fileLock) remove() error {
	held, err := lk.current()
	if err != nil || !held {
		return errors.Join(err, lk.f.Close())
	}
	if !canRemoveOpen {
		return lk.f.Close()
	}
	return errors.Join(os.Remove(lk.path), lk.f.Close())
}

// backoff spaces attempts: each pause half as long again as the last, up to a limit, and spread
// at random so that those who wait do not ask in step.
type backoff struct{ next, limit time.Duration }

func newBackoff(first, limit time.Duration) *backoff { return &backoff{next: first, limit: limit} }

func (b *backoff) wait(ctx context.Context) error {
	t := time.NewTimer(b.next/2 + rand.N(b.next))
	defer t.Stop()
	b.next = min(b.next*3/2, b.limit)
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
