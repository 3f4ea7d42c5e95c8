package pgindex

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// inOrder returns the distinct terms as they are sent.
func inOrder(terms []string) []string {
	var l Lexemes
	for _, term := range terms {
		l.Add([]byte(term))
	}
	var o ordering
	var got []string
	for _, k := range o.sort(&l) {
		got = append(got, string(l.term(&l.terms[k.term])))
	}
	return got
}

func sorted(terms []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(terms)))
}

// TestOrdering_sortsByBytes draws terms that have beginnings in common, of up to
// several times eight bytes, few and many of them.
func TestOrdering_sortsByBytes(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"a", "b", "й", "aaaaaaa", "aaaaaaaa", "bbbbbbbbb", "слово", "\x01", "\U0010FFFF", "0"})
	term := rapid.Map(rapid.SliceOfN(piece, 1, 6), func(p []string) string { return strings.Join(p, "") })
	rapid.Check(t, func(t *rapid.T) {
		terms := rapid.SliceOfN(term, 0, rapid.SampledFrom([]int{3, 40, 400}).Draw(t, "most")).Draw(t, "terms")
		if diff := cmp.Diff(sorted(terms), inOrder(terms)); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", terms, diff)
		}
	})
}

// TestOrdering_longBeginnings sorts the longest terms there are, alike to the last
// byte.
func TestOrdering_longBeginnings(t *testing.T) {
	t.Parallel()
	var terms []string
	for c := 'z'; c >= 'a'; c-- {
		for d := 'z'; d >= 'a'; d-- {
			terms = append(terms, strings.Repeat("x", maxLexeme-2)+string([]rune{c, d}))
		}
		terms = append(terms, strings.Repeat("x", int(c)))
	}
	if diff := cmp.Diff(sorted(terms), inOrder(terms)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
