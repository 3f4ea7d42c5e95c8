package pgindex

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// The limits of a tsvector: section 12.11 of Postgres's manual, and ts_type.h.
const (
	maxLexeme    = 2046      // bytes; longer words are left out, as to_tsvector does
	maxPosition  = 1<<14 - 1 // later words have this position
	maxPositions = 255       // of one lexeme; further ones are left out
	maxVector    = 1<<20 - 1 // bytes of all lexemes and their positions
)

// LimitError says that a text has more than fits a tsvector.
type LimitError struct {
	// Bytes is what its lexemes and positions take, at least.
	Bytes int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("its terms take %d bytes or more as a tsvector, and Postgres takes at most %d", e.Bytes, maxVector)
}

// Lexemes collects the terms of one text after the other and writes them as
// tsvectors, with the positions that to_tsvector would give. The zero value is
// ready.
type Lexemes struct {
	// Dropped counts the terms that are too long to be a lexeme, of all texts.
	Dropped int

	bytes []byte  // of the terms, each once
	terms []term  // in the order in which they first come
	next  []int32 // for each place in the text, the next one of the same term, or 0
	table []int32 // a hash table: indexes of terms from 1, 0 where there is none
	clean []byte
	order ordering
}

// term is a term and the places in the text where it is first and last. Its first
// bytes are beside it as a number that orders as they do: most terms differ there.
type term struct {
	prefix      uint64
	start       uint32
	length      uint16
	first, last int32
}

func (l *Lexemes) term(t *term) []byte { return l.bytes[t.start:][:t.length] }

// prefix returns the first eight bytes, with zeros after the last.
func prefix(term []byte) uint64 {
	if len(term) >= 8 {
		return binary.BigEndian.Uint64(term)
	}
	var first [8]byte
	copy(first[:], term)
	return binary.BigEndian.Uint64(first[:])
}

const largeTable = 1 << 14

// hash mixes the first and the last eight bytes and the length by multiplication.
func hash(term []byte, prefix uint64) uint64 {
	h := prefix ^ uint64(len(term))
	if len(term) > 8 {
		h = (h^h>>29)*0x9E3779B97F4A7C15 ^ binary.BigEndian.Uint64(term[len(term)-8:])
	}
	h = (h ^ h>>32) * 0x9E3779B97F4A7C15
	return h ^ h>>32
}

// Reset begins a new text.
func (l *Lexemes) Reset() {
	l.bytes, l.terms, l.next = l.bytes[:0], l.terms[:0], l.next[:0]
	if len(l.table) > largeTable {
		l.table = nil // made for a long text, and slow to clear for each short one
	}
	clear(l.table)
}

// Add adds the next term of the text. A term that is too long has no position, as
// in to_tsvector.
func (l *Lexemes) Add(text []byte) {
	if text = l.lexeme(text); len(text) > maxLexeme {
		l.Dropped++
	}
	if len(text) == 0 || len(text) > maxLexeme {
		return
	}
	place := int32(len(l.next))
	l.next = append(l.next, 0)
	if t, known := l.find(text); known {
		l.next[t.last] = place
		t.last = place
	} else {
		t.first, t.last = place, place
	}
}

// find returns a term, which is added when it is not there.
func (l *Lexemes) find(text []byte) (t *term, known bool) {
	if 2*len(l.terms) >= len(l.table) {
		l.grow()
	}
	first, mask := prefix(text), uint64(len(l.table)-1)
	at := hash(text, first) & mask
	for ; l.table[at] != 0; at = (at + 1) & mask {
		t := &l.terms[l.table[at]-1]
		if t.prefix == first && int(t.length) == len(text) && (len(text) <= 8 || bytes.Equal(l.term(t), text)) {
			return t, true
		}
	}
	l.terms = append(l.terms, term{prefix: first, start: uint32(len(l.bytes)), length: uint16(len(text))})
	l.bytes = append(l.bytes, text...)
	l.table[at] = int32(len(l.terms))
	return &l.terms[len(l.terms)-1], false
}

// grow doubles the hash table.
func (l *Lexemes) grow() {
	l.table = make([]int32, max(2*len(l.table), 512))
	mask := uint64(len(l.table) - 1)
	for i := range l.terms {
		at := hash(l.term(&l.terms[i]), l.terms[i].prefix) & mask
		for l.table[at] != 0 {
			at = (at + 1) & mask
		}
		l.table[at] = int32(i + 1)
	}
}

// lexeme returns what stands for a term in Postgres: text there is valid UTF-8
// without NUL, so that what is neither becomes U+FFFD, in texts and in questions.
func (l *Lexemes) lexeme(term []byte) []byte {
	if utf8.Valid(term) && bytes.IndexByte(term, 0) < 0 {
		return term
	}
	l.clean = l.clean[:0]
	for len(term) > 0 {
		r, size := utf8.DecodeRune(term)
		if r == 0 {
			r = utf8.RuneError
		}
		l.clean = utf8.AppendRune(l.clean, r)
		term = term[size:]
	}
	return l.clean
}

// AppendVector appends the text's tsvector in the form that its type receives: the
// number of lexemes, then for each, in the order of their bytes, the lexeme with a
// NUL, the number of positions, and the positions. The error is a [*LimitError].
func (l *Lexemes) AppendVector(buf []byte) ([]byte, error) {
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(l.terms)))
	size := 0
	for _, k := range l.order.sort(l) {
		t := &l.terms[k.term]
		var positions int
		buf, positions = l.appendLexeme(buf, t)
		size += int(t.length)
		size += size&1 + 2 + 2*positions
	}
	if size > maxVector {
		return buf, &LimitError{size}
	}
	return buf, nil
}

// appendLexeme appends one lexeme, and returns how many positions it has.
func (l *Lexemes) appendLexeme(buf []byte, t *term) ([]byte, int) {
	buf = append(append(buf, l.term(t)...), 0)
	count, positions := len(buf), 0
	buf = append(buf, 0, 0)
	for place := t.first; ; place = l.next[place] {
		position := min(place+1, maxPosition)
		buf = binary.BigEndian.AppendUint16(buf, uint16(position))
		if positions++; positions == maxPositions || position == maxPosition || place == t.last {
			break
		}
	}
	binary.BigEndian.PutUint16(buf[count:], uint16(positions))
	return buf, positions
}

// AppendQuery appends the text of a tsquery that asks for any of the text's terms,
// each once, and quoted so that nothing in it is an operator, and returns how many
// terms that are. Nothing is appended when there is no term.
func (l *Lexemes) AppendQuery(buf []byte) ([]byte, int) {
	return l.appendAny(buf, l.terms), len(l.terms)
}

// inRow is how many operators stand one in the other at most in a row of terms.
const inRow = 64

// appendAny appends terms joined by operators. Postgres walks them by recursion:
// many terms are halved, so that its stack is deep enough for any number.
func (l *Lexemes) appendAny(buf []byte, terms []term) []byte {
	if len(terms) > inRow {
		half := len(terms) / 2
		buf = append(l.appendAny(append(buf, '('), terms[:half]), ")|("...)
		return append(l.appendAny(buf, terms[half:]), ')')
	}
	for i := range terms {
		if i > 0 {
			buf = append(buf, '|')
		}
		buf = append(buf, '\'')
		for _, c := range l.term(&terms[i]) {
			if c == '\'' || c == '\\' {
				buf = append(buf, c)
			}
			buf = append(buf, c)
		}
		buf = append(buf, '\'')
	}
	return buf
}
