package cache

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"
)

// setAside moves what was found damaged to the quarantine, where it can be examined, so that it
// is found missing from now on. It moves the very file that was seen and nothing that took its
// name meanwhile. A read-only store only reports. What it can do is noted in e.
func (l *Local) setAside(seen fs.FileInfo, e *CorruptError) {
	if !l.opts.ReadOnly {
		if err := l.moveAside(seen, e); err != nil {
			e.Detail += "; it could not be set aside: " + err.Error()
		}
	}
	if l.opts.OnCorrupt != nil {
		l.opts.OnCorrupt(e)
	}
}

func (l *Local) moveAside(seen fs.FileInfo, e *CorruptError) error {
	rel, err := filepath.Rel(l.dir, e.Path)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	lk, err := l.lockFolder(path.Dir(rel), lockExclusive)
	if err != nil {
		return err
	}
	defer lk.unlock()
	there, err := os.Lstat(e.Path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(seen, there) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := l.failpoint(StepRemove, rel); err != nil {
		return err
	}
	to := l.path(quarantineDir + "/" + path.Base(rel) + "-" + strconv.FormatUint(rand.Uint64(), 36) + ".bad")
	if err := l.moveTo(e.Path, to); err != nil {
		// It must not stay where it would be found again; the corpse matters less than that.
		return errors.Join(err, os.Remove(e.Path))
	}
	e.MovedTo = to
	return nil
}

// moveTo moves a file and dates it today: collection counts the age of a corpse from there.
func (l *Local) moveTo(from, to string) error {
	err := renameFile(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(to), 0o755); err == nil {
			err = renameFile(from, to)
		}
	}
	if err != nil {
		return err
	}
	if err := os.Chtimes(to, time.Time{}, l.now()); err != nil && !isAny(err, noAccess) {
		return err
	}
	return nil
}
