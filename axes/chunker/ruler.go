package chunker

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// ruler measures parts of one text.
type ruler interface {
	// length is that of text[a:b].
	length(a, b int) int
	// gap is what the white space text[a:b] between two parts adds when they
	// are put together.
	gap(a, b int) int
	// reach returns where the unit n places after the one at a begins, or the
	// text's end; for n > 0 it is greater than a.
	reach(a, n int) int
}

type wordRuler struct {
	text string
	low  *classTable
}

func (r wordRuler) length(a, b int) int { return r.low.count(r.text[a:b]) }

func (r wordRuler) gap(_, _ int) int { return 0 }

func (r wordRuler) reach(a, n int) int {
	i := r.low.next(r.text, a)
	for ; n > 0 && i < len(r.text); n-- {
		i = r.low.next(r.text, r.low.end(r.text, i))
	}
	return i
}

type runeRuler struct {
	text      string
	collapsed bool
}

func (r runeRuler) length(a, b int) int { return utf8.RuneCountInString(r.text[a:b]) }

func (r runeRuler) gap(a, b int) int {
	if r.collapsed {
		return min(1, b-a)
	}
	return r.length(a, b)
}

func (r runeRuler) reach(a, n int) int {
	for ; n > 0 && a < len(r.text); n-- {
		if r.text[a] < utf8.RuneSelf {
			a++
			continue
		}
		_, size := utf8.DecodeRuneInString(r.text[a:])
		a += size
	}
	return a
}

// tokenRuler measures in the tokens of the whole text. A model's tokenizer may
// cut a part by itself otherwise, but not where parts begin and end at white
// space, which no tokenizer in use looks across.
type tokenRuler struct {
	text   string
	tokens []Span
}

// newTokenRuler takes the tokens from the counter. One that stands for no text,
// as a word's mark may, is put with the one after it.
func newTokenRuler(text string, counter Counter) tokenRuler {
	tokens := counter.Offsets(text)
	next := len(text)
	for i := len(tokens) - 1; i >= 0; i-- {
		if t := &tokens[i]; t.Start == t.End {
			t.Start, t.End = next, next+1
		}
		next = tokens[i].Start
	}
	return tokenRuler{text, tokens}
}

// from is the number of tokens that end at or before a place.
func (r tokenRuler) from(a int) int {
	n, _ := slices.BinarySearchFunc(r.tokens, a, func(t Span, a int) int {
		if t.End <= a {
			return -1
		}
		return 1
	})
	return n
}

// until is the number of tokens that begin before a place.
func (r tokenRuler) until(b int) int {
	n, _ := slices.BinarySearchFunc(r.tokens, b, func(t Span, b int) int {
		if t.Start < b {
			return -1
		}
		return 1
	})
	return n
}

func (r tokenRuler) length(a, b int) int { return max(0, r.until(b)-r.from(a)) }

func (r tokenRuler) gap(_, _ int) int { return 0 }

func (r tokenRuler) reach(a, n int) int {
	for k := r.from(a) + n; k < len(r.tokens); k++ {
		if r.tokens[k].Start > a {
			return r.tokens[k].Start
		}
	}
	return len(r.text)
}

// splitLong cuts a span into pieces that are no longer than most: at white space
// where there is any, else between units, but not before a combining mark.
func splitLong(text string, r ruler, s Span, most int) []unit {
	var pieces []unit
	for {
		end := r.reach(s.Start, most)
		if end >= s.End { // only then is it worth measuring: the rest may be long
			if n := r.length(s.Start, s.End); n <= most {
				return append(pieces, unit{s, n})
			}
		}
		cut := breakBefore(text, s.Start, min(end, s.End))
		if piece, ok := trim(text, Span{Start: s.Start, End: cut}); ok {
			pieces = append(pieces, unit{piece, r.length(piece.Start, piece.End)})
		}
		rest, ok := trim(text, Span{Start: cut, End: s.End})
		if !ok {
			return pieces
		}
		s = rest
	}
}

// breakBefore returns the last place in (start, end] where a line could be
// broken, or the last one between characters if there is none.
func breakBefore(text string, start, end int) int {
	if end == len(text) || spaceAt(text, end) {
		return end
	}
	for i := end; i > start; {
		c, n := utf8.DecodeLastRuneInString(text[start:i])
		if unicode.IsSpace(c) {
			return i
		}
		i -= n
	}
	for i := end; i > start; {
		if r, _ := utf8.DecodeRuneInString(text[i:]); !joins(r) {
			return i
		}
		_, n := utf8.DecodeLastRuneInString(text[start:i])
		i -= n
	}
	return end
}

// joins reports whether a character belongs to the one before it.
func joins(r rune) bool {
	return unicode.IsMark(r) || r == '\u200d' || r >= 0x1F3FB && r <= 0x1F3FF
}

func spaceAt(text string, i int) bool {
	r, _ := utf8.DecodeRuneInString(text[i:])
	return unicode.IsSpace(r)
}
