// Package spool writes what is named by its digest, which is known only at its end: short
// content waits in memory, longer content somewhere else.
package spool

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
)

// Limit is how many bytes wait in memory.
const Limit = 1 << 20

// ErrDone says that a writer was finished before.
var ErrDone = errors.New("the writer was committed or aborted")

// Writer takes content and sums it up. It is for one goroutine. After the first error
// nothing works any more.
type Writer struct {
	ctx      context.Context
	overflow func() (io.Writer, error)
	sum      hash.Hash
	short    []byte
	long     io.Writer // from Limit on
	size     int64
	err      error
	done     bool
}

// New begins content that fails once ctx ends. The function overflow is called once, when
// the content turns out longer than [Limit].
func New(ctx context.Context, overflow func() (io.Writer, error)) *Writer {
	return &Writer{ctx: ctx, overflow: overflow, sum: sha256.New()}
}

// Write implements [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	if w.done {
		return 0, ErrDone
	}
	if w.err == nil {
		w.err = context.Cause(w.ctx)
	}
	if w.err == nil {
		w.err = w.take(p)
	}
	if w.err != nil {
		return 0, w.err
	}
	w.sum.Write(p)
	w.size += int64(len(p))
	return len(p), nil
}

func (w *Writer) take(p []byte) error {
	if w.long == nil && len(w.short)+len(p) <= Limit {
		w.short = append(w.short, p...)
		return nil
	}
	if w.long == nil {
		long, err := w.overflow()
		if err != nil {
			return err
		}
		w.long = long
		if _, err := long.Write(w.short); err != nil {
			return err
		}
		w.short = nil
	}
	_, err := w.long.Write(p)
	return err
}

// End is the SHA-256 and the length of what was written, or the first error.
func (w *Writer) End() (sum [sha256.Size]byte, size int64, err error) {
	if w.done {
		return sum, 0, ErrDone
	}
	if w.err == nil {
		w.err = context.Cause(w.ctx)
	}
	return [sha256.Size]byte(w.sum.Sum(nil)), w.size, w.err
}

// Short is the content, and false when it has gone to what overflow opened.
func (w *Writer) Short() ([]byte, bool) { return w.short, w.long == nil }

// Close takes nothing more, and forgets what waited in memory.
func (w *Writer) Close() { w.done, w.short = true, nil }
