package cache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// sweepBlobs comes after all records that go are gone, and those that stayed after all are
// counted again.
func (c *collection) sweepBlobs(ctx context.Context) error {
	for _, b := range c.blobs {
		if !c.garbage(b) {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		went, err := c.remove(blobRel(b.digest), b.used)
		if err != nil {
			return err
		}
		if went {
			c.report.Removed.Blobs.Add(b.bytes)
		}
	}
	return nil
}

func (c *collection) remove(rel string, seen time.Time) (bool, error) {
	if c.o.DryRun {
		return true, nil
	}
	return c.l.removeUnused(rel, seen)
}

// sweepDrafts removes what killed processes were writing. A draft that is still being written is
// younger than its session, and so than the floor.
func (c *collection) sweepDrafts(ctx context.Context) error {
	return c.sweep(ctx, "", c.floor, &c.report.Removed.Drafts, isDraft)
}

func (c *collection) sweepQuarantine(ctx context.Context) error {
	age := corpseAge
	if c.o.MaxAge > 0 {
		age = c.o.MaxAge
	}
	all := func(string) bool { return true }
	return c.sweep(ctx, quarantineDir, c.now.Add(-age), &c.report.Removed.Quarantine, all)
}

// sweep removes the files below a folder that are meant by their name and older than a limit.
func (c *collection) sweep(ctx context.Context, dir string, limit time.Time, t *Tally, meant func(name string) bool) error {
	return filepath.WalkDir(c.l.path(dir), func(path string, e fs.DirEntry, err error) error {
		if ctxErr := context.Cause(ctx); ctxErr != nil {
			return ctxErr
		}
		if errors.Is(err, fs.ErrNotExist) || err == nil && (e.IsDir() || !meant(e.Name())) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.ModTime().Before(limit) {
			return nil
		}
		if err == nil && !c.o.DryRun {
			err = os.Remove(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		t.Add(info.Size())
		return nil
	})
}

// sweepLocks removes the lock files of processes that died without doing so.
func (c *collection) sweepLocks(context.Context) error {
	for _, path := range c.dead {
		went := c.o.DryRun
		if !went {
			var err error
			if went, err = removeDead(path); err != nil {
				return err
			}
		}
		if went {
			c.report.DeadLocks++
		}
	}
	return nil
}
