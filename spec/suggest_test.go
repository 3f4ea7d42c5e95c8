package spec

import (
	"testing"

	"pgregory.net/rapid"
)

func TestSuggest(t *testing.T) {
	t.Parallel()
	kinds := []string{"fixed", "sentence", "paragraph", "markdown_header", "whole"}
	for given, want := range map[string]string{
		"sentense": "sentence", "fxied": "fixed", "Whole": "whole", "paragraf": "paragraph", "markdown-header": "markdown_header",
		"headings": "", "": "", "x": "", "їжак": "",
	} {
		if got := Suggest(given, kinds); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", given, got, want)
		}
	}
	if got := Suggest("a", nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"ab", "ba", 1}, {"ca", "abc", 3}, {"kitten", "sitting", 3}, {"їжак", "їжка", 1}, {"abcd", "acbd", 1}} {
		if got := distance([]rune(c.a), []rune(c.b), 100); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// One edit is a distance of one, distance does not depend on the direction, and
// the limit only cuts off.
func TestDistance_properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SliceOfN(rapid.SampledFrom([]rune("abї")), 1, 8)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		full := distance(a, b, 100)
		if other := distance(b, a, 100); other != full {
			t.Fatalf("%d one way, %d the other", full, other)
		}
		limit := rapid.IntRange(1, 10).Draw(t, "limit")
		if got := distance(a, b, limit); got != min(full, limit) {
			t.Fatalf("%d with limit %d, want %d", got, limit, min(full, limit))
		}
		i := rapid.IntRange(0, len(a)-1).Draw(t, "i")
		shorter := append(append([]rune{}, a[:i]...), a[i+1:]...)
		if got := distance(a, shorter, 100); got != 1 {
			t.Fatalf("one letter less is %d away", got)
		}
	})
}
