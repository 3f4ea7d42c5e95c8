// Package folder opens a folder that several machines share, at file:///PATH, as the bucket of a
// store. It needs of the file system what any network file system for Unix has: hard links, and
// renaming over a file. It is no cache.Local at that path: whether collection may remove something is
// decided there by locks that die with a process, which not every network carries from one machine to
// another, and here by what writers leave as objects, as in every other bucket; and what is in the
// folder can be copied to any other bucket and back.
package folder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"raglab/cache/shared"
)

// Driver opens file:///PATH.
func Driver() shared.Driver {
	return shared.Driver{
		Scheme: "file", Example: "file:///PATH",
		Open: func(_ context.Context, u *url.URL) (shared.Bucket, error) {
			if u.Host != "" && u.Host != "localhost" || u.Path == "" || u.Path == "/" {
				return nil, errors.New("it must be file:///PATH, with three slashes")
			}
			return New(filepath.FromSlash(u.Path))
		},
	}
}

// draftPrefix begins the name of every file that is still being written.
const draftPrefix = ".tmp-"

// bucket is a folder as a bucket. An object is a file of its name. Every file is drafted beside its
// place, compared in length, synced, and takes its name by link(2), which fails when the name is
// taken, or by rename(2) where it may replace one; then its folder is synced. A process killed at any
// instant leaves the object or none, and at most a draft.
type bucket struct {
	dir string
	// found is set once the folder was seen to hold a store. Where its mark is missing from then on
	// the folder is away, as a disk that is not mounted any more is, and is not made anew.
	found atomic.Bool
}

// mark is the object that every store has, and that is made first.
const mark = "VERSION"

// errAway passes: the folder may come back.
var errAway = errors.New("the folder is not there any more, or not the store's")

// away is errAway when the folder was the store's and is not now.
func (b *bucket) away() error {
	if !b.found.Load() {
		return nil
	}
	if _, err := os.Lstat(b.path(mark)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", b.dir, errAway)
	}
	return nil
}

// New is the folder dir as a bucket. The folder above it must be there; a store begun by a writer
// makes dir itself.
func New(dir string) (shared.Bucket, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return &bucket{dir: abs}, nil
}

func (b *bucket) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

// explain tells the errors that do not pass by themselves: of a file system, all but a few.
func explain(err error) error {
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrExist), errors.Is(err, errAway), isPassing(err):
		return err
	case errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("%w: the folder's file system has no hard links: %w", shared.ErrPermanent, err)
	}
	return fmt.Errorf("%w: %w", shared.ErrPermanent, err)
}

// Create implements [shared.Bucket].
func (b *bucket) Create(ctx context.Context, name string, size int64, src io.Reader) error {
	_, err := os.Lstat(b.path(name))
	if err == nil {
		err = fs.ErrExist
	} else {
		err = b.write(ctx, name, size, src, os.Link)
	}
	if name == mark && (err == nil || errors.Is(err, fs.ErrExist)) {
		b.found.Store(true)
	}
	return err
}

// Replace implements [shared.Bucket].
func (b *bucket) Replace(ctx context.Context, name string, size int64, src io.Reader) error {
	return b.write(ctx, name, size, src, os.Rename)
}

// write drafts a file and gives it its name. A source that fails passes its error on as it is.
func (b *bucket) write(ctx context.Context, name string, size int64, src io.Reader, place func(from, to string) error) (err error) {
	target := b.path(name)
	draft, err := b.draft(filepath.Dir(target))
	if err != nil {
		return explain(err)
	}
	defer func() {
		_ = draft.Close() // closed before it takes its name; else there is nothing to lose
		if rmErr := os.Remove(draft.Name()); rmErr != nil && !errors.Is(rmErr, fs.ErrNotExist) {
			err = errors.Join(err, explain(rmErr))
		}
	}()
	n, err := io.CopyBuffer(struct{ io.Writer }{draft}, src, make([]byte, 256<<10))
	if err != nil {
		var ours *fs.PathError
		if errors.As(err, &ours) && ours.Path == draft.Name() {
			return explain(err)
		}
		return err
	}
	if n != size {
		return fmt.Errorf("write %s: %d bytes came, not %d", name, n, size)
	}
	if err := finish(draft, size); err != nil {
		return explain(err)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := place(draft.Name(), target); err != nil && !placed(draft.Name(), target) {
		return b.missing(err)
	}
	return explain(syncDir(filepath.Dir(target)))
}

// placed reports whether a draft has its name although the file system said otherwise: over a network
// the answer to the first request may be lost, and the second finds the name taken by the first.
func placed(draft, target string) bool {
	a, errA := os.Lstat(draft)
	b, errB := os.Lstat(target)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// draft begins a file in a folder, which is made when it is missing.
func (b *bucket) draft(dir string) (*os.File, error) {
	f, err := openNew(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := b.away(); err != nil {
		return nil, err
	}
	if err := b.mkdir(dir); err != nil {
		return nil, err
	}
	return openNew(dir)
}

func openNew(dir string) (*os.File, error) {
	name := draftPrefix + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatUint(rand.Uint64(), 36)
	return os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
}

// mkdir makes a folder of the store and, durably, its entry. The folder above the store is not made:
// it may be a disk that is not mounted.
func (b *bucket) mkdir(dir string) error {
	if dir != b.dir {
		if err := b.mkdir(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	err := os.Mkdir(dir, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no folder %s to make the store in", shared.ErrPermanent, filepath.Dir(dir))
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// finish makes a draft durable. What the file system says it holds must be what was written.
func finish(f *os.File, size int64) error {
	if err := f.Sync(); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != size {
		return fmt.Errorf("%s: wrote %d bytes, the file has %d", f.Name(), size, info.Size())
	}
	return f.Close()
}

// Open implements [shared.Bucket].
func (b *bucket) Open(_ context.Context, name string, offset int64) (io.ReadCloser, shared.Object, error) {
	f, err := openRead(b.path(name))
	if err != nil {
		return nil, shared.Object{}, b.missing(err)
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(f.Name(), info)
	}
	if err == nil {
		_, err = f.Seek(offset, io.SeekStart)
	}
	if err != nil {
		return nil, shared.Object{}, errors.Join(explain(err), f.Close())
	}
	if name == mark {
		b.found.Store(true)
	}
	return f, object(name, info), nil
}

// regular refuses what is no file, and was put in an object's place by other hands.
func regular(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file: remove it", path)
	}
	return nil
}

// missing tells a file that is not there from a store that is not.
func (b *bucket) missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		if err := b.away(); err != nil {
			return err
		}
		if _, dirErr := os.Stat(filepath.Dir(b.dir)); errors.Is(dirErr, fs.ErrNotExist) {
			return fmt.Errorf("%w: there is no folder %s", shared.ErrPermanent, filepath.Dir(b.dir))
		}
	}
	return explain(err)
}

func object(name string, info fs.FileInfo) shared.Object {
	return shared.Object{Name: name, Size: info.Size(), Modified: info.ModTime()}
}

// Stat implements [shared.Bucket].
func (b *bucket) Stat(_ context.Context, name string) (shared.Object, error) {
	info, err := os.Lstat(b.path(name))
	if err == nil {
		err = regular(b.path(name), info)
	}
	if err != nil {
		return shared.Object{}, b.missing(err)
	}
	return object(name, info), nil
}

// Delete implements [shared.Bucket].
func (b *bucket) Delete(_ context.Context, name string) error {
	if name == mark {
		b.found.Store(false)
	}
	err := os.Remove(b.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return explain(err)
}

// Sweep implements [shared.Sweeper]: it removes the drafts of killed processes.
func (b *bucket) Sweep(ctx context.Context, before time.Time) error {
	return filepath.WalkDir(follow(b.dir), func(path string, e fs.DirEntry, err error) error {
		if ctxErr := context.Cause(ctx); ctxErr != nil {
			return ctxErr
		}
		if errors.Is(err, fs.ErrNotExist) || err == nil && !strings.HasPrefix(e.Name(), draftPrefix) {
			return nil
		}
		if err != nil {
			return explain(err)
		}
		info, err := e.Info()
		if err == nil && info.ModTime().Before(before) {
			err = os.Remove(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return explain(err)
	})
}

// List implements [shared.Bucket]. Drafts, and what is no file, are not listed.
func (b *bucket) List(ctx context.Context, prefix string) iter.Seq2[shared.Object, error] {
	return func(yield func(shared.Object, error) bool) {
		err := filepath.WalkDir(follow(b.path(prefix[:strings.LastIndexByte(prefix, '/')+1])), func(path string, e fs.DirEntry, err error) error {
			if ctxErr := context.Cause(ctx); ctxErr != nil {
				return ctxErr
			}
			if errors.Is(err, fs.ErrNotExist) {
				return b.away()
			}
			if err == nil && !e.Type().IsRegular() {
				return nil
			}
			if err != nil {
				return err
			}
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return b.away()
			}
			if err != nil {
				return err
			}
			if strings.HasPrefix(e.Name(), draftPrefix) {
				return nil
			}
			rel, err := filepath.Rel(b.dir, path)
			if err != nil {
				return err
			}
			if name := filepath.ToSlash(rel); strings.HasPrefix(name, prefix) && !yield(object(name, info), nil) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(shared.Object{}, b.missing(err))
		}
	}
}

// follow has a walk begin in the folder that a symbolic link names.
func follow(dir string) string { return dir + string(filepath.Separator) }

// Close implements [shared.Bucket].
func (b *bucket) Close() error { return nil }
