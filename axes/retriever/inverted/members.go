package inverted

import "math/bits"

// memberShare says which terms get a bitmap: those in at least one of so many
// documents. The bitmap then takes at most six bytes for each of their postings.
const memberShare = 32

// members tells in constant time whether a document has a term, and which of
// its postings is the document's.
type members struct {
	bits   []uint64
	before []uint32 // how many documents of the term lie before each word of bits
}

func newMembers(docs []uint32, n int) *members {
	m := &members{bits: make([]uint64, (n+63)/64), before: make([]uint32, (n+63)/64)}
	for _, doc := range docs {
		m.bits[doc/64] |= 1 << (doc % 64)
	}
	sum := 0
	for i, word := range m.bits {
		m.before[i] = uint32(sum)
		sum += bits.OnesCount64(word)
	}
	return m
}

func (m *members) find(doc uint32) (place int, ok bool) {
	word, bit := m.bits[doc/64], uint64(1)<<(doc%64)
	if word&bit == 0 {
		return 0, false
	}
	return int(m.before[doc/64]) + bits.OnesCount64(word&(bit-1)), true
}
