package inverted

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Builder collects the terms of documents, one document after another.
type Builder struct {
	terms   *vocabulary
	lens    []uint32 // terms of each document, repeated ones each time
	tokens  uint64
	batch   []token // terms of the current document that are not counted yet
	text    []byte  // their bytes
	touched uint32  // keeps the compiler from leaving out vocabulary.touch

	forward  []occurrence // the current segment's postings, by document
	docEnds  []uint32     // where each of its documents ends in forward
	segments []segment
}

// token is one term of a document: its hash and where it ends in the text.
type token struct{ hash, end uint32 }

// batchSize is how many terms are looked up together: enough to keep the memory
// busy, few enough for what is loaded to stay in the cache.
const batchSize = 256

// occurrence is a posting before it is inverted: a term and how often it occurs.
type occurrence struct{ term, tf uint32 }

// segment holds the encoded postings of consecutive documents, term by term.
// The first delta of a term continues from the segment before, so that the
// segments' bytes can be joined as they are.
type segment struct {
	bytes []byte
	ends  []uint32 // where each term ends in bytes, in the order of numbers
}

// segmentSize is how many postings are inverted at once: 8 bytes each, twice.
const segmentSize = 1 << 22

// errTooMany says that a corpus has more documents than ordinals.
var errTooMany = errors.New("more than 2^32-2 documents")

// NewBuilder returns an empty builder.
func NewBuilder() *Builder {
	return &Builder{terms: newVocabulary(0), batch: make([]token, 0, batchSize)}
}

// Add adds the next document: terms calls its argument for every term of it.
func (b *Builder) Add(terms func(emit func(term []byte))) error {
	if len(b.lens) >= math.MaxUint32-1 {
		return errTooMany
	}
	doc, n, err := uint32(len(b.lens))+1, uint64(0), error(nil)
	terms(func(term []byte) {
		n++
		b.text = append(b.text, term...)
		b.batch = append(b.batch, token{b.terms.hash(term), uint32(len(b.text))})
		if len(b.batch) == batchSize && err == nil {
			err = b.count(doc)
		}
	})
	if err == nil {
		err = b.count(doc)
	}
	if err == nil && n > math.MaxUint32 {
		err = errors.New("more than 2^32-1 terms in a document")
	}
	if err != nil {
		return fmt.Errorf("add document %d: %w", doc-1, err)
	}
	b.lens = append(b.lens, uint32(n))
	b.docEnds = append(b.docEnds, uint32(len(b.forward)))
	b.tokens += n
	if len(b.forward) >= segmentSize {
		b.invert()
	}
	return nil
}

// count counts the waiting terms as occurrences in the document.
func (b *Builder) count(doc uint32) error {
	b.touched += b.terms.touch(b.batch)
	from := uint32(0)
	for _, t := range b.batch {
		id, err := b.terms.add(b.text[from:t.end], t.hash)
		if err != nil {
			return err
		}
		from = t.end
		e := &b.terms.entries[id]
		if e.doc == doc {
			b.forward[e.at].tf++
			continue
		}
		e.doc, e.at = doc, uint32(len(b.forward))
		b.forward = append(b.forward, occurrence{uint32(id), 1})
	}
	b.batch, b.text = b.batch[:0], b.text[:0]
	return nil
}

// posting is one document of a term's list and how often it has the term.
type posting struct{ doc, tf uint32 }

// invert turns the current segment into encoded postings by term.
func (b *Builder) invert() {
	ends := make([]uint32, b.terms.len())
	for _, o := range b.forward {
		ends[o.term]++
	}
	total := uint32(0)
	for id, n := range ends {
		ends[id] = total
		total += n
	}
	inverted, from := make([]posting, len(b.forward)), uint32(0)
	first := uint32(len(b.lens) - len(b.docEnds))
	for i, end := range b.docEnds {
		for _, o := range b.forward[from:end] {
			inverted[ends[o.term]] = posting{first + uint32(i), o.tf}
			ends[o.term]++
		}
		from = end
	}
	b.segments = append(b.segments, b.encode(inverted, ends))
	b.forward, b.docEnds = b.forward[:0], b.docEnds[:0]
}

// encode writes each term's postings and replaces the ends, counted in
// postings, by ends counted in bytes.
func (b *Builder) encode(inverted []posting, ends []uint32) segment {
	out, from := make([]byte, 0, 2*len(inverted)), uint32(0)
	for id, end := range ends {
		list := inverted[from:end]
		from = end
		if len(list) > 0 {
			t := &b.terms.entries[id]
			t.df += uint32(len(list))
			out = appendPostings(out, list, t.next)
			t.next = list[len(list)-1].doc + 1
		}
		ends[id] = uint32(len(out))
	}
	return segment{bytes: out[:len(out):len(out)], ends: ends}
}

// appendPostings encodes postings whose documents follow next-1: a varint of
// twice the number of documents passed over, plus 1 when the term occurs once;
// else a second varint of how often beyond 2 follows.
func appendPostings(out []byte, list []posting, next uint32) []byte {
	for _, p := range list {
		gap := uint64(p.doc-next) << 1
		next = p.doc + 1
		if p.tf == 1 {
			out = binary.AppendUvarint(out, gap|1)
			continue
		}
		out = binary.AppendUvarint(out, gap)
		out = binary.AppendUvarint(out, uint64(p.tf-2))
	}
	return out
}
