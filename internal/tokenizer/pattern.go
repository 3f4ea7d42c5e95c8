package tokenizer

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// match is a stretch of a segment, from its first byte on.
type match struct {
	from, to int
}

// matcher finds what a pattern matches in a segment, leftmost first.
type matcher interface {
	find(dst []match, text []byte) []match
}

// runMatcher matches unit repeated, as often as it can: at least min times and,
// unless it is 0, at most max times.
type runMatcher struct {
	unit     []byte
	prefix   []byte // unit, min times
	min, max int
}

func newRunMatcher(unit string, least, most int) *runMatcher {
	return &runMatcher{[]byte(unit), bytes.Repeat([]byte(unit), least), least, most}
}

func (m *runMatcher) find(dst []match, text []byte) []match {
	for i := 0; ; {
		at := bytes.Index(text[i:], m.prefix)
		if at < 0 {
			return dst
		}
		from := i + at
		i = from + len(m.prefix)
		for n := m.min; (m.max == 0 || n < m.max) && bytes.HasPrefix(text[i:], m.unit); n++ {
			i += len(m.unit)
		}
		dst = append(dst, match{from, i})
	}
}

// regexpMatcher matches any other expression. It allocates.
type regexpMatcher struct{ re *regexp.Regexp }

func (m regexpMatcher) find(dst []match, text []byte) []match {
	for _, loc := range m.re.FindAllIndex(text, -1) {
		dst = append(dst, match{loc[0], loc[1]})
	}
	return dst
}

// readPattern reads a pattern: {"String": text} or {"Regex": expression}.
func readPattern(r *jsonReader) matcher {
	var m matcher
	r.object(func(field string) {
		text := r.text()
		if r.err != nil {
			return
		}
		var err error
		switch field {
		case "String":
			m, err = literalMatcher(text)
		case "Regex":
			m, err = newRegexp(text)
		default:
			err = errors.New("expected String or Regex")
		}
		if err != nil {
			r.fail("%v", err)
		}
	})
	if r.err == nil && m == nil {
		r.fail("expected String or Regex")
	}
	return m
}

func literalMatcher(text string) (matcher, error) {
	if text == "" {
		return nil, errors.New("an empty pattern is not supported")
	}
	return newRunMatcher(text, 1, 1), nil
}

// newRegexp compiles an expression in the dialect of the Oniguruma library.
func newRegexp(expr string) (matcher, error) {
	translated, err := translate(expr)
	if err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(translated, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", shorten(expr), err)
	}
	if m := asRun(tree, 1, 1); m != nil {
		return m, nil
	}
	re, err := regexp.Compile(translated)
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", shorten(expr), err)
	}
	return regexpMatcher{re}, nil
}

// asRun returns a matcher for a literal, repeated or not, and nil for any other
// expression.
func asRun(tree *syntax.Regexp, least, most int) matcher {
	switch {
	case tree.Flags&(syntax.FoldCase|syntax.NonGreedy) != 0:
		return nil
	case tree.Op == syntax.OpLiteral && least > 0:
		return newRunMatcher(string(tree.Rune), least, most)
	case least != 1 || most != 1:
		return nil
	case tree.Op == syntax.OpPlus:
		return asRun(tree.Sub[0], 1, 0)
	case tree.Op == syntax.OpRepeat:
		return asRun(tree.Sub[0], tree.Min, max(0, tree.Max))
	default:
		return nil
	}
}

// translate rewrites an Oniguruma expression for Go's regexp package, where
// classes such as \s know ASCII alone. What means something else there, or
// nothing at all, is an error. \p{…} is left to Go's tables, which do not know the
// code points of Unicode 16 yet.
func translate(expr string) (string, error) {
	var b strings.Builder
	b.WriteString("(?m)") // ^ and $ match at lines in Oniguruma's default syntax
	inClass := false
	for i := 0; i < len(expr); i++ {
		rest := expr[i:]
		switch c := expr[i]; {
		case c == '\\':
			s, size, err := translateEscape(rest, inClass)
			if err != nil {
				return "", fmt.Errorf("expression %q: %w", shorten(expr), err)
			}
			b.WriteString(s)
			i += size - 1
			continue
		case inClass && (c == '[' || strings.HasPrefix(rest, "&&")),
			!inClass && hasAnyPrefix(rest, "(?=", "(?!", "(?<", "(?>", "(?~", "(?#", "{,"):
			return "", fmt.Errorf("expression %q: %q is not supported", shorten(expr), shorten(rest))
		case c == '[':
			inClass = true
			if open := classOpening(rest); len(open) > 1 {
				b.WriteString(open[:len(open)-1])
				i += len(open) - 1
			}
		case c == ']':
			inClass = false
		}
		b.WriteByte(expr[i])
	}
	return b.String(), nil
}

// classOpening returns what a class begins with: the bracket, perhaps "^", and a
// "]" that stands for itself because it comes first.
func classOpening(s string) string {
	open := 1
	if strings.HasPrefix(s[open:], "^") {
		open++
	}
	if strings.HasPrefix(s[open:], "]") {
		open++
	}
	return s[:open]
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

const (
	// moreWord are what Oniguruma's \w holds besides letters, marks, digits and
	// connectors: symbols that are alphabetic.
	moreWord = `24B6-24E9 1F130-1F149 1F150-1F169 1F170-1F189`
	// latinWord are superscripts and fractions that \w holds too, but not [\w].
	latinWord = `B2-B3 B9 BC-BE`
)

// classOf writes a list of code points as the inside of a class.
func classOf(list string) string {
	var b strings.Builder
	for _, item := range strings.Fields(list) {
		first, last, ok := strings.Cut(item, "-")
		fmt.Fprintf(&b, `\x{%s}`, first)
		if ok {
			fmt.Fprintf(&b, `-\x{%s}`, last)
		}
	}
	return b.String()
}

// translateEscape rewrites the escape s begins with and returns its length.
func translateEscape(s string, inClass bool) (string, int, error) {
	if len(s) < 2 {
		return "", 0, errors.New("a backslash at the end")
	}
	class := ""
	switch s[1] {
	case 's', 'S':
		class = `\t-\r\x{85}\pZ`
	case 'd', 'D':
		class = `\p{Nd}`
	case 'w', 'W':
		class = `\pL\pM\p{Nd}\p{Nl}\p{Pc}` + classOf(moreWord) + classOf(newerWord)
		if !inClass {
			class += classOf(latinWord)
		}
	case 'p', 'P', 't', 'n', 'r', 'f', 'v', 'a', 'A', 'z', 'x':
		return s[:2], 2, nil
	default:
		if s[1] >= '0' && s[1] <= '9' || s[1] >= 'A' && s[1] <= 'Z' || s[1] >= 'a' && s[1] <= 'z' {
			return "", 0, fmt.Errorf("%q is not supported", s[:2])
		}
		return s[:2], 2, nil
	}
	upper := s[1] < 'a'
	switch {
	case inClass && upper:
		return "", 0, fmt.Errorf("%q within a class is not supported", s[:2])
	case inClass:
		return class, 2, nil
	case upper:
		return "[^" + class + "]", 2, nil
	default:
		return "[" + class + "]", 2, nil
	}
}
