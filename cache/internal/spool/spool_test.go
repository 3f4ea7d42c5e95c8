package spool_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"testing"

	"raglab/cache/internal/spool"
)

// Content is short up to the limit, and beyond it is where overflow says, whole.
func TestWriter(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, spool.Limit - 1, spool.Limit, spool.Limit + 1, 3 * spool.Limit} {
		content := bytes.Repeat([]byte{7, 11, 13}, size/3+1)[:size]
		var long bytes.Buffer
		opened := 0
		w := spool.New(t.Context(), func() (io.Writer, error) { opened++; return &long, nil })
		for rest := content; len(rest) > 0; {
			n := min(len(rest), 4093)
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		sum, n, err := w.End()
		if err != nil || n != int64(size) || sum != sha256.Sum256(content) {
			t.Errorf("%d bytes: %x, %d, %v", size, sum, n, err)
		}
		got, short := w.Short()
		if !short {
			got = long.Bytes()
		}
		if short != (size <= spool.Limit) || opened > 1 || !bytes.Equal(got, content) {
			t.Errorf("%d bytes: short %v, opened %d times, equal %v", size, short, opened, bytes.Equal(got, content))
		}
		w.Close()
		if _, err := w.Write([]byte("x")); !errors.Is(err, spool.ErrDone) {
			t.Errorf("written after the end: %v", err)
		}
		if _, _, err := w.End(); !errors.Is(err, spool.ErrDone) {
			t.Errorf("ended twice: %v", err)
		}
	}
}

// The first error stays, whatever comes after it.
func TestWriter_fails(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	w := spool.New(t.Context(), func() (io.Writer, error) { return nil, full })
	if _, err := w.Write(make([]byte, spool.Limit+1)); !errors.Is(err, full) {
		t.Errorf("write: %v", err)
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, full) {
		t.Errorf("write again: %v", err)
	}
	if _, _, err := w.End(); !errors.Is(err, full) {
		t.Errorf("end: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	w = spool.New(ctx, nil)
	why := errors.New("told to stop")
	cancel(why)
	if _, _, err := w.End(); !errors.Is(err, why) {
		t.Errorf("end: %v", err)
	}
}
