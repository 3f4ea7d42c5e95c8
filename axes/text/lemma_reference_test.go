package text_test

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const marks = "'`´‘’‛′‵ʹʻʼʽˈˊˋꞌ＇"

var (
	typedPattern = regexp.MustCompile("[\\p{L}\\p{N}_]+(?:['`´‘’‛′‵＇][\\p{L}\\p{N}_]+)*")
	splitPattern = regexp.MustCompile("['`´‘’‛′‵＇]")
	noMarks      = strings.NewReplacer(slices.Collect(func(yield func(string) bool) {
		for _, c := range marks {
			if !yield(string(c)) || !yield("\x00") {
				return
			}
		}
	})...)
)

// plainLemma is lemma over a dictionary in a few slow words.
func plainLemma(words map[string]string) func(string) []string {
	lookup := func(word string) (string, bool) {
		if lemma, ok := words[word]; ok {
			return lemma, true
		}
		lowered := lowerEach(word)
		if lemma, ok := words[lowered]; ok {
			return lemma, true
		}
		first, size := utf8.DecodeRuneInString(lowered)
		lemma, ok := words[string(unicode.ToTitle(first))+lowered[size:]]
		return lemma, ok
	}
	find := func(word string) (string, bool) {
		tries := []string{word}
		if strings.ContainsAny(word, marks) {
			for _, mark := range []string{"'", "’", "ʼ"} {
				tries = append(tries, strings.ReplaceAll(noMarks.Replace(word), "\x00", mark))
			}
		}
		for _, try := range tries {
			if lemma, ok := lookup(try); ok {
				return lemma, true
			}
		}
		return "", false
	}
	var take func(word string) []string
	take = func(word string) []string {
		if lemma, ok := find(word); ok {
			var terms []string
			for _, w := range typedPattern.FindAllString(keepCase(lemma), -1) {
				terms = append(terms, strings.ReplaceAll(noMarks.Replace(lowerEach(w)), "\x00", "'"))
			}
			if terms == nil {
				terms = []string{lowerEach(word)}
			}
			return terms
		}
		parts := splitPattern.Split(word, -1)
		if len(parts) == 1 {
			return []string{lowerEach(word)}
		}
		var terms []string
		for _, part := range parts {
			terms = append(terms, take(part)...)
		}
		return terms
	}
	return func(s string) []string {
		var terms []string
		for _, word := range typedPattern.FindAllString(keepCase(s), -1) {
			terms = append(terms, take(word)...)
		}
		return terms
	}
}

// keepCase does what lower does beyond single characters.
func keepCase(s string) string {
	s = norm.NFC.String(s)
	var out strings.Builder
	for i, r := range s {
		switch {
		case r == 'İ':
			out.WriteString("I\u0307")
		case r == 'Σ' && final(s[:i], s[i+len("Σ"):]):
			out.WriteRune('ς')
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

func lowerEach(s string) string { return strings.Map(unicode.ToLower, s) }
