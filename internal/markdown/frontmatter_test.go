package markdown_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"raglab/internal/markdown"
)

func TestFrontMatter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text   string
		fields map[string]string
		body   string
	}{
		"none":         {"# A\n---\nx: 1\n---\n", nil, "# A\n---\nx: 1\n---\n"},
		"not closed":   {"---\nx: 1\n", nil, "---\nx: 1\n"},
		"empty":        {"---\n---\nA", map[string]string{}, "A"},
		"comment":      {"---\n# x\n---\nA", map[string]string{}, "A"},
		"as written":   {"---\ndate: 2020-01-02\nv: 1.10\nyes: on\nq: \"a\\tb\"\n---\nA", map[string]string{"date": "2020-01-02", "v": "1.10", "yes": "on", "q": "a\tb"}, "A"},
		"lists":        {"---\na: [x, 2]\nb:\n  - y\n  - z\n---\n", map[string]string{"a": "x, 2", "b": "y, z"}, ""},
		"deep":         {"---\na: {b: [c, {d: e}]} # f\n---\n", map[string]string{"a": "{b: [c, {d: e}]}"}, ""},
		"null":         {"---\na:\nb: ~\n---\n", map[string]string{"a": "", "b": ""}, ""},
		"dots, crlf":   {"--- \r\na: b\r\n...\r\n\r\nA\r\n", map[string]string{"a": "b"}, "\r\nA\r\n"},
		"block text":   {"---\na: |\n  x\n  y\n---\nA", map[string]string{"a": "x\ny\n"}, "A"},
		"alias":        {"---\na: &x 1\nb: *x\n---\nA", map[string]string{"a": "1", "b": "1"}, "A"},
		"number a key": {"---\n1: a\n---\nA", map[string]string{"1": "a"}, "A"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fields, body, err := markdown.FrontMatter(c.text)
			if err != nil || !maps.Equal(fields, c.fields) || body != c.body || (fields == nil) != (c.fields == nil) {
				t.Errorf("got %q, %q, %v\nwant %q, %q", fields, body, err, c.fields, c.body)
			}
		})
	}
}

func TestFrontMatter_errors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"---\na: 1\nb: [\n---\n": 0, "---\n- a\n---\n": 2, "---\na: 1\na: 2\n---\n": 3, "---\na: b: c\n---\n": 0} {
		_, body, err := markdown.FrontMatter(text)
		var front *markdown.FrontMatterError
		if !errors.As(err, &front) {
			t.Errorf("%q: error %v", text, err)
			continue
		}
		if want > 0 && front.Line != want || body != text || !strings.HasPrefix(err.Error(), "front matter ") {
			t.Errorf("%q: line %d, error %v, body %q", text, front.Line, err, body)
		}
	}
}

func FuzzFrontMatter(f *testing.F) {
	f.Add("---\na: [b, {c: d}]\n---\nx")
	f.Add("---\n? [a]\n: &x [*x]\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, body, _ := markdown.FrontMatter(text)
		if !strings.HasSuffix(text, body) {
			t.Fatalf("%q: the body %q is not its end", text, body)
		}
	})
}
