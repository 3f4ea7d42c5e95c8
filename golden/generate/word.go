package generate

import (
	"regexp"
	"strings"
	"unicode"
)

// isWordRune reports what words of a sentence are made of: letters, digits and
// combining marks.
func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// joins reports what stays inside a word between two such characters.
func joins(r rune) bool { return strings.ContainsRune("'’ʼ‘-–.,%", r) }

// without is a sentence without the words that drop picks. Words hold inner
// apostrophes, hyphens and decimal points; drop is asked about their parts
// between those, too, so that a figure such as 1,200 goes as a whole.
func without(sentence string, drop func(word string) bool) string {
	var b strings.Builder
	runes := []rune(sentence)
	for i := 0; i < len(runes); {
		if !isWordRune(runes[i]) {
			b.WriteRune(runes[i])
			i++
			continue
		}
		end := i + 1
		for end < len(runes) && (isWordRune(runes[end]) || joins(runes[end]) && end+1 < len(runes) && isWordRune(runes[end+1])) {
			end++
		}
		if word := string(runes[i:end]); !drop(word) {
			b.WriteString(word)
		}
		i = end
	}
	return tidy(b.String())
}

var (
	emptyBrackets = regexp.MustCompile(`[(\[«"“„]\s*[,;:–—-]*\s*[)\]»"”]`)
	inBrackets    = regexp.MustCompile(`\s*\([^()]*\)`)
	spaceBefore   = regexp.MustCompile(`\s+([,.;:!?)\]»”])`)
	repeated      = regexp.MustCompile(`([,;:])(?:\s*[,;:])+`)
)

// nested bounds how deep brackets are followed: prose has no more, and a text that
// has must not take time that grows with its square.
const nested = 8

// withoutBrackets is a text without what stands in round brackets.
func withoutBrackets(s string) string {
	for range nested {
		next := inBrackets.ReplaceAllString(s, "")
		if next == s {
			break
		}
		s = next
	}
	return s
}

// tidy mends the punctuation around words that were taken out.
func tidy(s string) string {
	for range nested {
		next := emptyBrackets.ReplaceAllString(s, "")
		next = spaces.ReplaceAllString(next, " ")
		next = spaceBefore.ReplaceAllString(next, "$1")
		next = repeated.ReplaceAllString(next, "$1")
		next = strings.TrimLeft(next, " ,;:.!?%°–—-)»”")
		next = strings.TrimRight(next, " ,;:.–—-(«„“")
		if next == s {
			return s
		}
		s = next
	}
	return s
}

// holdsDigit reports a date or a figure.
func holdsDigit(s string) bool { return strings.ContainsFunc(s, unicode.IsDigit) }

// sameStem reports whether two words in lower case look like forms of one: they
// are equal, or share all but the last two letters of the first, at least four.
func sameStem(of, word string) bool {
	if of == word {
		return true
	}
	a, b := []rune(of), []rune(word)
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n >= max(4, len(a)-2)
}
