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
	"time"

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

// Provider is what a driver knows of its provider and of the provider's client.
type Provider struct {
	// Judge must be set.
	Judge Judge
	// Say is an error of the provider in a line; "" leaves the error its own text. Nil has none.
	Say func(err error) string
	// Context adds to the context of every request what the client reads there; nil adds nothing.
	Context func(ctx context.Context) context.Context
	// BeforeWrite sets what the client knows of an upload and gocloud.dev does not, as
	// blob.WriterOptions has it; nil sets nothing.
	BeforeWrite func(as func(any) bool) error
}

// bucket is a blob.Bucket, or the part of one below a prefix.
type bucket struct {
	b *blob.Bucket
	p Provider
}

// New is the bucket b, which it closes. A URL's path is the prefix of all names.
func New(b *blob.Bucket, u *url.URL, p Provider) shared.Bucket {
	if prefix := strings.Trim(u.Path, "/"); prefix != "" {
		b = blob.PrefixedBucket(b, prefix+"/")
	}
	if p.Say == nil {
		p.Say = func(error) string { return "" }
	}
	if p.Context == nil {
		p.Context = func(ctx context.Context) context.Context { return ctx }
	}
	return &bucket{b, p}
}

// dated is an object's time. Some providers give fractions of a second in one answer and none in
// another, and a time that differs is taken for another object.
func dated(t time.Time) time.Time { return t.Truncate(time.Second) }

// explain brings an error into the words of a store.
func (b *bucket) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if text := b.p.Say(err); text != "" {
		err = &said{text, err}
	}
	if word := b.p.Judge(err); word != nil {
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

// said is an error with another text.
type said struct {
	text string
	error
}

func (s *said) Error() string { return s.text }
func (s *said) Unwrap() error { return s.error }

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
func (b *bucket) writerOptions(size int64, create bool) *blob.WriterOptions {
	part := max(partBytes, (size+maxParts-1)/maxParts)
	if size < leastPart {
		part = leastPart
	}
	return &blob.WriterOptions{
		IfNotExist: create, BufferSize: int(part), MaxConcurrency: partsAtOnce,
		ContentType: "application/octet-stream", DisableContentTypeDetection: true, BeforeWrite: b.p.BeforeWrite,
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
	ctx, cancel := context.WithCancelCause(b.p.Context(ctx))
	defer cancel(nil)
	w, err := b.b.NewWriter(ctx, name, b.writerOptions(size, create))
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
	r, err := b.b.NewRangeReader(b.p.Context(ctx), name, offset, -1, nil)
	if err != nil {
		return nil, shared.Object{}, b.explain(err)
	}
	return &reader{r, b}, shared.Object{Name: name, Size: r.Size(), Modified: dated(r.ModTime())}, nil
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
	a, err := b.b.Attributes(b.p.Context(ctx), name)
	if err != nil {
		return shared.Object{}, b.explain(err)
	}
	return shared.Object{Name: name, Size: a.Size, Modified: dated(a.ModTime)}, nil
}

// Delete implements [shared.Bucket].
func (b *bucket) Delete(ctx context.Context, name string) error {
	if err := b.explain(b.b.Delete(b.p.Context(ctx), name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// List implements [shared.Bucket].
func (b *bucket) List(ctx context.Context, prefix string) iter.Seq2[shared.Object, error] {
	return func(yield func(shared.Object, error) bool) {
		it := b.b.List(&blob.ListOptions{Prefix: prefix})
		for {
			o, err := it.Next(b.p.Context(ctx))
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(shared.Object{}, b.explain(err))
				return
			}
			if !o.IsDir && !yield(shared.Object{Name: o.Key, Size: o.Size, Modified: dated(o.ModTime)}, nil) {
				return
			}
		}
	}
}

// Close implements [shared.Bucket].
func (b *bucket) Close() error { return b.b.Close() }
