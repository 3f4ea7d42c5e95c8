package inverted

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Mapped is an inverted index whose postings stay in the bytes of its file, as a
// rule a file mapped into memory, and are decoded when a question asks for them. In
// the program's own memory it takes the documents' lengths and one in [stride] of
// its terms. It does not change and is safe for concurrent use.
type Mapped struct {
	header
	lens  []uint32
	dict  []byte
	lists []byte
	marks landmarks
}

// Map reads the head of an index, its documents' lengths and its dictionary. The
// bytes must stay as they are for as long as the index is used. They should be those
// that were written: of the postings only what makes reading them safe is checked,
// and that when they are read.
func Map(b []byte) (*Mapped, error) {
	x, err := mapIndex(b)
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	return x, nil
}

func mapIndex(b []byte) (*Mapped, error) {
	if len(b) < headerSize {
		return nil, fmt.Errorf("%w: %d bytes", errMagic, len(b))
	}
	h, err := decodeHeader(b, uint64(len(b)))
	if err != nil {
		return nil, err
	}
	b = b[headerSize:]
	x := &Mapped{header: h, dict: b[h.lens:][:h.dict], lists: b[h.lens+h.dict:]}
	if x.lens, err = decodeLens(b[:h.lens], h); err != nil {
		return nil, err
	}
	d := x.dictionary()
	x.marks, err = d.survey(h.terms)
	return x, err
}

// decodeLens reads the documents' lengths.
func decodeLens(b []byte, h header) ([]uint32, error) {
	lens, sum := make([]uint32, h.docs), uint64(0)
	for i := range lens {
		n, size := uint64(0), 1
		if len(b) > 0 && b[0] < 0x80 {
			n = uint64(b[0])
		} else if n, size = binary.Uvarint(b); size <= 0 || n > math.MaxUint32 {
			return nil, damage("a number is cut off or too large")
		}
		b, lens[i] = b[size:], uint32(n)
		sum += n
	}
	if len(b) != 0 || sum != h.tokens {
		return nil, damage("documents of %d terms, not %d", sum, h.tokens)
	}
	return lens, nil
}

func (x *Mapped) dictionary() dictionary {
	return dictionary{b: x.dict, docs: x.docs, left: uint64(len(x.lists))}
}

// Len returns the number of documents.
func (x *Mapped) Len() int { return len(x.lens) }
