package source

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// text returns what a string value says.
func (v value) text() (string, error) {
	if !v.escaped {
		return string(v.raw), nil
	}
	out, err := unescape(make([]byte, 0, len(v.raw)), v.raw)
	return string(out), err
}

// errSurrogate says that an escape stands for half a character.
var errSurrogate = errors.New(`\u escape of an unpaired surrogate, which is no character`)

// unescape appends what the raw string says.
func unescape(out, raw []byte) ([]byte, error) {
	for {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 {
			return append(out, raw...), nil
		}
		out = append(out, raw[:n]...)
		raw = raw[n:]
		r, size, err := escape(raw)
		if err != nil {
			return out, err
		}
		out = utf8.AppendRune(out, r)
		raw = raw[size:]
	}
}

// checkEscapes checks the grammar of a string that is not kept; unpaired
// surrogates do no harm there.
func checkEscapes(raw []byte) error {
	for {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 {
			return nil
		}
		raw = raw[n:]
		_, size, err := escape(raw)
		if err == errSurrogate {
			size, err = 6, nil
		}
		if err != nil {
			return err
		}
		raw = raw[size:]
	}
}

// escape decodes the escape that b begins with and returns its length.
func escape(b []byte) (rune, int, error) {
	if len(b) < 2 {
		return 0, 0, errors.New("a string ends in a backslash")
	}
	switch b[1] {
	case '"', '\\', '/':
		return rune(b[1]), 2, nil
	case 'b':
		return '\b', 2, nil
	case 'f':
		return '\f', 2, nil
	case 'n':
		return '\n', 2, nil
	case 'r':
		return '\r', 2, nil
	case 't':
		return '\t', 2, nil
	case 'u':
		return unicodeEscape(b)
	}
	return 0, 0, fmt.Errorf(`unknown escape \%c in a string`, firstRune(b[1:]))
}

func firstRune(b []byte) rune {
	r, _ := utf8.DecodeRune(b)
	return r
}

// unicodeEscape decodes \uXXXX, or two of them that make one character.
func unicodeEscape(b []byte) (rune, int, error) {
	high, ok := hex4(b[2:])
	if !ok {
		return 0, 0, errors.New(`four hexadecimal digits were expected after \u`)
	}
	if high < 0xD800 || high > 0xDFFF {
		return high, 6, nil
	}
	if high <= 0xDBFF && len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if low, ok := hex4(b[8:]); ok && low >= 0xDC00 && low <= 0xDFFF {
			return (high-0xD800)<<10 + (low - 0xDC00) + 0x10000, 12, nil
		}
	}
	return 0, 0, errSurrogate
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
