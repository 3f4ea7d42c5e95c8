package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
)

// draftPrefix begins the name of every file that is still being written. No escaped name begins with
// a dot, so none is taken for a draft.
const draftPrefix = ".tmp-"

// placement says what happens when the target of a draft is there already.
type placement int

const (
	keepFirst placement = iota // the target stays; place fails with fs.ErrExist
	replace                    // the target is replaced in one step
)

// draft is a file being written, in a folder of the store, until it is whole and takes its name.
// It never shows under its name unless whole and synced.
type draft struct {
	l    *Local
	f    *os.File
	rel  string
	size int64

	finished, gone bool
}

// newDraft begins a file in the folder dir (slash path, "" for the root), made when it is missing.
// The file is read-only from the start; only this open handle writes to it.
func (l *Local) newDraft(dir string) (*draft, error) {
	if l.opts.ReadOnly {
		return nil, ErrReadOnly
	}
	name := draftPrefix + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatUint(rand.Uint64(), 36)
	rel := name
	if dir != "" {
		rel = dir + "/" + name
	}
	f, err := l.openNew(rel)
	if errors.Is(err, fs.ErrNotExist) {
		if err = l.makeFolder(dir); err == nil {
			f, err = l.openNew(rel)
		}
	}
	if err != nil {
		return nil, err
	}
	d := &draft{l: l, f: f, rel: rel}
	if err := l.failpoint(StepCreate, rel); err != nil {
		return nil, errors.Join(err, d.discard())
	}
	return d, nil
}

func (l *Local) openNew(rel string) (*os.File, error) {
	return os.OpenFile(l.path(rel), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
}

// makeFolder makes a folder and notes that its entry, and those above it, are to be synced.
func (l *Local) makeFolder(dir string) error {
	if err := os.MkdirAll(l.path(dir), 0o755); err != nil {
		return err
	}
	for dir != "" {
		dir = relDir(dir)
		l.dirs.mark(dir)
	}
	return nil
}

// Write appends to the draft.
func (d *draft) Write(p []byte) (int, error) {
	n, err := d.f.Write(p)
	d.size += int64(n)
	if err == nil {
		err = d.l.failpoint(StepWrite, d.rel)
	}
	return n, err
}

// finish makes the bytes durable and closes the file. What the file system says it holds must be
// what was written. Idempotent.
func (d *draft) finish() error {
	if d.finished {
		return nil
	}
	info, err := d.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != d.size {
		return fmt.Errorf("%s: wrote %d bytes, the file has %d", d.rel, d.size, info.Size())
	}
	if !d.l.opts.NoSync {
		if err := d.f.Sync(); err != nil {
			return err
		}
	}
	if err := d.l.failpoint(StepSync, d.rel); err != nil {
		return err
	}
	if err := d.f.Close(); err != nil {
		return err
	}
	d.finished = true
	if d.l.opts.Now != nil { // a test's clock: all times of a store must come from one clock
		if err := os.Chtimes(d.l.path(d.rel), d.l.now(), d.l.now()); err != nil {
			return err
		}
	}
	return d.l.failpoint(StepClose, d.rel)
}

// place gives a finished draft its name. The draft is used up unless it fails; the folder's entry
// is noted to be synced, which is the caller's to do.
func (d *draft) place(rel string, how placement) error {
	var err error
	if how == replace {
		err = renameFile(d.l.path(d.rel), d.l.path(rel))
		d.gone = err == nil
	} else {
		err = d.l.linkFirst(d.rel, rel)
	}
	if err != nil {
		return err
	}
	d.l.dirs.mark(relDir(rel))
	if err := d.l.failpoint(StepPlace, rel); err != nil {
		return err
	}
	return d.discard()
}

// discard removes the draft, or the second name it has after it was placed. Idempotent.
func (d *draft) discard() error {
	if d.gone {
		return nil
	}
	d.gone = true
	d.f.Close() // closed already after finish; there is nothing to lose otherwise
	err := os.Remove(d.l.path(d.rel))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// linkFirst gives the file a second name, in one step, unless that name is taken (fs.ErrExist).
// Without hard links the check and the rename happen under the folder's lock, which everybody
// takes on such a file system.
func (l *Local) linkFirst(from, to string) error {
	err := os.Link(l.path(from), l.path(to))
	if err == nil || errors.Is(err, fs.ErrExist) || !isAny(err, noLink) {
		return err
	}
	lk, err := l.lockFolder(relDir(to), lockExclusive)
	if err != nil {
		return err
	}
	defer lk.unlock()
	if _, err := os.Lstat(l.path(to)); err == nil {
		return fs.ErrExist
	}
	return renameFile(l.path(from), l.path(to))
}

// writeFile writes a small file in one go and makes its folder's entry durable.
func (l *Local) writeFile(rel string, b []byte, how placement) error {
	if err := l.placeFile(rel, b, how); err != nil {
		return err
	}
	return l.dirs.flush(relDir(rel), "")
}

// placeFile is writeFile without the folder's fsync.
func (l *Local) placeFile(rel string, b []byte, how placement) (err error) {
	d, err := l.newDraft(relDir(rel))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.discard()) }()
	if _, err := d.Write(b); err != nil {
		return err
	}
	if err := d.finish(); err != nil {
		return err
	}
	return d.place(rel, how)
}

func isDraft(name string) bool { return strings.HasPrefix(name, draftPrefix) }
