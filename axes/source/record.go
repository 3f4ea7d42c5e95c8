package source

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// A record is one line that holds one JSON object. It is read by hand because
// a general decoder spends most of its time on what a corpus never has, and
// silently replaces what it cannot decode. The grammar is that of RFC 8259, and
// the line must be valid UTF-8 already.

// value is a field's value as it stands in the line.
type value struct {
	sort byte   // the first byte: '"', '{', '[', 't', 'f', 'n', '-' or a digit
	raw  []byte // of a string what stands between its quotes, else all of it
	// escaped tells that a string holds a backslash.
	escaped bool
}

// syntaxError is a place in a line that is not JSON.
type syntaxError struct {
	at      int
	problem string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("%s at byte %d of the line", e.problem, e.at+1)
}

// scanner walks through one line.
type scanner struct {
	src []byte
	pos int
	// nest holds the brackets that are open around the value being skipped.
	nest []byte
	buf  []byte
}

// maxNesting is how deep values may be nested, as in encoding/json.
const maxNesting = 10000

// object calls field for each field of the one object that the line holds, in
// order. The key holds until field returns.
func (s *scanner) object(line []byte, field func(key []byte, v value) error) error {
	s.src, s.pos = line, 0
	if s.space(); s.peek() != '{' {
		return s.fail("a JSON object was expected")
	}
	s.pos++
	if s.space(); s.peek() == '}' {
		s.pos++
		return s.end()
	}
	for {
		if err := s.member(field); err != nil {
			return err
		}
		s.space()
		switch s.peek() {
		case ',':
			s.pos++
			s.space()
		case '}':
			s.pos++
			return s.end()
		default:
			return s.fail(`"," or "}" was expected`)
		}
	}
}

func (s *scanner) member(field func(key []byte, v value) error) error {
	if s.peek() != '"' {
		return s.fail("a field name in quotes was expected")
	}
	name, err := s.str()
	if err != nil {
		return err
	}
	key := name.raw
	if name.escaped {
		if key, err = unescape(s.buf[:0], name.raw); err != nil {
			return err
		}
		s.buf = key
	}
	if s.space(); s.peek() != ':' {
		return s.fail(`":" was expected`)
	}
	s.pos++
	s.space()
	v, err := s.value()
	if err != nil {
		return err
	}
	return field(key, v)
}

// end checks that nothing but white space follows.
func (s *scanner) end() error {
	if s.space(); s.pos < len(s.src) {
		return s.fail("nothing was expected after the object")
	}
	return nil
}

func (s *scanner) fail(problem string) error {
	if s.pos >= len(s.src) {
		problem += ", but the line ends"
	}
	return &syntaxError{at: s.pos, problem: problem}
}

// peek returns the byte at the position, 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.src) {
		return s.src[s.pos]
	}
	return 0
}

func (s *scanner) space() {
	for s.pos < len(s.src) {
		switch s.src[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) value() (value, error) {
	start := s.pos
	switch c := s.peek(); {
	case c == '"':
		return s.str()
	case c == '{' || c == '[':
		err := s.skipNested()
		return value{sort: c, raw: s.src[start:s.pos]}, err
	default:
		err := s.scalar()
		return value{sort: c, raw: s.src[start:s.pos]}, err
	}
}

// str reads a string at its opening quote.
func (s *scanner) str() (value, error) {
	s.pos++
	start, escaped := s.pos, false
	for {
		n := bytes.IndexByte(s.src[s.pos:], '"')
		if n < 0 {
			s.pos = len(s.src)
			return value{}, s.fail("a closing quote was expected")
		}
		part := s.src[s.pos : s.pos+n]
		if at := control(part); at >= 0 {
			s.pos += at
			return value{}, s.fail("a control character must be escaped in a string")
		}
		s.pos += n + 1
		if bytes.IndexByte(part, '\\') < 0 {
			return value{'"', s.src[start : s.pos-1], escaped}, nil
		}
		escaped = true
		if !endsInBackslash(s.src[start : s.pos-1]) {
			return value{'"', s.src[start : s.pos-1], escaped}, nil
		}
	}
}

// control returns the place of the first byte below 0x20, or -1.
func control(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	// Eight bytes at a time: one that is below 0x20 borrows when 0x20 is taken
	// away, which sets its high bit where it was not set before.
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		if (x-0x20*ones)&^x&highs != 0 {
			break
		}
	}
	for ; i < len(b); i++ {
		if b[i] < 0x20 {
			return i
		}
	}
	return -1
}

// endsInBackslash reports whether the text ends in an odd run of backslashes,
// so that the quote after it is part of the string.
func endsInBackslash(b []byte) bool {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// skipNested passes over an object or array, checking its grammar.
func (s *scanner) skipNested() error {
	s.nest = append(s.nest[:0], s.src[s.pos])
	s.pos++
	opened := true
	for len(s.nest) > 0 {
		var err error
		if opened, err = s.step(opened); err != nil {
			return err
		}
	}
	return nil
}

// step passes over one element of the innermost open object or array, or over
// its closing bracket. The argument tells that the bracket has just been opened,
// and so does the result.
func (s *scanner) step(opened bool) (bool, error) {
	in := s.nest[len(s.nest)-1]
	s.space()
	if s.peek() == in+2 { // ']' and '}' follow two places after their partners
		s.pos++
		s.nest = s.nest[:len(s.nest)-1]
		return false, nil
	}
	if !opened {
		if s.peek() != ',' {
			return false, s.fail(`"," or a closing bracket was expected`)
		}
		s.pos++
		s.space()
	}
	if in == '{' {
		if err := s.nestedKey(); err != nil {
			return false, err
		}
	}
	switch c := s.peek(); c {
	case '"':
		v, err := s.str()
		if err == nil && v.escaped {
			err = checkEscapes(v.raw)
		}
		return false, err
	case '{', '[':
		if len(s.nest) >= maxNesting-1 {
			return false, s.fail("values are nested too deep")
		}
		s.nest = append(s.nest, c)
		s.pos++
		return true, nil
	default:
		return false, s.scalar()
	}
}

func (s *scanner) nestedKey() error {
	if s.peek() != '"' {
		return s.fail("a field name in quotes was expected")
	}
	v, err := s.str()
	if err == nil && v.escaped {
		err = checkEscapes(v.raw)
	}
	if err != nil {
		return err
	}
	if s.space(); s.peek() != ':' {
		return s.fail(`":" was expected`)
	}
	s.pos++
	s.space()
	return nil
}

// scalar passes over a number, true, false or null.
func (s *scanner) scalar() error {
	rest := s.src[s.pos:]
	for _, word := range [...]string{"true", "false", "null"} {
		if bytes.HasPrefix(rest, []byte(word)) {
			s.pos += len(word)
			return nil
		}
	}
	n := number(rest)
	if n == 0 {
		return s.fail("a value was expected")
	}
	s.pos += n
	return nil
}

// number returns the length of the JSON number that b begins with, or 0.
func number(b []byte) int {
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	whole := digits(b[i:])
	if whole == 0 || whole > 1 && b[i] == '0' {
		return 0
	}
	i += whole
	if i < len(b) && b[i] == '.' {
		n := digits(b[i+1:])
		if n == 0 {
			return 0
		}
		i += 1 + n
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		j := i + 1
		if j < len(b) && (b[j] == '+' || b[j] == '-') {
			j++
		}
		n := digits(b[j:])
		if n == 0 {
			return 0
		}
		i = j + n
	}
	return i
}

func digits(b []byte) int {
	for i, c := range b {
		if c < '0' || c > '9' {
			return i
		}
	}
	return len(b)
}
