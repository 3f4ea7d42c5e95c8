package segment

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// boundary reports whether the stop at a place ends a sentence when what
// follows begins at next. Single tells that the stop is one full stop, the only
// one that abbreviations are written with.
func (f *finder) boundary(stop, next int, single bool) bool {
	follows := firstLetter(f.text[next:])
	if f.cased && unicode.IsLower(follows) {
		return false
	}
	if !single {
		return true
	}
	w := wordBefore(f.text[f.start:stop])
	if w.text == "" {
		return true
	}
	if isNumber(w.text) {
		return f.afterNumber(w, follows)
	}
	if f.ordinals && isRoman(w.text) {
		return false
	}
	switch f.classOf(w) {
	case opens:
		return false
	case numbers:
		return !unicode.IsDigit(follows)
	case closes:
		return !f.cased || unicode.IsUpper(follows)
	}
	return true
}

// firstLetter is the first rune of what follows, past opening quotes, brackets
// and dashes.
func firstLetter(text string) rune {
	for _, r := range text {
		switch r {
		case '"', '\'', '(', '[', '{', '«', '„', '“', '”', '‘', '’', '‹', '-', '–', '—', '*', '_', ' ', '\u00a0':
			continue
		}
		return r
	}
	return utf8.RuneError
}

// word is what stands right before a full stop.
type word struct {
	text string
	// before is the word before it when that one ends in a full stop too, as
	// in "т. д.", without that stop.
	before string
	// first tells that the word opens its line or sentence.
	first bool
}

// maxWord bounds how far back a word is looked for; longer ones are no
// abbreviations.
const maxWord = 48

// wordBefore returns the last word of a text.
func wordBefore(text string) word {
	start := wordStart(text)
	w := word{text: text[start:]}
	rest := strings.TrimRight(text[:start], " \u00a0\t")
	w.first = rest == "" || strings.HasSuffix(rest, "\n")
	if stem, ok := strings.CutSuffix(rest, "."); ok {
		w.before = stem[wordStart(stem):]
	}
	return w
}

// wordStart returns where the last word of a text begins.
func wordStart(text string) int {
	i := len(text)
	for i > 0 && len(text)-i < maxWord {
		r, n := utf8.DecodeLastRuneInString(text[:i])
		if !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) && r != '.' && r != '\'' && r != '’' && r != 'ʼ' && r != '-' {
			break
		}
		i -= n
	}
	return i
}

// classOf tells what sort of abbreviation a word is; 0 is none.
func (f *finder) classOf(w word) class {
	dotted, upper := shape(w.text)
	if upper && (dotted || single(w.text)) {
		return opens // initials
	}
	lower := f.lower(w.text)
	if w.before != "" {
		if c := f.abbreviations[f.lower(w.before)+"."+lower]; c != 0 {
			return c
		}
	}
	if c := f.abbreviations[lower]; c != 0 {
		return c
	}
	if at := strings.LastIndexAny(lower, "'’ʼ"); at >= 0 { // an article before it: "l'avv"
		_, n := utf8.DecodeRuneInString(lower[at:])
		if c := f.abbreviations[lower[at+n:]]; c != 0 {
			return c
		}
	}
	if dotted || single(w.text) {
		return closes
	}
	return 0
}

// single reports whether a word is one letter.
func single(text string) bool {
	r, n := utf8.DecodeRuneInString(text)
	return n == len(text) && unicode.IsLetter(r)
}

// shape tells whether a word is single letters with stops between them, as
// "А.С" and "e.g" are, and whether its letters are capitals.
func shape(text string) (dotted, upper bool) {
	dotted, upper = strings.Contains(text, "."), true
	for part := range strings.SplitSeq(text, ".") {
		if !single(part) {
			dotted = false
		}
		r, _ := utf8.DecodeRuneInString(part)
		upper = upper && unicode.IsUpper(r)
	}
	return dotted, upper
}

// isNumber reports whether a word is digits, perhaps with stops between them.
func isNumber(text string) bool {
	digits := false
	for _, r := range text {
		if r != '.' && !unicode.IsDigit(r) {
			return false
		}
		digits = digits || r != '.'
	}
	return digits
}

// isRoman reports whether a word is a Roman number in capitals.
func isRoman(text string) bool { return strings.Trim(text, "IVXLCDM") == "" }

// afterNumber reports whether a number and a full stop end a sentence.
func (f *finder) afterNumber(w word, follows rune) bool {
	short := len(w.text) <= 3
	switch {
	case w.first && (short || strings.Contains(w.text, ".")):
		return false // a list's or a section's number
	case f.ordinals && short:
		return false
	case unicode.IsDigit(follows) && short:
		return false // a date such as "24. 8. 1991"
	}
	return true
}
