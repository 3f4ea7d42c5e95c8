package text

import (
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// entry says what one character of the text becomes when it can be judged
// alone: bits 0 to 23 hold up to three bytes of UTF-8, the first lowest, bits
// 24 and 25 their number, bits 26 and 27 the class.
type entry uint32

func newEntry(c class, folded []byte) entry {
	e := entry(len(folded))<<24 | entry(c)<<26
	for i, b := range folded {
		e |= entry(b) << (8 * i)
	}
	return e
}

func (e entry) class() class { return class(e >> 26) }
func (e entry) size() int    { return int(e >> 24 & 3) }

// tableSize covers Latin, Greek, Cyrillic, the Indic scripts and punctuation:
// every alphabet but those of East Asia.
const tableSize = 0x3000

// entryTable holds the entries of the characters below tableSize.
type entryTable [tableSize]entry

func (r *rules) table() *entryTable {
	t := new(entryTable)
	var spare [2][]byte
	for c := range rune(tableSize) {
		t[c] = r.entry(c, &spare)
	}
	return t
}

// entry judges one character. What normalisation may join to its neighbours or
// change, and what lower-cases by context, is special.
func (r *rules) entry(c rune, spare *[2][]byte) entry {
	if c < utf8.RuneSelf {
		return r.judge(r.folded(c))
	}
	var utf [utf8.UTFMax]byte
	s := utf[:utf8.EncodeRune(utf[:], c)]
	if !norm.NFC.Properties(s).BoundaryBefore() || !norm.NFC.IsNormal(s) || c == 'Σ' || c == 'İ' && !r.turkic {
		return newEntry(special, nil)
	}
	c = r.folded(c)
	if !r.strip {
		return r.judge(c)
	}
	s = stripMarks(nil, utf8.AppendRune(nil, c), spare)
	folded, size := utf8.DecodeRune(s)
	if size == 0 || size != len(s) {
		return newEntry(special, nil)
	}
	return r.judge(folded)
}

// folded is what a character alone becomes, marks aside.
func (r *rules) folded(c rune) rune {
	if r.cased {
		return c
	}
	return r.lowerRune(c)
}

// judge returns the entry of a folded character.
func (r *rules) judge(folded rune) entry {
	class := r.class(folded)
	switch {
	case class == separator || class == joiner && r.dropped(folded):
		return newEntry(class, nil)
	case folded > 0xFFFF: // four bytes
		return newEntry(special, nil)
	}
	return newEntry(class, utf8.AppendRune(nil, folded))
}
