package cache

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"
)

// lockName is the file in a folder that is locked while an entry is removed or its time renewed.
const lockName = ".lock"

// folderLockTimeout bounds the wait for a folder's lock, which nobody holds but for moments.
const folderLockTimeout = 30 * time.Second

// lockFolder takes the lock of one folder: exclusive to remove an entry, shared to renew one's
// time. Making entries and reading them takes no lock.
func (l *Local) lockFolder(dir string, mode lockMode) (*fileLock, error) {
	// Not the caller's context: what is done under this lock is clean-up as often as not.
	ctx, cancel := context.WithTimeoutCause(context.Background(), folderLockTimeout, context.DeadlineExceeded)
	defer cancel()
	return waitLock(ctx, l.path(dir+"/"+lockName), mode)
}

// dirtyFolders remembers the folders with entries that a power cut could still lose. An fsync of
// a folder costs as much as one of a file, so it is left until something depends on it.
type dirtyFolders struct {
	root      string
	off       bool
	failpoint func(Step, string) error

	mu    sync.Mutex
	marks map[string]int // times marked: a mark made during an fsync outlives it
}

func (d *dirtyFolders) mark(dir string) {
	if d.off {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.marks == nil {
		d.marks = map[string]int{}
	}
	d.marks[dir]++
}

// flush syncs those of the folders that are marked, all at once: a journal commits them together.
func (d *dirtyFolders) flush(dirs ...string) error {
	marked := d.marked(dirs)
	errs := make([]error, len(marked))
	var all sync.WaitGroup
	i := 0
	for dir, seen := range marked {
		at := &errs[i]
		i++
		all.Go(func() { *at = d.syncOne(dir, seen) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (d *dirtyFolders) flushAll() error {
	d.mu.Lock()
	dirs := make([]string, 0, len(d.marks))
	for dir := range d.marks {
		dirs = append(dirs, dir)
	}
	d.mu.Unlock()
	return d.flush(dirs...)
}

func (d *dirtyFolders) marked(dirs []string) map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	marked := map[string]int{}
	for _, dir := range dirs {
		if n := d.marks[dir]; n > 0 {
			marked[dir] = n
		}
	}
	return marked
}

func (d *dirtyFolders) syncOne(dir string, seen int) error {
	if err := syncFolder(filepath.Join(d.root, filepath.FromSlash(dir))); err != nil {
		return err
	}
	d.mu.Lock()
	if d.marks[dir] == seen {
		delete(d.marks, dir)
	}
	d.mu.Unlock()
	return d.failpoint(StepSyncDir, dir)
}

// under lists the marked folders directly below dir.
func (d *dirtyFolders) under(dir string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var below []string
	for m := range d.marks {
		if relDir(m) == dir {
			below = append(below, m)
		}
	}
	return below
}
