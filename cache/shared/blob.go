package shared

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

	"raglab/cache"
	"raglab/cache/internal/spool"
)

const (
	// statFirst is from which size on it is cheaper to ask for a blob than to send it in vain.
	statFirst = 64 << 10
	// placeAttempts bounds how often a name found taken by something damaged is cleared and tried
	// again.
	placeAttempts = 4
)

// blobWriter is the cache.Writer of a Store: an object's name is the digest of all its bytes, so that
// the upload begins at Commit.
type blobWriter struct {
	ctx context.Context
	s   *Store
	*spool.Writer
	file *os.File // of a longer one
}

// Create begins a blob.
func (s *Store) Create(ctx context.Context) (cache.Writer, error) {
	if err := s.writable(ctx, "create blob"); err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("create blob: %w", err)
	}
	w := &blobWriter{ctx: ctx, s: s}
	w.Writer = spool.New(ctx, func() (io.Writer, error) {
		var err error
		w.file, err = os.CreateTemp("", "raglab-*")
		return w.file, err
	})
	return w, nil
}

// Write takes more of the blob's bytes.
func (w *blobWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		err = fmt.Errorf("write blob: %w", err)
	}
	return n, err
}

// Commit uploads the blob.
func (w *blobWriter) Commit() (cache.Blob, error) {
	sum, size, err := w.End()
	if errors.Is(err, spool.ErrDone) {
		return cache.Blob{}, fmt.Errorf("commit blob: %w", err)
	}
	b := cache.Blob{Digest: cache.Digest(sum), Size: size}
	if err == nil {
		err = w.s.upload(w.ctx, b, func() (io.ReadCloser, error) { return w.source(size), nil })
	}
	if err := errors.Join(err, w.Abort()); err != nil {
		return cache.Blob{}, fmt.Errorf("commit blob: %w", err)
	}
	return b, nil
}

func (w *blobWriter) source(size int64) io.ReadCloser {
	if content, short := w.Short(); short {
		return io.NopCloser(bytes.NewReader(content))
	}
	return io.NopCloser(io.NewSectionReader(w.file, 0, size))
}

// Abort drops what was written.
func (w *blobWriter) Abort() error {
	w.Close()
	if w.file == nil {
		return nil
	}
	f := w.file
	w.file = nil
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// upload brings a blob into the store, unless it is there. The source is opened for each attempt.
func (s *Store) upload(ctx context.Context, b cache.Blob, source func() (io.ReadCloser, error)) error {
	doing := "upload blob " + b.Digest.Short()
	for range placeAttempts {
		if b.Size >= statFirst {
			if there, err := s.keep(ctx, b, source); err != nil || there {
				return err
			}
		}
		err := s.try(ctx, doing, s.create(b, source))
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if there, err := s.keep(ctx, b, source); err != nil || there {
			return err
		}
	}
	return fmt.Errorf("%s: %s is in the way and cannot be removed", doing, s.place(blobName(b.Digest)))
}

// create is an attempt to make a blob's object. Each but the first looks whether it is there by now, if
// it is long: the answer to the one before may have been lost, and a server that has the object already
// may end the connection before it has heard all of it.
func (s *Store) create(b cache.Blob, source func() (io.ReadCloser, error)) func(ctx context.Context) error {
	again := false
	return func(ctx context.Context) error {
		if again && b.Size >= statFirst {
			o, err := s.bucket.Stat(ctx, blobName(b.Digest))
			switch {
			case err == nil && !s.isBad(o):
				return fs.ErrExist
			case err != nil && !errors.Is(err, fs.ErrNotExist):
				return err
			}
		}
		again = true
		return s.send(ctx, s.bucket.Create, b, source)
	}
}

// keep reports whether a blob is there in its size, and makes sure that it stays. One of another size
// is damaged: it is removed, and then there is room.
func (s *Store) keep(ctx context.Context, b cache.Blob, source func() (io.ReadCloser, error)) (bool, error) {
	name := blobName(b.Digest)
	o, err := s.stat(ctx, "upload blob "+b.Digest.Short(), name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case o.Size != b.Size:
		return false, s.remove(ctx, o, &cache.CorruptError{
			What: "blob", Name: b.Digest.String(), Path: s.place(name),
			Detail: fmt.Sprintf("it has %d bytes, not %d", o.Size, b.Size),
		})
	}
	condemned, err := s.session.condemned(ctx)
	if err != nil || !condemned.blob(b.Digest) {
		return err == nil, err
	}
	// A collection saw that no record names it, and the next may take it: it is made young again.
	err = s.try(ctx, "renew blob "+b.Digest.Short(), func(ctx context.Context) error {
		return s.send(ctx, s.bucket.Replace, b, source)
	})
	return err == nil, err
}

// send is one attempt to upload a blob.
func (s *Store) send(ctx context.Context, put func(context.Context, string, int64, io.Reader) error, b cache.Blob, source func() (io.ReadCloser, error)) error {
	src, err := source()
	if err != nil {
		return &sourceError{err}
	}
	defer src.Close()
	return put(ctx, blobName(b.Digest), b.Size, &checkedSource{ctx: ctx, src: src, want: b, sum: sha256.New()})
}

// checkedSource gives io.EOF only after the very bytes that a blob's digest names: whoever reads it
// into an object must not end that object before.
type checkedSource struct {
	ctx  context.Context
	src  io.Reader
	want cache.Blob
	sum  hash.Hash
	size int64
}

func (c *checkedSource) Read(p []byte) (int, error) {
	if err := context.Cause(c.ctx); err != nil {
		return 0, err
	}
	n, err := c.src.Read(p)
	c.sum.Write(p[:n])
	c.size += int64(n)
	moved(c.ctx)
	if err == nil {
		return n, nil
	}
	if !errors.Is(err, io.EOF) {
		return n, &sourceError{err}
	}
	if got := cache.Digest(c.sum.Sum(nil)); got != c.want.Digest || c.size != c.want.Size {
		return n, &sourceError{fmt.Errorf("the %d bytes to upload have the digest %s, not %d and %s", c.size, got.Short(), c.want.Size, c.want.Digest.Short())}
	}
	return n, io.EOF
}

// Stat says whether a blob is there and how long it is.
func (s *Store) Stat(ctx context.Context, d cache.Digest) (int64, error) {
	doing := "stat blob " + d.Short()
	if err := s.Check(ctx); err != nil {
		return 0, err
	}
	o, err := s.stat(ctx, doing, blobName(d))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("stat blob %s: %w", d, cache.ErrNotFound)
	}
	return o.Size, err
}

// stat is Bucket.Stat, for which an object found damaged is not there.
func (s *Store) stat(ctx context.Context, doing, name string) (o Object, err error) {
	err = s.try(ctx, doing, func(ctx context.Context) (err error) {
		o, err = s.bucket.Stat(ctx, name)
		return err
	})
	if err == nil && s.isBad(o) {
		return o, fmt.Errorf("%s: %w", doing, fs.ErrNotExist)
	}
	return o, err
}

// Open reads a blob, verifying as it goes.
func (s *Store) Open(ctx context.Context, d cache.Digest) (io.ReadCloser, error) {
	if err := s.Check(ctx); err != nil {
		return nil, err
	}
	r := &download{ctx: ctx, s: s, doing: "read blob " + d.Short(), name: blobName(d), sum: sha256.New()}
	err := r.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open blob %s: %w", d, cache.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return &blobReader{download: r, d: d}, nil
}

// blobReader gives io.EOF only for the bytes the digest names.
type blobReader struct {
	*download
	d   cache.Digest
	err error
}

// Read is io.Reader's.
func (r *blobReader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.download.Read(p)
	if err == io.EOF {
		if got := cache.Digest(r.sum.Sum(nil)); got != r.d {
			err = r.s.damagedBlob(r.ctx, r.d, r.object, got)
		}
	}
	r.err = err
	return n, err
}

// ReadAll reads a whole blob.
func (s *Store) ReadAll(ctx context.Context, d cache.Digest) ([]byte, error) {
	r, err := s.Open(ctx, d)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var buf bytes.Buffer
	// Not more than promised is believed before it came.
	buf.Grow(int(min(r.(*blobReader).object.Size, 64<<20)) + bytes.MinRead)
	if _, err := buf.ReadFrom(r); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
