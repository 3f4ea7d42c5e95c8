// Package pgindex is what the retrievers that keep their index in Postgres have in
// common: rows in the binary form of COPY, manifests, connections with settings, and
// the encodings of vectors and of texts.
package pgindex

import (
	"context"
	"encoding/binary"
	"io"
	"sync"

	"raglab/internal/pg"
)

// copyBatch is how many bytes of rows are made at a time. Of all the rows no more
// than that is in memory.
const copyBatch = 64 << 10

// copyHeader begins the binary form of COPY: a signature, no flags, no extension.
const copyHeader = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"

// Copy copies rows into the columns of a table in the making, and returns how many
// they were. Next appends the fields of one row to buf, each by [Begin] and [End],
// and returns io.EOF when there is no row left. It is called from another goroutine,
// but never after Copy has returned. Its error is returned as it is.
func Copy(ctx context.Context, b *pg.Building, columns []string, next func(buf []byte) ([]byte, error)) (int64, error) {
	r := &copyReader{ctx: ctx, columns: len(columns), next: next, buf: []byte(copyHeader)}
	n, err := b.CopyBinary(ctx, columns, r)
	if failed := r.close(); failed != nil {
		// The server only says that the copy was given up.
		return 0, failed
	}
	return n, err
}

// copyReader makes rows as they are read.
type copyReader struct {
	ctx     context.Context
	columns int
	next    func([]byte) ([]byte, error)

	// The driver does not always wait for its goroutine that reads.
	mu  sync.Mutex
	buf []byte // what is made but not read
	at  int    // where it begins
	err error  // what comes when it is read
}

func (r *copyReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at == len(r.buf) {
		if r.err == nil {
			r.fill()
		}
		if r.at == len(r.buf) {
			return 0, r.err
		}
	}
	n := copy(p, r.buf[r.at:])
	r.at += n
	return n, nil
}

// fill makes rows, and the end mark after the last one.
func (r *copyReader) fill() {
	r.buf, r.at = r.buf[:0], 0
	if r.err = context.Cause(r.ctx); r.err != nil {
		return
	}
	for len(r.buf) < copyBatch {
		start := len(r.buf)
		row, err := r.next(binary.BigEndian.AppendUint16(r.buf, uint16(r.columns)))
		switch {
		case err == io.EOF:
			r.buf, r.err = binary.BigEndian.AppendUint16(r.buf[:start], 0xFFFF), io.EOF
			return
		case err != nil:
			r.buf, r.err = r.buf[:start], err
			return
		}
		r.buf = row
	}
}

// close ends the reading and returns what the rows failed with, nil when they did
// not.
func (r *copyReader) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	failed := r.err
	if failed == nil {
		r.err = io.ErrClosedPipe
	}
	if failed == io.EOF {
		return nil
	}
	return failed
}

// Begin makes room for the length of a field, which what is appended next is. It
// returns where the field begins, for [End].
func Begin(buf []byte) ([]byte, int) {
	buf = append(buf, 0, 0, 0, 0)
	return buf, len(buf)
}

// End writes the length of the field that began at start.
func End(buf []byte, start int) {
	binary.BigEndian.PutUint32(buf[start-4:], uint32(len(buf)-start))
}

// AppendOrdinal appends a field of type integer.
func AppendOrdinal(buf []byte, n int) []byte {
	buf = append(buf, 0, 0, 0, 4)
	return binary.BigEndian.AppendUint32(buf, uint32(n))
}
