package web

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// minProgress is how many bytes must come in each span of Config.StallAfter.
const minProgress = 1 << 10

// stall ends an exchange that brings too little: its context is cancelled when
// progress was not called often enough.
type stall struct {
	timer *time.Timer
	after time.Duration
	came  atomic.Int64
}

// watch returns a context that ends with an error when an exchange stalls, and the
// function that ends it.
func (c *Client) watch(ctx context.Context) (context.Context, *stall, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &stall{after: c.config.StallAfter}
	s.timer = time.AfterFunc(s.after, func() { cancel(Temporary(s.err(), 0)) })
	return ctx, s, func() {
		s.timer.Stop()
		cancel(nil)
	}
}

func (s *stall) err() error {
	if n := s.came.Load(); n > 0 {
		return fmt.Errorf("only %d bytes came in %s", n, s.after)
	}
	return fmt.Errorf("nothing came for %s", s.after)
}

func (s *stall) progress(n int) {
	if s.came.Add(int64(n)) >= minProgress {
		s.came.Store(0)
		s.timer.Reset(s.after)
	}
}

// body reads an answer, unpacked, while the watch and the progress are told. What
// it fails with is a temporary error, and kept in failed, so that a copy's reader
// can be told from its writer.
type body struct {
	ctx    context.Context // of the one exchange that the body is of
	in     io.Reader
	stall  *stall
	failed error
}

// open returns the reader of an answer's body, and whether it is unpacked on the
// way, when lengths and ranges say nothing.
func (c *Client) open(ctx context.Context, resp *http.Response, s *stall) (*body, bool, error) {
	b := &body{ctx: ctx, in: told{resp.Body, s}, stall: s}
	switch coding := strings.ToLower(resp.Header.Get("Content-Encoding")); coding {
	case "", "identity":
		return b, resp.Uncompressed, nil
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(b.in)
		if err != nil {
			return nil, true, Temporary(fmt.Errorf("unpack the answer: %w", b.cause(err)), 0)
		}
		b.in = z
		return b, true, nil
	default:
		return nil, true, fmt.Errorf("the answer has the coding %q, which nobody asked for", coding)
	}
}

// Read reads on until the context ends.
func (b *body) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		b.failed = Temporary(context.Cause(b.ctx), 0)
		return 0, b.failed
	}
	n, err := b.in.Read(p)
	if err != nil && err != io.EOF {
		b.failed = Temporary(RedactError(b.cause(err)), 0)
		err = b.failed
	}
	return n, err
}

// cause is what a reading error is really due to.
func (b *body) cause(err error) error {
	if cause := context.Cause(b.ctx); cause != nil {
		return cause
	}
	return err
}

// told is a reader whose progress is told.
type told struct {
	io.Reader
	stall *stall
}

func (t told) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	t.stall.progress(n)
	return n, err
}
