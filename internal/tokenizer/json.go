package tokenizer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxDepth is how deep arrays and objects may nest.
const maxDepth = 128

// jsonReader reads one JSON document front to back, without building a tree: a
// vocabulary of 250,000 pieces is handed over piece by piece. The first error
// sticks, carries the path of the value it happened at, and makes every later
// call return at once with a zero value.
type jsonReader struct {
	data string
	pos  int
	path []pathStep
	err  error
}

// pathStep is a field of an object or an element of an array.
type pathStep struct {
	field string
	index int // -1 for a field
}

// fail records the first error, with the path and the byte it happened at.
func (r *jsonReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s (byte %d): %s", r.where(), r.pos, fmt.Sprintf(format, args...))
	}
}

func (r *jsonReader) where() string {
	if len(r.path) == 0 {
		return "top level"
	}
	var b strings.Builder
	for i, step := range r.path {
		switch {
		case step.index >= 0:
			fmt.Fprintf(&b, "[%d]", step.index)
		case i > 0:
			b.WriteByte('.')
			fallthrough
		default:
			b.WriteString(shorten(step.field))
		}
	}
	return b.String()
}

// shorten keeps text from the file that goes into an error to a sane length.
func shorten(s string) string {
	const most = 40
	if len(s) <= most {
		return strings.ToValidUTF8(s, "?")
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// peek returns the first byte of the next token, 0 at the end of the data.
func (r *jsonReader) peek() byte {
	for r.pos < len(r.data) {
		switch c := r.data[r.pos]; c {
		case ' ', '\n', '\t', '\r':
			r.pos++
		default:
			return c
		}
	}
	return 0
}

// found names the next token for an error message.
func (r *jsonReader) found() string {
	switch c := r.peek(); {
	case c == 0:
		return "the end of the file"
	case c == '{':
		return "an object"
	case c == '[':
		return "an array"
	case c == '"':
		return "a string"
	case c == '-' || c >= '0' && c <= '9':
		return "a number"
	case strings.HasPrefix(r.data[r.pos:], "null"):
		return "null"
	case c == 't' || c == 'f':
		return "a boolean"
	default:
		return strconv.QuoteRune(rune(c))
	}
}

// open consumes the bracket that begins an object or array.
func (r *jsonReader) open(bracket byte, what string) bool {
	if r.err != nil {
		return false
	}
	if r.peek() != bracket {
		r.fail("expected %s, found %s", what, r.found())
		return false
	}
	if len(r.path) >= maxDepth {
		r.fail("nested deeper than %d levels", maxDepth)
		return false
	}
	r.pos++
	return true
}

// more consumes what stands between two elements and reports whether another
// one follows; otherwise the closing bracket has been consumed.
func (r *jsonReader) more(first bool, closing byte) bool {
	if r.err != nil {
		return false
	}
	switch c := r.peek(); {
	case c == closing:
		r.pos++
		return false
	case first:
		return true
	case c == ',':
		r.pos++
		return true
	default:
		r.fail("expected ',' or %q, found %s", closing, r.found())
		return false
	}
}

// object calls field for each member; field must read or skip the value.
func (r *jsonReader) object(field func(name string)) {
	if !r.open('{', "an object") {
		return
	}
	for first := true; r.more(first, '}'); first = false {
		name := r.text()
		if r.err == nil && r.peek() != ':' {
			r.fail("expected ':' after %q", shorten(name))
		}
		if r.err != nil {
			return
		}
		r.pos++
		r.path = append(r.path, pathStep{field: name, index: -1})
		field(name)
		r.up()
	}
}

// array calls element for each element; element must read or skip the value.
func (r *jsonReader) array(element func(i int)) {
	if !r.open('[', "an array") {
		return
	}
	r.path = append(r.path, pathStep{})
	for i := 0; r.more(i == 0, ']'); i++ {
		r.path[len(r.path)-1].index = i
		element(i)
		if r.err != nil {
			return
		}
	}
	r.up()
}

// list reads an object for the array in one of its fields.
func (r *jsonReader) list(field string, element func()) {
	seen := false
	r.object(func(name string) {
		if name != field {
			r.skip()
			return
		}
		seen = true
		r.array(func(int) { element() })
	})
	r.require(seen, field)
}

// up leaves a value. After an error the path stays, so that it can be told.
func (r *jsonReader) up() {
	if r.err == nil {
		r.path = r.path[:len(r.path)-1]
	}
}

// skip reads any value and drops it.
func (r *jsonReader) skip() {
	if r.err != nil {
		return
	}
	switch c := r.peek(); {
	case c == '{':
		r.object(func(string) { r.skip() })
	case c == '[':
		r.array(func(int) { r.skip() })
	case c == '"':
		r.text()
	case c == 't' || c == 'f':
		r.boolean()
	case c == 'n' && r.null():
	default:
		r.number()
	}
}

// end checks that nothing follows the document.
func (r *jsonReader) end() {
	if r.err != nil {
		return
	}
	if r.peek(); r.pos < len(r.data) {
		r.fail("%s follows the document", r.found())
	}
}

// typeName returns the field "type" of the object that comes next, wherever in
// it the field stands, and leaves the object unread.
func (r *jsonReader) typeName() string {
	start, name, ok := r.pos, "", false
	depth := len(r.path)
	r.object(func(field string) {
		switch {
		case field == "type":
			name, ok = r.text(), r.err == nil
		default:
			r.skip()
		}
		if ok && r.err == nil {
			r.err = errFound
		}
	})
	if r.err == errFound {
		r.err = nil
		r.path = r.path[:depth]
	}
	if r.err == nil && !ok {
		r.fail(`the field "type" is missing`)
	}
	r.pos = start
	return name
}

// errFound stops a scan that has what it came for; it never leaves the reader.
var errFound = errors.New("found")

// require fails when a mandatory field was not there.
func (r *jsonReader) require(seen bool, field string) {
	if !seen {
		r.fail("the field %q is missing", field)
	}
}
