package report

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Width is the number of columns that a text takes on a terminal: two for East
// Asian wide and fullwidth characters and for most emoji, none for combining marks,
// format and control characters, and one for all others. Characters of which a
// terminal makes one glyph by its own rules, such as emoji joined to a family, are
// counted apart.
func Width(s string) int {
	n := 0
	for _, c := range s {
		n += runeWidth(c)
	}
	return n
}

func runeWidth(c rune) int {
	switch {
	case c < 0x20 || c >= 0x7f && c < 0xa0:
		return 0
	case c < 0x300:
		return 1 // what is common, soon told
	case c == 0xad:
		return 1
	case unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf), c >= 0x1160 && c <= 0x11ff: // the second and third parts of a Hangul syllable
		return 0
	}
	switch width.LookupRune(c).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// PadLeft and PadRight fill a text up to a number of columns.
func PadLeft(s string, columns int) string { return blanks(columns-Width(s)) + s }

// PadRight fills up behind the text.
func PadRight(s string, columns int) string { return s + blanks(columns-Width(s)) }

func blanks(n int) string { return strings.Repeat(" ", max(0, n)) }

// printable keeps a text from moving a terminal's cursor, reordering what stands
// around it, or ending a line: control characters and those of directional
// formatting become blanks.
func printable(s string) string {
	hostile := func(c rune) bool {
		return c < 0x20 || c >= 0x7f && c < 0xa0 || c == 0x2028 || c == 0x2029 || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069
	}
	if strings.IndexFunc(s, hostile) < 0 {
		return s
	}
	return strings.Map(func(c rune) rune {
		if hostile(c) {
			return ' '
		}
		return c
	}, s)
}
