package golden

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fold prepares a text for the search of an answer span: runs of white space
// become one blank, white space at the ends goes, letters become lower case.
// The lower case is Unicode's, in no language's own way: İ becomes i with a dot
// above, I becomes i. All forms of sigma become σ, so that a span may end
// inside a word that is written in capitals elsewhere.
func Fold(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	gap := false
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		i += size
		if isSpace(r) {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte(' ')
		}
		gap = false
		writeLower(&b, r)
	}
	return b.String()
}

func writeLower(b *strings.Builder, r rune) {
	switch {
	case 'A' <= r && r <= 'Z':
		b.WriteByte(byte(r) + 'a' - 'A')
	case r < utf8.RuneSelf:
		b.WriteByte(byte(r))
	case r == 'İ':
		b.WriteString("i\u0307")
	case r == 'ς':
		b.WriteRune('σ')
	default:
		b.WriteRune(unicode.ToLower(r))
	}
}

// isSpace reports white space, the four separators of ASCII included, as
// Python's str.split has it.
func isSpace(r rune) bool {
	return unicode.IsSpace(r) || '\x1c' <= r && r <= '\x1f'
}
