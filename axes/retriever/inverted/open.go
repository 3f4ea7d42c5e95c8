package inverted

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Index is an inverted index in memory: for every term the documents that have
// it, ascending, and how often. It does not change once it is open.
type Index struct {
	lens   []uint32
	tokens uint64
	terms  *vocabulary // numbered in the order of their bytes
	starts []uint64    // where each term's postings begin; one more at the end
	docs   []uint32
	tfs    []uint8
	often  map[uint64]uint32 // the frequency of postings whose tfs is manyTimes
}

// manyTimes stands in tfs for a frequency of at least as much.
const manyTimes = math.MaxUint8

// Open reads an index of the given size in bytes. Every number in it is checked
// so that a damaged file gives an error here and never a panic later.
func Open(r io.Reader, size int64) (*Index, error) {
	if size < int64(headerSize) {
		return nil, fmt.Errorf("open index: %w: %d bytes", errMagic, size)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, fmt.Errorf("open index of %d bytes: %w", size, err)
	}
	x, err := decode(b)
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	return x, nil
}

func decode(b []byte) (*Index, error) {
	h, err := decodeHeader(b, uint64(len(b)))
	if err != nil {
		return nil, err
	}
	x := &Index{tokens: h.tokens, often: make(map[uint64]uint32)}
	b = b[headerSize:]
	if err := x.decodeLens(b[:h.lens], h); err != nil {
		return nil, err
	}
	b = b[h.lens:]
	sizes, err := x.decodeDictionary(b[:h.dict], h)
	if err != nil {
		return nil, err
	}
	return x, x.decodeLists(b[h.dict:], sizes)
}

// uvarint reads a number of at most max and returns what follows it.
func uvarint(b []byte, most uint64) (uint64, []byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 || v > most {
		return 0, nil, damage("a number is cut off or too large")
	}
	return v, b[n:], nil
}

func (x *Index) decodeLens(b []byte, h header) error {
	x.lens = make([]uint32, h.docs)
	sum := uint64(0)
	for i := range x.lens {
		n, rest, err := uvarint(b, math.MaxUint32)
		if err != nil {
			return err
		}
		b, x.lens[i] = rest, uint32(n)
		sum += n
	}
	if len(b) != 0 || sum != h.tokens {
		return damage("documents of %d terms, not %d", sum, h.tokens)
	}
	return nil
}

// decodeDictionary reads the terms, sets where their postings begin and returns
// how many bytes those take.
func (x *Index) decodeDictionary(b []byte, h header) (sizes []uint64, err error) {
	x.terms = newVocabulary(int(h.terms))
	x.starts = make([]uint64, h.terms+1)
	sizes = make([]uint64, h.terms)
	var term []byte
	left := h.lists
	for i := range sizes {
		var shared, n, df uint64
		if shared, b, err = uvarint(b, uint64(len(term))); err != nil {
			return nil, err
		}
		if n, b, err = uvarint(b, math.MaxUint32); err != nil || n > uint64(len(b)) {
			return nil, damage("term %d is cut off", i)
		}
		suffix := b[:n]
		if i > 0 && bytes.Compare(suffix, term[shared:]) <= 0 {
			return nil, damage("term %d is out of order", i)
		}
		term = append(term[:shared], suffix...)
		if id, err := x.terms.add(term, x.terms.hash(term)); err != nil || id != i {
			return nil, damage("term %d is there twice", i)
		}
		if df, b, err = uvarint(b[n:], h.docs); err != nil {
			return nil, err
		}
		if sizes[i], b, err = uvarint(b, left); err != nil || df == 0 || df > sizes[i] {
			return nil, damage("%d postings of term %d in %d bytes", df, i, sizes[i])
		}
		left -= sizes[i]
		x.starts[i+1] = x.starts[i] + df
	}
	if len(b) != 0 || left != 0 {
		return nil, damage("the dictionary does not end with the postings")
	}
	return sizes, nil
}

func (x *Index) decodeLists(b []byte, sizes []uint64) error {
	total := x.starts[len(sizes)]
	x.docs, x.tfs = make([]uint32, total), make([]uint8, total)
	tokens := uint64(0)
	for term, size := range sizes {
		n, err := x.decodeList(b[:size], x.starts[term], x.starts[term+1])
		if err != nil {
			return fmt.Errorf("postings of term %d: %w", term, err)
		}
		b = b[size:]
		tokens += n
	}
	if tokens != x.tokens {
		return damage("%d occurrences of terms, not %d", tokens, x.tokens)
	}
	return nil
}

// decodeList reads the postings [from, to) and returns the sum of their
// frequencies.
func (x *Index) decodeList(b []byte, from, to uint64) (uint64, error) {
	docs, tfs := x.docs[from:to], x.tfs[from:to]
	n, next, sum := uint64(len(x.lens)), uint64(0), uint64(0)
	for i := range docs {
		// Most gaps take one or two bytes; binary.Uvarint is not inlined.
		var gap uint64
		switch {
		case len(b) > 0 && b[0] < 0x80:
			gap, b = uint64(b[0]), b[1:]
		case len(b) > 1 && b[1] < 0x80:
			gap, b = uint64(b[0]&0x7F)|uint64(b[1])<<7, b[2:]
		default:
			v, size := binary.Uvarint(b)
			if size <= 0 {
				return 0, damage("cut off")
			}
			gap, b = v, b[size:]
		}
		doc := next + gap>>1
		if doc >= n || gap>>1 >= n {
			return 0, damage("document %d of %d", doc, n)
		}
		docs[i], tfs[i], next = uint32(doc), 1, doc+1
		sum++
		if gap&1 == 0 {
			tf, rest, err := uvarint(b, math.MaxUint32-2)
			if err != nil {
				return 0, err
			}
			b = rest
			x.setTF(from+uint64(i), uint32(tf+2))
			sum += tf + 1
		}
	}
	if len(b) != 0 {
		return 0, damage("%d bytes too many", len(b))
	}
	return sum, nil
}

func (x *Index) setTF(at uint64, tf uint32) {
	if tf >= manyTimes {
		x.tfs[at], x.often[at] = manyTimes, tf
		return
	}
	x.tfs[at] = uint8(tf)
}

// tf returns the frequency of a posting.
func (x *Index) tf(at uint64) uint32 {
	if tf := x.tfs[at]; tf != manyTimes {
		return uint32(tf)
	}
	return x.often[at]
}

// Len returns the number of documents.
func (x *Index) Len() int { return len(x.lens) }

// Terms returns the number of distinct terms.
func (x *Index) Terms() int { return x.terms.len() }

// df returns in how many documents a term occurs.
func (x *Index) df(term int) int { return int(x.starts[term+1] - x.starts[term]) }
