package chunker

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// wordClass sorts characters for counting words.
type wordClass uint8

const (
	spaceClass wordClass = iota
	markClass            // counts by itself
	innerClass           // part of a word
)

// classTable holds the classes of the characters of one or two bytes, most of
// those that the alphabets of Europe need.
type classTable [0x800]wordClass

var lowClasses = sync.OnceValue(func() *classTable {
	var t classTable
	for r := range t {
		t[r] = classify(rune(r))
	}
	return &t
})

func classify(r rune) wordClass {
	switch {
	case r >= 0x2010 && r <= 0x2027: // dashes, quotes and ellipses, for speed
		return markClass
	case unicode.IsSpace(r):
		return spaceClass
	case r == '_' || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r):
		return innerClass
	default:
		return markClass
	}
}

// class returns the class and length of the character at a place.
func (t *classTable) class(text string, i int) (wordClass, int) {
	c := text[i]
	if c < utf8.RuneSelf {
		return t[c], 1
	}
	if c < 0xE0 && i+1 < len(text) {
		return t[(uint(c)<<6|uint(text[i+1]&0x3F))&0x7FF], 2
	}
	return longClass(text[i:])
}

func longClass(text string) (wordClass, int) {
	r, n := utf8.DecodeRuneInString(text)
	return classify(r), n
}

// count returns how many words and marks a text has.
func (t *classTable) count(text string) int {
	n := 0
	last := spaceClass
	for i := 0; i < len(text); {
		// The first two cases are those of class, which is too big to be inlined.
		var class wordClass
		size := 1
		switch c := text[i]; {
		case c < utf8.RuneSelf:
			class = t[c]
		case c < 0xE0 && i+1 < len(text):
			class, size = t[(uint(c)<<6|uint(text[i+1]&0x3F))&0x7FF], 2
		default:
			class, size = longClass(text[i:])
		}
		if class == markClass || class == innerClass && last != innerClass {
			n++
		}
		last = class
		i += size
	}
	return n
}

// next returns the place of the next word or mark, or the text's end.
func (t *classTable) next(text string, i int) int {
	for i < len(text) {
		class, size := t.class(text, i)
		if class != spaceClass {
			return i
		}
		i += size
	}
	return i
}

// end returns where the word or mark at the place ends.
func (t *classTable) end(text string, i int) int {
	class, size := t.class(text, i)
	i += size
	for class == innerClass && i < len(text) {
		if class, size = t.class(text, i); class == innerClass {
			i += size
		}
	}
	return i
}
