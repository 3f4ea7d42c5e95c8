// Package artifact reads and writes the contents of stages' outputs, in formats
// that other tools open: JSON lines packed with zstd, NumPy arrays, TREC runs.
//
// Readers take verified or verifying sources and read them to the end, so that
// a damaged blob surfaces as an error and never as a short result.
package artifact

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/klauspost/compress/zstd"
)

// Lines writes values as JSON lines packed with zstd. It belongs to one
// goroutine.
type Lines struct {
	z   *zstd.Encoder
	w   *bufio.Writer
	enc *json.Encoder
	n   int
}

// NewLines begins a file of lines. Close ends it; it does not close w.
func NewLines(w io.Writer) (*Lines, error) {
	// One encoder thread: more would let the machine decide on the bytes.
	// A frame even around nothing: an empty file is one that was cut.
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, fmt.Errorf("begin zstd: %w", err)
	}
	l := &Lines{z: z, w: bufio.NewWriterSize(z, 1<<16)}
	l.enc = json.NewEncoder(l.w)
	l.enc.SetEscapeHTML(false)
	return l, nil
}

// Write appends one line.
func (l *Lines) Write(v any) error {
	l.n++
	if err := l.enc.Encode(v); err != nil {
		return fmt.Errorf("write line %d: %w", l.n, err)
	}
	return nil
}

// WriteLines writes lines that are encoded already, as a whole file: the bytes are
// those of [Lines] that was given the values.
func WriteLines(w io.Writer, lines []byte) error {
	l, err := NewLines(w)
	if err != nil {
		return err
	}
	if _, err := l.w.Write(lines); err != nil {
		return fmt.Errorf("write lines: %w", err)
	}
	return l.Close()
}

// Len is the number of lines written.
func (l *Lines) Len() int { return l.n }

// Close writes what is buffered.
func (l *Lines) Close() error {
	if err := l.w.Flush(); err != nil {
		return fmt.Errorf("write lines: %w", err)
	}
	if err := l.z.Close(); err != nil {
		return fmt.Errorf("end zstd: %w", err)
	}
	return nil
}

// ReadLines yields the values of a file that [Lines] wrote, one by one, so that
// memory does not grow with the file. It closes r. A value that is not of type
// T is an error with its line.
func ReadLines[T any](r io.ReadCloser) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		if err := eachLine(r, func(v T) bool { return yield(v, nil) }); err != nil && !errors.Is(err, errStopped) {
			yield(zero, err)
		}
	}
}

var errStopped = errors.New("reader stopped")

func eachLine[T any](r io.ReadCloser, yield func(T) bool) (err error) {
	defer func() { err = errors.Join(err, r.Close()) }()
	in := bufio.NewReader(r)
	if _, err := in.Peek(1); errors.Is(err, io.EOF) {
		return errors.New("read lines: the file is empty")
	}
	z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<28))
	if err != nil {
		return fmt.Errorf("begin zstd: %w", err)
	}
	defer z.Close()
	dec := json.NewDecoder(z)
	for n := 1; ; n++ {
		var v T
		switch err := dec.Decode(&v); {
		case errors.Is(err, io.EOF):
			// The decoder stops at the end of the last frame; the blob is only
			// verified at the end of the file.
			_, err := io.Copy(io.Discard, in)
			return err
		case err != nil:
			return fmt.Errorf("read line %d: %w", n, err)
		}
		if !yield(v) {
			return errStopped
		}
	}
}
