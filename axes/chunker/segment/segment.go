// Package segment finds the sentences of a text by the rules of its language:
// abbreviations, initials, ordinals and dates do not end one.
package segment

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Span is a range of byte offsets, End exclusive.
type Span struct{ Start, End int }

// Rules are those of one language. They are safe for concurrent use.
type Rules struct {
	abbreviations map[string]class
	// ordinals tells that a bare number of up to three digits, or a Roman one,
	// and a full stop make an ordinal, whatever follows.
	ordinals bool
	lower    func(string) string
}

// class says what may follow an abbreviation within its sentence.
type class uint8

const (
	// opens goes before something: a name, a number. It never ends a sentence.
	opens class = iota + 1
	// numbers goes before a number; before anything else it is an ordinary word.
	numbers
	// closes may end a sentence, and does when a capital letter follows.
	closes
)

// For returns the rules for a language, given as a BCP 47 tag such as "uk" or
// "tr-TR". Ukrainian, Turkish, Italian and English have rules of their own; for
// any other language, and for none, there are general ones.
func For(language string) *Rules {
	base, _, _ := strings.Cut(strings.ToLower(language), "-")
	r := &Rules{abbreviations: make(map[string]class), lower: strings.ToLower}
	lists := general()
	switch base {
	case "uk":
		lists = ukrainian()
	case "tr":
		lists = turkish()
		r.ordinals = true
		r.lower = func(s string) string { return strings.ToLowerSpecial(unicode.TurkishCase, s) }
	case "it":
		lists = italian()
	case "en":
		lists = english()
	}
	for class, words := range lists {
		for word := range strings.FieldsSeq(words) {
			r.abbreviations[word] = class
		}
	}
	return r
}

// Sentences returns the spans of the sentences, in order and without the white
// space around them; they hold all else. A blank line ends a sentence, and so does
// a line end before a line that begins with a bullet or a dash. Where a text has no
// capital letters at all, their absence after a full stop means nothing.
func (r *Rules) Sentences(text string) []Span {
	f := finder{Rules: r, text: text, cased: strings.ContainsFunc(text, unicode.IsUpper)}
	f.run()
	return f.spans
}

// finder looks for the ends of sentences in one text.
type finder struct {
	*Rules
	text  string
	cased bool
	spans []Span
	start int // of the sentence at hand
}

func (f *finder) run() {
	for i := 0; i < len(f.text); {
		switch c := f.text[i]; {
		case c == '\n':
			i = f.lineEnd(i)
		case c == '.' || c == '!' || c == '?' || c >= 0xD8 && stops(f.text[i:]) > 0:
			i = f.stop(i)
		default:
			i++
		}
	}
	f.end(len(f.text))
}

// end closes the sentence at hand before the place.
func (f *finder) end(at int) {
	if s, ok := Trim(f.text, Span{f.start, at}); ok {
		f.spans = append(f.spans, s)
	}
	f.start = at
}

// Trim narrows a span by the white space at its ends, and reports whether
// anything is left.
func Trim(text string, s Span) (Span, bool) {
	part := strings.TrimLeftFunc(text[s.Start:s.End], unicode.IsSpace)
	s.Start = s.End - len(part)
	s.End = s.Start + len(strings.TrimRightFunc(part, unicode.IsSpace))
	return s, s.Start < s.End
}

// lineEnd looks at a line end and returns where to go on.
func (f *finder) lineEnd(i int) int {
	next, blank := skipSpace(f.text, i)
	if blank || bullet(f.text[next:]) {
		f.end(i)
	}
	return max(next, i+1)
}

// skipSpace returns the next place that is no white space, and whether there is a
// blank line before it.
func skipSpace(text string, i int) (next int, blank bool) {
	lines := 0
	for i < len(text) {
		c := text[i]
		if c < utf8.RuneSelf {
			if c != ' ' && (c < '\t' || c > '\r') {
				break
			}
			if c == '\n' {
				lines++
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if !unicode.IsSpace(r) {
			break
		}
		i += n
	}
	return i, lines > 1
}

// bullet reports whether a line begins with a bullet or a dash and a blank.
func bullet(line string) bool {
	r, n := utf8.DecodeRuneInString(line)
	switch r {
	case '-', '*', '•', '–', '—', '‣', '▪', '●', '○', '·':
		return len(line) > n && (line[n] == ' ' || line[n] == '\t')
	}
	return false
}

// stops returns the length of the full stop, or its like, at the place, or 0.
func stops(s string) int {
	if s == "" {
		return 0
	}
	if c := s[0]; c < utf8.RuneSelf {
		if c == '.' || c == '!' || c == '?' {
			return 1
		}
		return 0
	}
	switch r, n := utf8.DecodeRuneInString(s); r {
	case '…', '‥', '。', '！', '？', '｡', '؟', '۔', '।', '॥', '‼', '⁇', '⁈', '⁉', '܀', '።':
		return n
	}
	return 0
}

// wide reports whether a stop ends its sentence without a blank after it.
func wide(s string) bool {
	switch r, _ := utf8.DecodeRuneInString(s); r {
	case '。', '！', '？', '｡':
		return true
	}
	return false
}

// stop looks at a run of stops, ends the sentence if it ends there, and returns
// where to go on.
func (f *finder) stop(i int) int {
	j := i
	ends := false // without a blank
	for n := stops(f.text[j:]); n > 0; n = stops(f.text[j:]) {
		ends = ends || wide(f.text[j:])
		j += n
	}
	single := j == i+1 && f.text[i] == '.'
	j = closers(f.text, j)
	next, blank := skipSpace(f.text, j)
	if next == j && next < len(f.text) && !ends {
		return j
	}
	if blank || next == len(f.text) || ends || f.boundary(i, next, single) {
		f.end(j)
	}
	// The white space is left in place, so that line ends in it are seen.
	return j
}

// closers passes over quotes, brackets and footnote marks that belong to the
// sentence that has just ended.
func closers(text string, i int) int {
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch r {
		case '"', '\'', ')', ']', '}', '»', '”', '“', '’', '›', '」', '』', '）', '*', '_':
			i += n
		case '[':
			m := footnote(text[i:])
			if m == 0 {
				return i
			}
			i += m
		default:
			return i
		}
	}
	return i
}

// footnote returns the length of a mark such as [12], or 0.
func footnote(s string) int {
	n := 1
	for n < len(s) && n < 5 && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n > 1 && n < len(s) && s[n] == ']' {
		return n + 1
	}
	return 0
}
