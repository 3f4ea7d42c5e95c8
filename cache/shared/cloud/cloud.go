// Package cloud makes a bucket of gocloud.dev/blob one of a store's. The drivers of the providers use
// it; package shared itself depends on none of them.
package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"raglab/cache/shared"
)

// Judge is a provider's own word on its errors, where that of gocloud.dev is too coarse. It returns
// fs.ErrNotExist, fs.ErrExist, shared.ErrPermanent, [ErrPassing] for one that may pass, or nil for no
// opinion.
type Judge func(err error) error

// ErrPassing is a Judge's word on an error that may pass.
var ErrPassing = errors.New("it may pass")

// bucket is a blob.Bucket, or the part of one below a prefix.
type bucket struct {
	b     *blob.Bucket
	judge Judge
}

// New is the bucket b, which it closes. A URL's path is the prefix of all names.
func New(b *blob.Bucket, u *url.URL, judge Judge) shared.Bucket {
	if prefix := strings.Trim(u.Path, "/"); prefix != "" {
		b = blob.PrefixedBucket(b, prefix+"/")
	}
	return &bucket{b, judge}
}

// explain brings an error into the words of a store.
func (b *bucket) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if word := b.judge(err); word != nil {
		if errors.Is(word, ErrPassing) {
			return err
		}
		return fmt.Errorf("%w: %w", word, err)
	}
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	case gcerrors.FailedPrecondition, gcerrors.AlreadyExists:
		return fmt.Errorf("%w: %w", fs.ErrExist, err)
	case gcerrors.PermissionDenied, gcerrors.InvalidArgument, gcerrors.Unimplemented:
		return fmt.Errorf("%w: %w", shared.ErrPermanent, err)
	}
	return err
}

// ByStatus judges by an HTTP status; 0 is none.
func ByStatus(status int) error {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fmt.Errorf("%w: no access (credentials come from the environment)", shared.ErrPermanent)
	case status == http.StatusNotFound:
		return fs.ErrNotExist
	case status == http.StatusPreconditionFailed:
		return fs.ErrExist
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooManyRequests, status >= 500 && status != http.StatusNotImplemented:
		return ErrPassing
	case status >= 300:
		return shared.ErrPermanent
	}
	return nil
}

const (
	// partBytes is how long the parts are in which a blob goes up; some are in memory at a time.
	partBytes = 8 << 20
	// maxParts is how many parts S3 takes; parts grow for blobs that would have more.
	maxParts = 9_000
	// partsAtOnce is how many go up together.
	partsAtOnce = 3
	// leastPart is the least that S3 takes as a part's length.
	leastPart = 5 << 20
)

// writerOptions never ask for an MD5 to be checked: a provider would answer one that differs as it
// answers for an object that is there already.
func writerOptions(size int64, create bool) *blob.WriterOptions {
	part := max(partBytes, (size+maxParts-1)/maxParts)
	if size < leastPart {
		part = leastPart
	}
	return &blob.WriterOptions{
		IfNotExist: create, BufferSize: int(part), MaxConcurrency: partsAtOnce,
		ContentType: "application/octet-stream", DisableContentTypeDetection: true,
	}
}

// Create implements [shared.Bucket].
func (b *bucket) Create(ctx context.Context, name string, size int64, src io.Reader) error {
	return b.write(ctx, name, size, src, true)
}

// Replace implements [shared.Bucket].
func (b *bucket) Replace(ctx context.Context, name string, size int64, src io.Reader) error {
	return b.write(ctx, name, size, src, false)
}

// write cancels the upload before it closes the writer whenever something is wrong: closing one that
// is not cancelled commits whatever came so far.
func (b *bucket) write(ctx context.Context, name string, size int64, src io.Reader, create bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w, err := b.b.NewWriter(ctx, name, writerOptions(size, create))
	if err != nil {
		return b.explain(err)
	}
	in := &source{src: src}
	n, err := io.CopyBuffer(struct{ io.Writer }{w}, in, make([]byte, 256<<10))
	if err == nil && n != size {
		err = fmt.Errorf("write %s: %d bytes came, not %d", name, n, size)
		in.err = err
	}
	if err != nil {
		cancel(err)
		// What the upload itself says of its end tells more than the pipe that it broke.
		if closeErr := w.Close(); in.err == nil && closeErr != nil && !errors.Is(closeErr, context.Canceled) {
			err = closeErr
		}
		if in.err != nil {
			return in.err
		}
		return b.explain(err)
	}
	return b.explain(w.Close())
}

// source remembers why it could not be read.
type source struct {
	src io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.src.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// Open implements [shared.Bucket].
func (b *bucket) Open(ctx context.Context, name string, offset int64) (io.ReadCloser, shared.Object, error) {
	r, err := b.b.NewRangeReader(ctx, name, offset, -1, nil)
	if err != nil {
		return nil, shared.Object{}, b.explain(err)
	}
	return &reader{r, b}, shared.Object{Name: name, Size: r.Size(), Modified: r.ModTime()}, nil
}

// reader brings the errors of a download into a store's words.
type reader struct {
	*blob.Reader
	b *bucket
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.b.explain(err)
	}
	return n, err
}

// Stat implements [shared.Bucket].
func (b *bucket) Stat(ctx context.Context, name string) (shared.Object, error) {
	a, err := b.b.Attributes(ctx, name)
	if err != nil {
		return shared.Object{}, b.explain(err)
	}
	return shared.Object{Name: name, Size: a.Size, Modified: a.ModTime}, nil
}

// Delete implements [shared.Bucket].
func (b *bucket) Delete(ctx context.Context, name string) error {
	if err := b.explain(b.b.Delete(ctx, name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// List implements [shared.Bucket].
func (b *bucket) List(ctx context.Context, prefix string) iter.Seq2[shared.Object, error] {
	return func(yield func(shared.Object, error) bool) {
		it := b.b.List(&blob.ListOptions{Prefix: prefix})
		for {
			o, err := it.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(shared.Object{}, b.explain(err))
				return
			}
			if !o.IsDir && !yield(shared.Object{Name: o.Key, Size: o.Size, Modified: o.ModTime}, nil) {
				return
			}
		}
	}
}

// Close implements [shared.Bucket].
func (b *bucket) Close() error { return b.b.Close() }
