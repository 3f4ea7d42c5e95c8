package sharedtest

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync/atomic"

	"raglab/cache/shared"
)

// Op is a request of a bucket.
type Op string

// The requests.
const (
	OpCreate  Op = "create"
	OpReplace Op = "replace"
	OpOpen    Op = "open"
	OpStat    Op = "stat"
	OpDelete  Op = "delete"
	OpList    Op = "list"
)

// ErrFault is an error that may pass.
var ErrFault = errors.New("503 SlowDown")

// Faulty is a bucket whose requests fail when its functions say so. Nil functions say nothing.
type Faulty struct {
	shared.Bucket
	// Before is asked before a request, which fails with its error.
	Before func(op Op, name string) error
	// After is asked after a request that succeeded: its answer is lost.
	After func(op Op, name string) error
	// Cut says after how many bytes a download breaks; 0 does not.
	Cut func(name string, offset int64) int64
	// Flip says whether a bit of a download is turned on its way.
	Flip func(name string) bool

	requests atomic.Int64
}

// Requests is how many were made.
func (f *Faulty) Requests() int64 { return f.requests.Load() }

func (f *Faulty) around(op Op, name string, do func() error) error {
	f.requests.Add(1)
	if f.Before != nil {
		if err := f.Before(op, name); err != nil {
			return err
		}
	}
	if err := do(); err != nil || f.After == nil {
		return err
	}
	return f.After(op, name)
}

// Create implements [shared.Bucket].
func (f *Faulty) Create(ctx context.Context, name string, size int64, src io.Reader) error {
	return f.around(OpCreate, name, func() error { return f.Bucket.Create(ctx, name, size, src) })
}

// Replace implements [shared.Bucket].
func (f *Faulty) Replace(ctx context.Context, name string, size int64, src io.Reader) error {
	return f.around(OpReplace, name, func() error { return f.Bucket.Replace(ctx, name, size, src) })
}

// Open implements [shared.Bucket].
func (f *Faulty) Open(ctx context.Context, name string, offset int64) (r io.ReadCloser, o shared.Object, err error) {
	err = f.around(OpOpen, name, func() (err error) {
		r, o, err = f.Bucket.Open(ctx, name, offset)
		return err
	})
	if err != nil {
		return nil, o, err
	}
	if f.Flip != nil && f.Flip(name) {
		r = &flipped{ReadCloser: r}
	}
	if f.Cut != nil {
		if n := f.Cut(name, offset); n > 0 {
			r = &cut{r, n}
		}
	}
	return r, o, nil
}

// Stat implements [shared.Bucket].
func (f *Faulty) Stat(ctx context.Context, name string) (o shared.Object, err error) {
	err = f.around(OpStat, name, func() (err error) {
		o, err = f.Bucket.Stat(ctx, name)
		return err
	})
	return o, err
}

// Delete implements [shared.Bucket].
func (f *Faulty) Delete(ctx context.Context, name string) error {
	return f.around(OpDelete, name, func() error { return f.Bucket.Delete(ctx, name) })
}

// List implements [shared.Bucket].
func (f *Faulty) List(ctx context.Context, prefix string) iter.Seq2[shared.Object, error] {
	var all iter.Seq2[shared.Object, error]
	if err := f.around(OpList, prefix, func() error { all = f.Bucket.List(ctx, prefix); return nil }); err != nil {
		return func(yield func(shared.Object, error) bool) { yield(shared.Object{}, err) }
	}
	return all
}

// cut breaks after some bytes.
type cut struct {
	io.ReadCloser
	left int64
}

func (c *cut) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, ErrFault
	}
	n, err := c.ReadCloser.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// flipped turns the first bit.
type flipped struct {
	io.ReadCloser
	done bool
}

func (f *flipped) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if n > 0 && !f.done {
		f.done = true
		p[0] ^= 0x80
	}
	return n, err
}
