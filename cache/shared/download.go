package shared

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
)

// download reads an object from its beginning. When the connection is cut it asks for the rest. It
// belongs to one goroutine.
type download struct {
	ctx   context.Context
	s     *Store
	doing string
	name  string
	sum   hash.Hash // of what was read

	object Object
	at     int64
	body   io.ReadCloser
	watch  *watch
	// failed counts attempts since bytes last came.
	failed int
	err    error
}

// errChanged is met by who goes on with a download after the object was replaced.
var errChanged = errors.New("the object was replaced while it was read")

// open asks for what is still to come, until it is answered.
func (r *download) open() error {
	for {
		err := r.request()
		if err == nil {
			return nil
		}
		r.failed++
		if err := r.s.again(r.ctx, r.doing, r.failed, err); err != nil {
			return err
		}
	}
}

func (r *download) request() error {
	ctx, watch := r.s.watched(r.ctx)
	body, o, err := r.s.bucket.Open(ctx, r.name, r.at)
	err = stalled(ctx, err)
	if err == nil && r.s.isBad(o) {
		err = errors.Join(fmt.Errorf("it is damaged: %w", fs.ErrNotExist), body.Close())
	}
	if err == nil && r.at > 0 && (o.Size != r.object.Size || !o.Modified.Equal(r.object.Modified)) {
		err = errors.Join(errChanged, body.Close())
	}
	if err != nil {
		watch.stop()
		return err
	}
	r.body, r.watch, r.object = body, watch, o
	return nil
}

// Read is io.Reader's.
func (r *download) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, r.err
	}
	for r.err == nil {
		if r.body == nil {
			if r.err = r.open(); r.err != nil {
				break
			}
		}
		n, err := r.body.Read(p)
		r.sum.Write(p[:n])
		r.at += int64(n)
		if n > 0 {
			r.failed = 0
			r.watch.timer.Reset(r.watch.after)
		}
		r.err = r.judge(err)
		if n > 0 {
			return n, r.err
		}
	}
	return 0, r.err
}

// judge tells the end of an object from the end of a connection, after which the next Read goes on.
func (r *download) judge(err error) error {
	switch {
	case err == nil:
		return nil
	case r.ctx.Err() != nil:
		return fmt.Errorf("%s: %w", r.doing, context.Cause(r.ctx))
	case r.at >= r.object.Size: // all of it came, however the connection ended
		return io.EOF
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	r.release()
	r.failed++
	return r.s.again(r.ctx, r.doing, r.failed, err)
}

func (r *download) release() {
	if r.body != nil {
		_ = r.body.Close() // it is read only
		r.watch.stop()
		r.body = nil
	}
}

// Close is io.Closer's.
func (r *download) Close() error {
	r.release()
	return nil
}

// smallLimit bounds what is read into memory of an object that is no blob and no record.
const smallLimit = 1 << 30

// object reads a whole object; fs.ErrNotExist when there is none.
func (s *Store) object(ctx context.Context, doing, name string) ([]byte, error) {
	b, _, err := s.objectOf(ctx, doing, name)
	return b, err
}

func (s *Store) objectOf(ctx context.Context, doing, name string) ([]byte, Object, error) {
	r := &download{ctx: ctx, s: s, doing: doing, name: name, sum: noSum{}}
	defer r.Close()
	if err := r.open(); err != nil {
		return nil, Object{}, err
	}
	if r.object.Size > smallLimit {
		return nil, r.object, fmt.Errorf("%s: %s has %d bytes", doing, s.place(name), r.object.Size)
	}
	var buf bytes.Buffer
	_, err := buf.ReadFrom(r)
	return buf.Bytes(), r.object, err
}

// noSum is a hash for what carries a checksum of its own.
type noSum struct{ hash.Hash }

func (noSum) Write(p []byte) (int, error) { return len(p), nil }

// put makes an object in place of one that may be there.
func (s *Store) put(ctx context.Context, doing, name string, b []byte) error {
	return s.try(ctx, doing, func(ctx context.Context) error {
		return s.bucket.Replace(ctx, name, int64(len(b)), bytes.NewReader(b))
	})
}
