package inverted

import (
	"cmp"
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
	if x.lens, err = decodeLens(b[:h.lens], h); err != nil {
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

// decodeDictionary reads the terms, sets where their postings begin and returns
// how many bytes those take.
func (x *Index) decodeDictionary(b []byte, h header) (sizes []uint64, err error) {
	x.terms = newVocabulary(int(h.terms))
	x.starts = make([]uint64, h.terms+1)
	sizes = make([]uint64, h.terms)
	d := dictionary{b: b, docs: h.docs, left: h.lists}
	for i := range sizes {
		if more, err := d.next(); !more || err != nil {
			return nil, cmp.Or(err, damage("%d terms, not %d", i, h.terms))
		}
		if id, err := x.terms.add(d.term, x.terms.hash(d.term)); err != nil || id != i {
			return nil, damage("term %d is there twice", i)
		}
		sizes[i], x.starts[i+1] = d.size, x.starts[i]+d.df
	}
	if len(d.b) != 0 {
		return nil, damage("more than %d terms", h.terms)
	}
	return sizes, d.ended(h.terms)
}

func (x *Index) decodeLists(b []byte, sizes []uint64) error {
	total := x.starts[len(sizes)]
	x.docs, x.tfs = make([]uint32, total), make([]uint8, total)
	tokens := uint64(0)
	for term, size := range sizes {
		l := x.list(term)
		n, err := l.decode(b[:size], uint64(len(x.lens)))
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

// Len returns the number of documents.
func (x *Index) Len() int { return len(x.lens) }

// Terms returns the number of distinct terms.
func (x *Index) Terms() int { return x.terms.len() }

// df returns in how many documents a term occurs.
func (x *Index) df(term int) int { return int(x.starts[term+1] - x.starts[term]) }

// list returns a term's postings.
func (x *Index) list(term int) list {
	from, to := x.starts[term], x.starts[term+1]
	return list{docs: x.docs[from:to], tfs: x.tfs[from:to], first: from, often: x.often}
}
