package tokenizer

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// null consumes a null and reports whether there was one.
func (r *jsonReader) null() bool {
	if r.err != nil || r.peek() != 'n' || !strings.HasPrefix(r.data[r.pos:], "null") {
		return false
	}
	r.pos += len("null")
	return true
}

func (r *jsonReader) boolean() bool {
	if r.err != nil {
		return false
	}
	switch r.peek(); {
	case strings.HasPrefix(r.data[r.pos:], "true"):
		r.pos += len("true")
		return true
	case strings.HasPrefix(r.data[r.pos:], "false"):
		r.pos += len("false")
		return false
	}
	r.fail("expected true or false, found %s", r.found())
	return false
}

// number returns the text of a number that follows JSON's grammar.
func (r *jsonReader) number() string {
	if r.err != nil {
		return "0"
	}
	if c := r.peek(); c != '-' && (c < '0' || c > '9') {
		r.fail("expected a number, found %s", r.found())
		return "0"
	}
	start := r.pos
	if r.data[r.pos] == '-' {
		r.pos++
	}
	whole := r.digits()
	ok := whole > 0 && (whole == 1 || r.data[r.pos-whole] != '0')
	if r.at('.') {
		r.pos++
		ok = r.digits() > 0 && ok
	}
	if r.at('e') || r.at('E') {
		r.pos++
		if r.at('+') || r.at('-') {
			r.pos++
		}
		ok = r.digits() > 0 && ok
	}
	if !ok {
		r.fail("%q is not a number", shorten(r.data[start:r.pos]))
		return "0"
	}
	return r.data[start:r.pos]
}

func (r *jsonReader) at(c byte) bool { return r.pos < len(r.data) && r.data[r.pos] == c }

func (r *jsonReader) digits() int {
	start := r.pos
	for r.pos < len(r.data) && r.data[r.pos] >= '0' && r.data[r.pos] <= '9' {
		r.pos++
	}
	return r.pos - start
}

func (r *jsonReader) float() float64 {
	s := r.number()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		r.fail("%s does not fit a 64-bit float", shorten(s))
	}
	return v
}

// id reads a token id or another count: an integer from 0 to MaxInt32.
func (r *jsonReader) id() int32 {
	s := r.number()
	v, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		r.fail("expected an integer from 0 to %d, found %s", math.MaxInt32, shorten(s))
	}
	return int32(v)
}

// text reads a string. It is a part of the data when it has no escapes.
func (r *jsonReader) text() string {
	if r.err != nil {
		return ""
	}
	if r.peek() != '"' {
		r.fail("expected a string, found %s", r.found())
		return ""
	}
	start := r.pos + 1
	for i := start; i < len(r.data); i++ {
		switch c := r.data[i]; {
		case c == '"':
			r.pos = i + 1
			s := r.data[start:i]
			if !utf8.ValidString(s) {
				r.fail("the string is not valid UTF-8")
				return ""
			}
			return s
		case c == '\\':
			return r.escaped(start, i)
		case c < ' ':
			r.fail("control character %#02x in a string", c)
			return ""
		}
	}
	r.fail("the string does not end")
	return ""
}

// escaped reads a string from its first backslash on.
func (r *jsonReader) escaped(start, i int) string {
	b := append(make([]byte, 0, i-start+32), r.data[start:i]...)
	for i < len(r.data) {
		switch c := r.data[i]; {
		case c == '"':
			r.pos = i + 1
			if !utf8.Valid(b) {
				r.fail("the string is not valid UTF-8")
				return ""
			}
			return string(b)
		case c == '\\':
			c, size := unescape(r.data[i:])
			if size == 0 {
				r.fail("bad escape in a string")
				return ""
			}
			b = utf8.AppendRune(b, c)
			i += size
		case c < ' ':
			r.fail("control character %#02x in a string", c)
			return ""
		default:
			b = append(b, c)
			i++
		}
	}
	r.fail("the string does not end")
	return ""
}

// unescape decodes the escape s begins with and returns its length, 0 for a bad
// one. Half a surrogate pair is bad: no rune stands for it.
func unescape(s string) (rune, int) {
	if len(s) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(`"\/bfnrt`, s[1]); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), 2
	}
	c, ok := unicodeEscape(s)
	switch {
	case !ok:
		return 0, 0
	case !utf16.IsSurrogate(c):
		return c, 6
	}
	low, ok := unicodeEscape(s[6:])
	if c = utf16.DecodeRune(c, low); !ok || c == utf8.RuneError {
		return 0, 0
	}
	return c, 12
}

func unicodeEscape(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(v), err == nil
}
