package shared

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Bucket is where a [Store] keeps its objects: names with slashes, and bytes. Names are made by this
// package of lower-case letters, digits and "-._%/". All methods are safe for concurrent use. They
// are tried once: trying again is the store's.
//
// Errors are fs.ErrNotExist for an object that is not there, fs.ErrExist for one that is and should
// not be, [ErrPermanent] for what will not pass (no permission, no such bucket); every other error is
// taken for one that may.
type Bucket interface {
	// Create makes an object of the size bytes that src gives, unless there is one of that name
	// (fs.ErrExist). When ctx ends, or src fails, before the last byte, nothing is made.
	Create(ctx context.Context, name string, size int64, src io.Reader) error

	// Replace makes an object in place of one that may be there.
	Replace(ctx context.Context, name string, size int64, src io.Reader) error

	// Open reads an object from an offset on, which is at most its length. The Object is the whole
	// one that is being read.
	Open(ctx context.Context, name string, offset int64) (io.ReadCloser, Object, error)

	// Stat says how long an object is and when it was made.
	Stat(ctx context.Context, name string) (Object, error)

	// Delete removes an object. One that is not there is no error.
	Delete(ctx context.Context, name string) error

	// List is all objects whose names begin with a prefix, in no order. It may leave out what was
	// made, and name what was removed, a moment ago.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]

	// Close releases connections.
	Close() error
}

// Sweeper is a bucket in which writers that were killed leave something behind.
type Sweeper interface {
	// Sweep removes what was begun before a time and is no object.
	Sweep(ctx context.Context, before time.Time) error
}

// Object is what a bucket says of an object. Modified is by the bucket's clock, not by ours.
type Object struct {
	Name     string
	Size     int64
	Modified time.Time
}

// ErrPermanent marks an error of a bucket that trying again will not mend.
var ErrPermanent = errors.New("refused")
