package inverted

import (
	"bytes"
	"math"
	"sort"
)

// dictionary reads the terms of a file one after the other, in the order of their
// bytes.
type dictionary struct {
	b    []byte // what is still to come
	docs uint64 // of the index
	left uint64 // bytes of postings that belong to terms still to come

	n    int    // how many terms have been read
	term []byte // the last one, until the next is read
	df   uint64
	size uint64 // bytes of its postings
}

// next reads the next term, and reports false at the end.
func (d *dictionary) next() (bool, error) {
	if len(d.b) == 0 {
		return false, nil
	}
	shared, b, err := uvarint(d.b, uint64(len(d.term)))
	if err != nil {
		return false, err
	}
	n, b, err := uvarint(b, math.MaxUint32)
	if err != nil || n > uint64(len(b)) {
		return false, damage("term %d is cut off", d.n)
	}
	suffix := b[:n]
	if d.n > 0 && bytes.Compare(suffix, d.term[shared:]) <= 0 {
		return false, damage("term %d is out of order", d.n)
	}
	d.term = append(d.term[:shared], suffix...)
	if d.df, b, err = uvarint(b[n:], d.docs); err != nil {
		return false, err
	}
	if d.size, b, err = uvarint(b, d.left); err != nil || d.df == 0 || d.df > d.size {
		return false, damage("%d postings of term %d in %d bytes", d.df, d.n, d.size)
	}
	d.b, d.left, d.n = b, d.left-d.size, d.n+1
	return true, nil
}

// ended checks that so many terms were read, and that all postings are theirs.
func (d *dictionary) ended(terms uint64) error {
	if uint64(d.n) != terms || d.left != 0 {
		return damage("the dictionary does not end with the postings")
	}
	return nil
}

// stride is how many terms follow one another between two landmarks: about as many
// as are read in the time that the memory takes to find the first.
const stride = 16

// landmarks are every so many terms of a dictionary, to begin to read at.
type landmarks struct {
	at    []landmark
	terms []byte // of the landmarks, one after the other
}

// landmark is where a term stands in the dictionary.
type landmark struct {
	begin uint64 // the place of the next term's entry, from the dictionary's end
	left  uint64 // bytes of postings from the next term's on
	df    uint32
	size  uint64
	end   uint64 // where the term ends in terms
}

// survey reads a dictionary to its end.
func (d *dictionary) survey(terms uint64) (landmarks, error) {
	m := landmarks{at: make([]landmark, 0, terms/stride+1)}
	for {
		more, err := d.next()
		if err != nil {
			return m, err
		}
		if !more {
			return m, d.ended(terms)
		}
		if (d.n-1)%stride == 0 {
			m.terms = append(m.terms, d.term...)
			m.at = append(m.at, landmark{uint64(len(d.b)), d.left, uint32(d.df), d.size, uint64(len(m.terms))})
		}
	}
}

func (m *landmarks) term(i int) []byte {
	from := uint64(0)
	if i > 0 {
		from = m.at[i-1].end
	}
	return m.terms[from:m.at[i].end]
}

// seek returns the dictionary at a term, with the term read, and false when it does
// not have it. All is the whole dictionary, which was surveyed.
func (m *landmarks) seek(all []byte, docs uint64, term []byte) (dictionary, bool) {
	i := sort.Search(len(m.at), func(i int) bool { return bytes.Compare(m.term(i), term) > 0 }) - 1
	if i < 0 {
		return dictionary{}, false
	}
	at := m.at[i]
	d := dictionary{
		b: all[uint64(len(all))-at.begin:], docs: docs, left: at.left,
		n: i*stride + 1, term: append(make([]byte, 0, 64), m.term(i)...), df: uint64(at.df), size: at.size,
	}
	for range stride {
		switch c := bytes.Compare(d.term, term); {
		case c == 0:
			return d, true
		case c > 0:
			return d, false
		}
		if more, err := d.next(); !more || err != nil {
			return d, false
		}
	}
	return d, false
}
