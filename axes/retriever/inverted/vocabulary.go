package inverted

import (
	"bytes"
	"errors"
	"hash/maphash"
	"math"
)

// vocabulary numbers terms from 0 in the order in which they are added. It is a
// hash table with linear probing; the hash is seeded anew in every process, but
// no result depends on it.
type vocabulary struct {
	seed    maphash.Seed
	entries []termEntry
	long    []byte // the terms that do not fit their entries
	slots   []slot // a power of two, at most half of them used
}

// slot holds a term's hash and its number plus 1; 0 is an empty slot.
type slot struct{ hash, next uint32 }

// inlineSize makes an entry one line of the processor's cache: a corpus has
// hundreds of thousands of terms, and waiting for memory is most of the work.
const inlineSize = 40

// termEntry is a term and what is known of it while documents are added.
type termEntry struct {
	size  uint32
	start uint32 // in long, when the term is longer than inlineSize

	doc  uint32 // the last document with the term, plus 1
	at   uint32 // the place of its posting in the current segment
	df   uint32 // documents with the term, in segments already inverted
	next uint32 // the first document that may follow in the encoded postings

	inline [inlineSize]byte
}

// errVocabulary says that a corpus has too many distinct terms.
var errVocabulary = errors.New("the distinct terms are over 2^32-2 or take over 4 GiB")

func newVocabulary(terms int) *vocabulary {
	size := 1024
	for size < 2*terms {
		size *= 2
	}
	return &vocabulary{
		seed: maphash.MakeSeed(), slots: make([]slot, size), entries: make([]termEntry, 0, terms),
	}
}

func (v *vocabulary) len() int { return len(v.entries) }

func (v *vocabulary) term(id int) []byte {
	e := &v.entries[id]
	if e.size <= inlineSize {
		return e.inline[:e.size]
	}
	return v.long[e.start : e.start+e.size]
}

func (v *vocabulary) hash(term []byte) uint32 { return uint32(maphash.Bytes(v.seed, term)) }

// find returns the number of a term.
func (v *vocabulary) find(term []byte) (id int, ok bool) {
	_, id = v.probe(term, v.hash(term))
	return id, id >= 0
}

// add returns the number of a term with its hash, which is new when it is equal
// to the number of terms before.
func (v *vocabulary) add(term []byte, hash uint32) (int, error) {
	at, id := v.probe(term, hash)
	if id >= 0 {
		return id, nil
	}
	id = len(v.entries)
	if len(v.long)+len(term) > math.MaxUint32 || id >= math.MaxUint32-1 {
		return 0, errVocabulary
	}
	e := termEntry{size: uint32(len(term)), start: uint32(len(v.long))}
	if len(term) > inlineSize {
		v.long = append(v.long, term...)
	} else {
		copy(e.inline[:], term)
	}
	v.entries = append(v.entries, e)
	v.slots[at] = slot{hash, uint32(id) + 1}
	if 2*len(v.entries) > len(v.slots) {
		v.grow()
	}
	return id, nil
}

// probe returns the slot of a term and its number, or the slot where it belongs
// and -1.
func (v *vocabulary) probe(term []byte, hash uint32) (at uint32, id int) {
	mask := uint32(len(v.slots) - 1)
	for at = hash & mask; ; at = (at + 1) & mask {
		s := v.slots[at]
		if s.next == 0 {
			return at, -1
		}
		if s.hash == hash && bytes.Equal(v.term(int(s.next-1)), term) {
			return at, int(s.next - 1)
		}
	}
}

func (v *vocabulary) grow() {
	old := v.slots
	v.slots = make([]slot, 2*len(old))
	mask := uint32(len(v.slots) - 1)
	for _, s := range old {
		if s.next == 0 {
			continue
		}
		at := s.hash & mask
		for v.slots[at].next != 0 {
			at = (at + 1) & mask
		}
		v.slots[at] = s
	}
}

// touch loads what probe will read for terms with these hashes. The loads do
// not wait for one another, so the memory serves many at a time. The result
// only keeps the compiler from leaving them out.
func (v *vocabulary) touch(tokens []token) (sum uint32) {
	mask := uint32(len(v.slots) - 1)
	var next [batchSize]uint32
	for i := range tokens {
		next[i] = v.slots[tokens[i].hash&mask].next
	}
	for i := range tokens {
		if n := next[i]; n != 0 {
			sum += v.entries[n-1].size
		}
	}
	return sum
}
