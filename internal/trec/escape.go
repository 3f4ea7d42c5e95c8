package trec

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escapeMark begins an escaped id. It begins no URL-encoded text, in which % is
// followed by two digits.
const escapeMark = "%%"

// mark is the byte order mark, which a reader takes off the beginning of a file.
const mark = '\ufeff'

// Escape returns the id as a field of a run or qrels line. An id is written as
// it is unless it is empty, holds white space or control characters (in the sense
// of Unicode, since some readers split there) or a byte order mark, is not valid
// UTF-8, or itself begins with "%%". Such an id is written as "%%" followed by its
// bytes, in which "%" and all that needs the escape are replaced by % and two
// upper-case hexadecimal digits: the id "a b" is %%a%20b, the empty id %%.
// Different ids have different escapes, and [Unescape] undoes each.
func Escape(id string) string {
	if plain(id) {
		return id
	}
	var b strings.Builder
	b.WriteString(escapeMark)
	for i, r := range id {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError && !strings.HasPrefix(id[i:], "\ufffd") {
			size = 1
		}
		if bytes := id[i : i+size]; r != '%' && separable(bytes, r) {
			b.WriteString(bytes)
		} else {
			for j := range len(bytes) {
				fmt.Fprintf(&b, "%%%02X", bytes[j])
			}
		}
	}
	return b.String()
}

// plain reports whether an id needs no escape.
func plain(id string) bool {
	if id == "" || strings.HasPrefix(id, escapeMark) {
		return false
	}
	for i := range len(id) {
		if c := id[i]; c <= ' ' || c >= 0x7f {
			return plainUnicode(id)
		}
	}
	return true
}

func plainUnicode(id string) bool {
	for i, r := range id {
		if !separable(id[i:], r) {
			return false
		}
	}
	return true
}

// separable reports whether a rune, the first of rest, can stand in a field.
func separable(rest string, r rune) bool {
	if r == utf8.RuneError && !strings.HasPrefix(rest, "\ufffd") {
		return false
	}
	return !unicode.IsSpace(r) && !unicode.IsControl(r) && r != mark
}

// Unescape returns the id that a field stands for. It refuses a field that
// begins with "%%" and is not what [Escape] writes.
func Unescape(field string) (string, error) {
	escaped, ok := strings.CutPrefix(field, escapeMark)
	if !ok {
		return field, nil
	}
	var b strings.Builder
	for i := 0; i < len(escaped); i++ {
		if escaped[i] != '%' {
			b.WriteByte(escaped[i])
			continue
		}
		var c byte
		if n, err := fmt.Sscanf(escaped[i:], "%%%2X", &c); n != 1 || err != nil || i+2 >= len(escaped) {
			return "", notAnEscape(field)
		}
		b.WriteByte(c)
		i += 2
	}
	if id := b.String(); Escape(id) == field {
		return id, nil
	}
	return "", notAnEscape(field)
}

func notAnEscape(field string) error {
	return fmt.Errorf("%q begins with %s, which marks an escaped id, but is not one", field, escapeMark)
}
