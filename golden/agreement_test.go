package golden_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"raglab/golden"
)

// fields are words as they stand between white space, in lower case.
func fields(text string) []string { return strings.Fields(strings.ToLower(text)) }

func pairOf(a, b string) []golden.Annotated {
	return []golden.Annotated{{
		Question: golden.Question{ID: "q"},
		By: []golden.Annotation{
			{Annotator: "x", Relevant: []golden.Relevant{{Doc: "d", Span: a, Grade: 1}}},
			{Annotator: "y", Relevant: []golden.Relevant{{Doc: "d", Span: b, Grade: 1}}},
		},
	}}
}

func TestAgree_spans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b            string
		iou, f1         float64
		identical, same bool
		jaccard, byF1   bool
	}{
		{"one two", "one two", 1, 1, true, true, true, true},
		{"One  two", "one two", 1, 1, true, false, true, true},
		{"one two three", "two", 1. / 3, 0.5, false, false, true, true}, // one holds the other
		{"a b c d", "b a d c", 1, 1, false, false, true, true},
		{"a b c", "c x a", 0.5, 2. / 3, false, false, false, true},
		{"a a b", "a c c", 1. / 3, 1. / 3, false, false, false, false},
		{"a b", "c d", 0, 0, false, false, false, false},
	} {
		for rule, want := range map[golden.Rule]bool{golden.ByJaccard: c.jaccard, golden.ByF1: c.byF1} {
			got := golden.Agree(pairOf(c.a, c.b), fields, rule, nil)
			p := got.Questions[0].Pairs[0]
			if !near(p.IoU, c.iou) || !near(p.F1, c.f1) || p.Identical != c.identical || p.Verbatim != c.same || p.Agree != want {
				t.Errorf("%q, %q by %s: %+v", c.a, c.b, rule, p)
			}
			if !near(got.IoU, c.iou) || got.Agreed != map[bool]int{true: 1}[want] || got.Pairs != 1 {
				t.Errorf("%q, %q by %s: %+v", c.a, c.b, rule, got)
			}
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func TestAgree_kappaByChunker(t *testing.T) {
	t.Parallel()
	chunks := func(texts ...string) func(string) []string {
		return func(doc string) []string {
			if doc != "d" {
				return nil
			}
			return texts
		}
	}
	got := golden.Agree(pairOf("Red  fox", "fox"), fields, golden.ByJaccard, []golden.Chunker{
		{Name: "whole", Texts: chunks("the red\nfox, a FOX")},
		{Name: "overlap", Texts: chunks("the red fox", "fox jumps", "over", "dogs")},
		{Name: "none", Texts: chunks()},
	})
	if k := got.Kappa; k[0] == nil || *k[0] != 1 || k[1] == nil || !near(*k[1], 0.5) || k[2] != nil {
		t.Errorf("kappa %v", k)
	}
	if !slices.Equal(got.Differ, []int{0, 1, 0}) || !slices.Equal(got.Chunkers, []string{"whole", "overlap", "none"}) {
		t.Errorf("%+v", got)
	}
}

// The example of Cohen (1960), as counts: 20 both yes, 15 both no, 5 and 10 apart.
func TestKappa(t *testing.T) {
	t.Parallel()
	var a, b []bool
	for _, c := range []struct {
		n    int
		a, b bool
	}{{20, true, true}, {5, true, false}, {10, false, true}, {15, false, false}} {
		for range c.n {
			a, b = append(a, c.a), append(b, c.b)
		}
	}
	if k, ok := golden.Kappa(a, b); !ok || !near(k, 0.4) {
		t.Errorf("%v, %v", k, ok)
	}
	if _, ok := golden.Kappa(nil, nil); ok {
		t.Error("there is a kappa of nothing")
	}
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(rapid.Bool(), 1, 20).Draw(t, "a")
		b := rapid.SliceOfN(rapid.Bool(), len(a), len(a)).Draw(t, "b")
		k, _ := golden.Kappa(a, b)
		if other, _ := golden.Kappa(b, a); other != k || k > 1 || k < -1 {
			t.Fatalf("%v and %v", k, other)
		}
		if same, _ := golden.Kappa(a, a); same != 1 {
			t.Fatalf("with itself %v", same)
		}
	})
}

func TestSecond_groupsByQuestion(t *testing.T) {
	t.Parallel()
	mark := func(span string) []golden.Relevant { return []golden.Relevant{{Doc: "d", Span: span, Grade: 1}} }
	set := &golden.Set{Questions: []golden.Question{
		{ID: "b1", Text: "WHO is it?", Tags: []string{"annotator:ann", "second_of:q1"}, Relevant: mark("a")},
		{ID: "q1", Text: "who is  it?", Relevant: mark("b")},
		{ID: "q2", Text: "alone?", Relevant: mark("c")},
		{ID: "q3", Text: "twice?", Tags: []string{"annotator:m"}, Relevant: mark("d"), Second: &golden.Annotation{Annotator: "n", Relevant: mark("e")}},
		{ID: "q4", Text: "same person?", Tags: []string{"annotator:m"}, Relevant: mark("d"), Second: &golden.Annotation{Annotator: "m", Relevant: mark("e")}},
		{ID: "c1", Text: "who is it?", Tags: []string{"annotator:bob", "second_of:q1"}, Relevant: mark("f")},
	}}
	got := golden.Second(set)
	if len(got) != 2 || got[0].ID != "q1" || len(got[0].By) != 3 || got[1].ID != "q3" {
		t.Fatalf("%+v", got)
	}
	a := golden.Agree(got, fields, golden.ByJaccard, nil)
	if len(a.Questions) != 2 || len(a.Questions[0].Pairs) != 3 || a.Pairs != 4 {
		t.Errorf("%+v", a)
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	set := func(questions ...golden.Question) *golden.Set { return &golden.Set{Questions: questions} }
	both, unmatched := golden.Match(
		set(golden.Question{ID: "1", Text: "a?"}, golden.Question{ID: "2", Text: "b?"}, golden.Question{ID: "3", Text: "c?"}),
		set(golden.Question{ID: "1", Text: "A?"}, golden.Question{ID: "x", Text: "b?"}, golden.Question{ID: "3", Text: "other?"}),
	)
	if len(both) != 2 || both[0].ID != "1" || both[1].ID != "2" {
		t.Errorf("%+v", both)
	}
	if len(unmatched) != 2 || unmatched[0].String() != "question 3: no other annotation asks this" || unmatched[1].Question != "3" {
		t.Errorf("%v", unmatched)
	}
	if a := golden.Agree(both, fields, golden.ByF1, nil); a.NoSpan != 2 || a.Pairs != 0 {
		t.Errorf("%+v", a)
	}
}
