package cache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"time"

	"raglab/cache/internal/spool"
)

// placeAttempts bounds how often a name found taken by something damaged is cleared and tried
// again. One is the rule; more need others that put damaged things there meanwhile.
const placeAttempts = 8

// blobWriter is the Writer of a Local. A short blob is drafted in the very folder it goes to, and
// not at all when it is there already; a longer one is drafted in the folder above.
type blobWriter struct {
	l *Local
	*spool.Writer
	draft *draft // of a longer one
}

// Create begins a blob.
func (l *Local) Create(ctx context.Context) (Writer, error) {
	if l.opts.ReadOnly {
		return nil, fmt.Errorf("create blob: %w", ErrReadOnly)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("create blob: %w", err)
	}
	w := &blobWriter{l: l}
	w.Writer = spool.New(ctx, func() (io.Writer, error) {
		var err error
		w.draft, err = l.newDraft(casDir)
		return w.draft, err
	})
	return w, nil
}

// Write takes more of the blob's bytes.
func (w *blobWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		err = w.l.explain("write blob", err)
	}
	return n, err
}

// Commit makes the blob visible under its digest.
func (w *blobWriter) Commit() (Blob, error) {
	sum, size, err := w.End()
	if errors.Is(err, spool.ErrDone) {
		return Blob{}, fmt.Errorf("commit blob: %w", err)
	}
	b := Blob{Digest: Digest(sum), Size: size}
	if err == nil {
		err = w.store(b)
	}
	if err := errors.Join(err, w.Abort()); err != nil {
		return Blob{}, w.l.explain("commit blob", err)
	}
	return b, nil
}

// store puts the blob under its name unless it is there. One that is there with another size is
// damaged; it is set aside, and then there is room.
func (w *blobWriter) store(b Blob) error {
	for range placeAttempts {
		there, err := w.l.keepBlob(b)
		if err != nil || there {
			return err
		}
		err = w.place(blobRel(b.Digest))
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return fmt.Errorf("%s is in the way and cannot be set aside", w.l.Path(b.Digest))
}

func (w *blobWriter) place(rel string) error {
	if content, short := w.Short(); short {
		return w.l.placeFile(rel, content, keepFirst)
	}
	if err := w.draft.finish(); err != nil {
		return err
	}
	err := w.draft.place(rel, keepFirst)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := w.l.makeFolder(relDir(rel)); err != nil {
		return err
	}
	return w.draft.place(rel, keepFirst)
}

// Abort drops what was written.
func (w *blobWriter) Abort() error {
	w.Close()
	if w.draft == nil {
		return nil
	}
	d := w.draft
	w.draft = nil
	return d.discard()
}

// keepBlob reports whether a blob is there in its size, and makes sure that it stays: its mark of
// last use is renewed as a record's is on a hit.
func (l *Local) keepBlob(b Blob) (bool, error) {
	rel := blobRel(b.Digest)
	info, err := os.Lstat(l.path(rel))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if info.Size() != b.Size {
		l.setAside(info, &CorruptError{
			What: "blob", Name: b.Digest.String(), Path: l.path(rel),
			Detail: fmt.Sprintf("it has %d bytes, not %d", info.Size(), b.Size),
		})
		return false, nil
	}
	return l.markUsed(rel, info)
}

// markUsed renews the time of last use of an entry, at most once in touchEvery. It reports false
// when the entry went away meanwhile. Removal looks at the time again under the same lock, so an
// entry marked here is not removed by a collection that saw it earlier.
func (l *Local) markUsed(rel string, info fs.FileInfo) (bool, error) {
	if l.opts.ReadOnly || l.now().Sub(info.ModTime()) < l.touchEvery {
		return true, nil
	}
	lk, err := l.lockFolder(relDir(rel), lockShared)
	if err != nil {
		return false, err
	}
	defer lk.unlock()
	now := l.now()
	err = os.Chtimes(l.path(rel), time.Time{}, now)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case isAny(err, noAccess), isAny(err, noWrite):
		// Another user's file, or a medium that became read-only: it can be read, and whoever may
		// not mark it may not be the one to fail for it.
		return true, nil
	}
	return err == nil, err
}

// blobReader hashes what it reads, and gives io.EOF only for the bytes the digest names.
type blobReader struct {
	ctx context.Context
	l   *Local
	f   *os.File
	d   Digest
	sum hash.Hash
	err error
}

// Open reads a blob, verifying as it goes.
func (l *Local) Open(ctx context.Context, d Digest) (io.ReadCloser, error) {
	f, err := l.openBlob(ctx, d)
	if err != nil {
		return nil, err
	}
	return &blobReader{ctx: ctx, l: l, f: f, d: d, sum: sha256.New()}, nil
}

func (l *Local) openBlob(ctx context.Context, d Digest) (*os.File, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("open blob %s: %w", d.Short(), err)
	}
	f, err := os.Open(l.path(blobRel(d)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open blob %s: %w", d, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("open blob %s: %w", d.Short(), err)
	}
	return f, nil
}

// Read is io.Reader's.
func (r *blobReader) Read(p []byte) (int, error) {
	if r.err == nil {
		r.err = context.Cause(r.ctx)
	}
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.f.Read(p)
	r.sum.Write(p[:n])
	if errors.Is(err, io.EOF) {
		err = io.EOF
		if got := Digest(r.sum.Sum(nil)); got != r.d {
			err = r.l.damagedBlob(r.f, r.d, got)
		}
	}
	r.err = err
	return n, err
}

// Close is io.Closer's. Closing before io.EOF leaves the rest unverified.
func (r *blobReader) Close() error { return r.f.Close() }

// ReadAll reads a whole blob.
func (l *Local) ReadAll(ctx context.Context, d Digest) ([]byte, error) {
	f, err := l.openBlob(ctx, d)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := readWhole(f)
	if err != nil {
		return nil, fmt.Errorf("read blob %s: %w", d.Short(), err)
	}
	if got := DigestOf(b); got != d {
		return nil, l.damagedBlob(f, d, got)
	}
	return b, nil
}

// readWhole reads a file that nobody is appending to into a slice of the right size.
func readWhole(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	buf.Grow(int(info.Size()) + bytes.MinRead)
	_, err = buf.ReadFrom(f)
	return buf.Bytes(), err
}

func (l *Local) damagedBlob(f *os.File, d, got Digest) error {
	e := &CorruptError{
		What: "blob", Name: d.String(), Path: f.Name(),
		Detail: fmt.Sprintf("its bytes have the digest %s", got),
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(e, err)
	}
	l.setAside(info, e)
	return e
}

// Stat says whether a blob is there and how long it is.
func (l *Local) Stat(ctx context.Context, d Digest) (int64, error) {
	if err := context.Cause(ctx); err != nil {
		return 0, fmt.Errorf("stat blob %s: %w", d.Short(), err)
	}
	size, err := statSize(l.path(blobRel(d)))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("stat blob %s: %w", d, ErrNotFound)
	}
	if err != nil {
		return 0, fmt.Errorf("stat blob %s: %w", d.Short(), err)
	}
	return size, nil
}

func statSize(path string) (int64, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// File is the path of blob d, which must be there.
func (l *Local) File(ctx context.Context, d Digest) (string, error) {
	if _, err := l.Stat(ctx, d); err != nil {
		return "", err
	}
	return l.Path(d), nil
}

// Path is where blob d is or would be, for handing to tools or mapping into memory. What is read
// there is not verified.
func (l *Local) Path(d Digest) string { return l.path(blobRel(d)) }
