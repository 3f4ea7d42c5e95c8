package inverted

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// The file: a header of magic, version and six sizes, little-endian; the
// documents' lengths as varints; the terms in the order of their bytes, each as
// varints of how many bytes it shares with the one before and how many follow,
// those bytes, then varints of its number of documents and of bytes of
// postings; and the postings, term by term, as appendPostings writes them.
const (
	magic      = "raglabIX"
	version    = 1
	headerSize = len(magic) + 4 + 6*8
)

// header tells how much of everything there is. The last three are in bytes.
type header struct {
	docs, tokens, terms uint64
	lens, dict, lists   uint64
}

// WriteTo writes the index of the documents added so far. The bytes depend on
// the documents' terms alone. It may be called once.
func (b *Builder) WriteTo(w io.Writer) (int64, error) {
	b.invert()
	b.forward, b.docEnds = nil, nil
	order := b.sorted()
	lens := make([]byte, 0, len(b.lens)+len(b.lens)/2)
	for _, n := range b.lens {
		lens = binary.AppendUvarint(lens, uint64(n))
	}
	dict, lists := b.dictionary(order)
	h := header{uint64(len(b.lens)), b.tokens, uint64(len(order)), uint64(len(lens)), uint64(len(dict)), lists}
	written := int64(0)
	for _, part := range [][]byte{h.encode(), lens, dict} {
		n, err := w.Write(part)
		written += int64(n)
		if err != nil {
			return written, fmt.Errorf("write index: %w", err)
		}
	}
	n, err := b.writeLists(w, order)
	return written + n, err
}

// sortKey orders terms: the first eight bytes decide most comparisons.
type sortKey struct {
	head uint64
	id   uint32
}

// sorted returns the terms' numbers in the order of their bytes.
func (b *Builder) sorted() []sortKey {
	keys := make([]sortKey, b.terms.len())
	for id := range keys {
		var head [8]byte
		copy(head[:], b.terms.term(id))
		keys[id] = sortKey{binary.BigEndian.Uint64(head[:]), uint32(id)}
	}
	slices.SortFunc(keys, func(x, y sortKey) int {
		if c := cmp.Compare(x.head, y.head); c != 0 {
			return c
		}
		return bytes.Compare(b.terms.term(int(x.id)), b.terms.term(int(y.id)))
	})
	return keys
}

// dictionary encodes the terms in order and returns the size of all postings.
func (b *Builder) dictionary(order []sortKey) (dict []byte, lists uint64) {
	dict = make([]byte, 0, 8*len(order))
	var before []byte
	for _, k := range order {
		term, size := b.terms.term(int(k.id)), uint64(0)
		for i := range b.segments {
			size += uint64(len(b.segments[i].list(k.id)))
		}
		shared := 0
		for shared < len(before) && shared < len(term) && before[shared] == term[shared] {
			shared++
		}
		dict = binary.AppendUvarint(dict, uint64(shared))
		dict = binary.AppendUvarint(dict, uint64(len(term)-shared))
		dict = append(dict, term[shared:]...)
		dict = binary.AppendUvarint(dict, uint64(b.terms.entries[k.id].df))
		dict = binary.AppendUvarint(dict, size)
		before, lists = term, lists+size
	}
	return dict, lists
}

// writeLists writes the postings of every term, joined from the segments.
func (b *Builder) writeLists(w io.Writer, order []sortKey) (written int64, err error) {
	buf := make([]byte, 0, 1<<16)
	flush := func() {
		n := 0
		if err == nil {
			n, err = w.Write(buf)
		}
		written, buf = written+int64(n), buf[:0]
	}
	for _, k := range order {
		for i := range b.segments {
			list := b.segments[i].list(k.id)
			if len(buf)+len(list) > cap(buf) {
				flush()
			}
			buf = append(buf, list...)
		}
	}
	flush()
	if err != nil {
		return written, fmt.Errorf("write postings: %w", err)
	}
	return written, nil
}

// list returns a term's encoded postings in the segment.
func (s *segment) list(term uint32) []byte {
	switch {
	case int(term) >= len(s.ends):
		return nil
	case term == 0:
		return s.bytes[:s.ends[0]]
	}
	return s.bytes[s.ends[term-1]:s.ends[term]]
}

func (h header) encode() []byte {
	out := append(make([]byte, 0, headerSize), magic...)
	out = binary.LittleEndian.AppendUint32(out, version)
	for _, v := range []uint64{h.docs, h.tokens, h.terms, h.lens, h.dict, h.lists} {
		out = binary.LittleEndian.AppendUint64(out, v)
	}
	return out
}

// Errors of an index file that cannot be used.
var (
	errMagic  = errors.New("not an inverted index")
	errDamage = errors.New("damaged inverted index")
)

// damage says what is wrong with an index file.
func damage(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errDamage, fmt.Sprintf(format, args...))
}

// decodeHeader reads the header of a file of the given size. Every count is
// bounded by the bytes that must hold it, so that a reader may allocate by it.
func decodeHeader(b []byte, size uint64) (header, error) {
	if string(b[:len(magic)]) != magic {
		return header{}, errMagic
	}
	if v := binary.LittleEndian.Uint32(b[len(magic):]); v != version {
		return header{}, fmt.Errorf("inverted index of version %d, not %d", v, version)
	}
	var v [6]uint64
	for i := range v {
		v[i] = binary.LittleEndian.Uint64(b[len(magic)+4+8*i:])
	}
	h := header{v[0], v[1], v[2], v[3], v[4], v[5]}
	rest := size - uint64(headerSize)
	switch {
	case h.lens > rest || h.dict > rest-h.lens || h.lists != rest-h.lens-h.dict:
		return h, damage("sections of %d, %d and %d bytes in %d", h.lens, h.dict, h.lists, size)
	case h.docs > h.lens || h.docs >= math.MaxUint32:
		return h, damage("%d documents in %d bytes", h.docs, h.lens)
	case h.terms > h.dict/4 || h.terms >= math.MaxUint32: // four varints each
		return h, damage("%d terms in %d bytes", h.terms, h.dict)
	}
	return h, nil
}
