package tokenizer

import (
	"bytes"
	"math/bits"
	"unicode/utf8"
)

// lexicon holds the pieces of a vocabulary and finds, for a text read rune by
// rune, which of them it begins with.
//
// It is a hash table from whole pieces to their index. A rolling hash of the
// runes read so far is the key, so that each further rune costs one probe, and a
// small bit set of the hashes of everything a piece begins with says when to
// stop. The table holds 32 bits of each hash: what it finds is a candidate, which
// once in four billion probes is not the text after all.
//
// A trie would find the same without doubt, but has two to five nodes for each
// piece, all over memory: building one takes several times as long, and loading
// is what every run of a program pays for.
type lexicon struct {
	text  []byte   // all pieces, one after the other
	ends  []uint32 // by index: where the piece ends in text
	slots []slot   // open addressing, linear probing; length a power of two
	shift uint     // 64 - log2(len(slots))

	// begun has a bit for each hash of a beginning of a piece.
	begun      []uint64
	begunShift uint

	// ambiguous says that two pieces lie where one may be taken for the other.
	ambiguous bool

	// runes holds the pieces of one rune, for the runes of most alphabets.
	runes [denseRunes]int32
}

// slot is one place of the table; index is counted from 1, 0 is an empty place.
type slot struct {
	tag   uint32
	index uint32
}

// denseRunes bounds the code points whose pieces are found without hashing.
const denseRunes = 0x3000

// begunBits is how many bits of begun there are for each slot, as a power of 2.
const begunBits = 2

// newLexicon returns an empty lexicon with room for about pieces pieces.
func newLexicon(pieces int) *lexicon {
	l := &lexicon{ends: make([]uint32, 0, pieces)}
	for i := range l.runes {
		l.runes[i] = noToken
	}
	l.resize(max(6, bits.Len(uint(pieces)*2)))
	return l
}

func (l *lexicon) resize(log2 int) {
	l.slots = make([]slot, 1<<log2)
	l.shift = uint(64 - log2)
	l.begun = make([]uint64, 1<<(log2+begunBits)/64)
	l.begunShift = l.shift - begunBits
	l.ambiguous = false
}

// extend returns the hash of a text and one more rune. The hash of the empty
// text is 0.
func extend(hash uint64, r rune) uint64 {
	hash = (hash ^ uint64(uint32(r))) * 0x9E3779B97F4A7C15
	return hash ^ hash>>32
}

// begins reports whether any piece may begin with the text that has this hash.
func (l *lexicon) begins(hash uint64) bool {
	bit := hash >> l.begunShift
	return l.begun[bit>>6]>>(bit&63)&1 != 0
}

// candidate returns the piece that probably is the text with this hash, noToken
// when no piece is.
func (l *lexicon) candidate(hash uint64) int32 {
	mask := uint64(len(l.slots) - 1)
	for i := hash >> l.shift; ; i = (i + 1) & mask {
		s := l.slots[i]
		if s.index == 0 {
			return noToken
		}
		if s.tag == uint32(hash) {
			return int32(s.index - 1)
		}
	}
}

// rune returns the piece that is the one rune r, which has this hash.
func (l *lexicon) rune(r rune, hash uint64) int32 {
	if r < denseRunes {
		return l.runes[r]
	}
	var buf [utf8.UTFMax]byte
	return l.exact(hash, nil, buf[:utf8.EncodeRune(buf[:], r)])
}

// piece returns the text of a piece.
func (l *lexicon) piece(index int32) []byte {
	start := uint32(0)
	if index > 0 {
		start = l.ends[index-1]
	}
	return l.text[start:l.ends[index]]
}

// is reports whether a piece is text.
func (l *lexicon) is(index int32, text []byte) bool { return string(l.piece(index)) == string(text) }

// find returns the piece that is text, noToken when none is.
func (l *lexicon) find(text []byte) int32 { return l.exact(hashOf(text), nil, text) }

func hashOf(text []byte) uint64 {
	hash := uint64(0)
	for _, r := range string(text) {
		hash = extend(hash, r)
	}
	return hash
}

// exact returns the piece that is prefix and text together, which have this hash.
func (l *lexicon) exact(hash uint64, prefix, text []byte) int32 {
	mask := uint64(len(l.slots) - 1)
	for i := hash >> l.shift; l.slots[i].index != 0; i = (i + 1) & mask {
		s := l.slots[i]
		if s.tag != uint32(hash) {
			continue
		}
		piece := l.piece(int32(s.index - 1))
		if len(piece) == len(prefix)+len(text) && bytes.HasPrefix(piece, prefix) && bytes.HasSuffix(piece, text) {
			return int32(s.index - 1)
		}
	}
	return noToken
}

// add appends a piece and reports whether it was new. Of two equal pieces the
// later is the one that is found. The empty piece is never found.
func (l *lexicon) add(piece string) (isNew bool) {
	if len(l.ends) >= len(l.slots)/4*3 {
		l.grow()
	}
	l.text = append(l.text, piece...)
	l.ends = append(l.ends, uint32(len(l.text)))
	return l.enter(len(l.ends) - 1)
}

// enter puts the piece of an index into the table.
func (l *lexicon) enter(index int) (isNew bool) {
	piece := l.piece(int32(index))
	if len(piece) == 0 {
		return true
	}
	hash, last, size := uint64(0), rune(0), 0
	for _, r := range string(piece) {
		hash, last = extend(hash, r), r
		bit := hash >> l.begunShift
		l.begun[bit>>6] |= 1 << (bit & 63)
		size++
	}
	if size == 1 && last < denseRunes {
		l.runes[last] = int32(index)
	}
	mask := uint64(len(l.slots) - 1)
	i := hash >> l.shift
	for ; l.slots[i].index != 0; i = (i + 1) & mask {
		s := &l.slots[i]
		if s.tag != uint32(hash) {
			continue
		}
		if l.is(int32(s.index-1), piece) {
			s.index = uint32(index + 1)
			return false
		}
		l.ambiguous = true
	}
	l.slots[i] = slot{uint32(hash), uint32(index + 1)}
	return true
}

func (l *lexicon) grow() {
	l.resize(int(64-l.shift) + 1)
	for i := range l.ends {
		l.enter(i)
	}
}
