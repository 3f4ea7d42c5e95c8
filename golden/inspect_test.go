package golden_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"raglab/golden"
)

func inspected(set *golden.Set, corpus *golden.Corpus, split *golden.Split) []string {
	var out []string
	for i := range set.Questions {
		set.Questions[i].Pos = golden.Position{File: "g", Line: i + 1}
	}
	for _, f := range golden.Inspect(set, corpus, split, fields, golden.DefaultLimits()).Findings {
		kind := "error"
		if f.Warning {
			kind = "warning"
		}
		out = append(out, fmt.Sprintf("%s %s %s", kind, f.Code, f.Problem))
	}
	return out
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestInspect_spans(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("п", 401)
	q := func(id, text, span string) golden.Question {
		return golden.Question{ID: id, Text: text, Relevant: []golden.Relevant{{Doc: "d", Span: span, Grade: 1}}}
	}
	set := &golden.Set{Questions: []golden.Question{
		q("ok", "who drew it", "twenty characters ok"),
		q("short", "what is blue", "nineteen characters"),
		q("long", "why so long", long),
		q("edge", "aa bb cc xx yy", "aa bb cc and much more text"),
		q("copied", "aa bb cc dd", "aa bb cc and much more text"),
		{ID: "none", Text: "unanswerable", Relevant: []golden.Relevant{{Doc: "d", Grade: 0}}},
	}}
	content := "Twenty  characters OK nineteen characters " + long + " aa bb cc"
	expect(
		t, inspected(set, &golden.Corpus{
			Has:     func(id string) bool { return id == "d" },
			Content: func(string) (string, bool) { return content, true },
		}, nil),
		`error span_short g:2: question short: the span "nineteen characters" has 19 characters; at least 20 are expected`,
		`error span_long g:3: question long: the span "`+strings.Repeat("п", 40)+`…" has 401 characters; at most 400 are expected`,
		`error span_missing g:4: question edge: document d does not hold the span "aa bb cc and much more text"; after "aa bb cc" it has "", where the span has " and much more text"`,
		`error span_missing g:5: question copied: document d does not hold the span "aa bb cc and much more text"; after "aa bb cc" it has "", where the span has " and much more text"`,
		`error copied g:5: question copied: 75 % of its words stand in the span; ask in other words`,
		`warning nothing_relevant g:6: question none: nothing is relevant to it; it is left out of every mean`,
	)
}

func TestInspect_duplicatesAndLeaks(t *testing.T) {
	t.Parallel()
	q := func(id, text, part, span string) golden.Question {
		return golden.Question{ID: id, Text: text, Tags: []string{"split:" + part}, Relevant: []golden.Relevant{{Doc: "d", Span: span, Grade: 1}}}
	}
	set := &golden.Set{Questions: []golden.Question{
		q("a", "how long is the river Dnipro", "dev", "a span of enough characters"),
		q("b", "How long is  the river dnipro", "test", ""),
		q("c", "how long is the long river Dnipro", "dev", ""),
		q("d", "how long is river Dnipro the", "test", ""),
		q("e", "something else altogether", "test", "A span  of enough characters"),
		q("f", "longitudes of riverbanks", "dev", ""),
		q("g", "longitudes of riverbank", "dev", ""),
		{ID: "h", Text: "torn", Tags: []string{"split:dev", "split:test"}, Relevant: []golden.Relevant{{Doc: "d", Grade: 1}}},
	}}
	near := func(line int, id, detail string) string {
		if detail != "" {
			return fmt.Sprintf("question %s on line %d asks nearly the same (Jaccard index of their words 1.00); %s", id, line, detail)
		}
		return fmt.Sprintf("question %s on line %d asks nearly the same (Jaccard index of their words 1.00)", id, line)
	}
	leak := "one is a dev question and one a test question"
	expect(
		t, inspected(set, nil, nil),
		`error duplicate g:2: question b: question a on line 1 asks the same; `+leak,
		`warning near_duplicate g:3: question c: `+near(1, "a", ""),
		`warning leak_question g:3: question c: `+near(2, "b", leak),
		`warning leak_question g:4: question d: `+near(1, "a", leak),
		`warning near_duplicate g:4: question d: `+near(2, "b", ""),
		`warning leak_question g:4: question d: `+near(3, "c", leak),
		`warning leak_span g:5: question e: question a on line 1 is answered by the same span of document d; `+leak,
		`warning near_duplicate g:7: question g: question f on line 6 asks nearly the same (0.96 of the three-letter runs of one are in the other)`,
		`error split g:8: question h: it has both or neither of the tags split:dev and split:test; give it one of the two`,
	)
}

func TestInspect_balance(t *testing.T) {
	t.Parallel()
	set := new(golden.Set)
	for i := range 10 {
		part, kind := "split:test", "kind:lead"
		if i == 0 {
			part, kind = "split:dev", "kind:other"
		}
		set.Questions = append(set.Questions, golden.Question{
			ID: fmt.Sprint(i), Text: strings.Repeat(string(rune('a'+i)), 5), Tags: []string{part, kind}, Relevant: []golden.Relevant{{Doc: "d", Grade: 1}},
		})
	}
	expect(
		t, inspected(set, nil, nil),
		`warning unbalanced g: 1 of 10 questions are dev questions`,
		`warning unbalanced g: kind:lead: 0 dev and 9 test questions`,
	)
	if got := inspected(set, nil, &golden.Split{By: "hash", Dev: 1}); len(got) != 2 || got[0] != "warning unbalanced g: 0 of 10 questions are test questions" {
		t.Errorf("%v", got)
	}
}

// A second annotation asks the same on purpose.
func TestInspect_secondAnnotationIsNoDuplicate(t *testing.T) {
	t.Parallel()
	relevant := []golden.Relevant{{Doc: "d", Grade: 1}}
	expect(t, inspected(&golden.Set{Questions: []golden.Question{
		{ID: "a", Text: "who is it", Relevant: relevant}, {ID: "b", Text: "who is it", Tags: []string{"second_of:a"}, Relevant: relevant},
	}}, nil, nil))
}

// Nearness does not depend on the order of the questions, and every question is
// near itself.
func TestInspect_similarityIsSymmetric(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("abc d")))
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		codes := func(x, y string) []string {
			var out []string
			for _, f := range golden.Inspect(&golden.Set{Questions: []golden.Question{{ID: "1", Text: x}, {ID: "2", Text: y}}}, nil, nil, fields, golden.DefaultLimits()).Findings {
				if f.Code != golden.Unanswered {
					out = append(out, string(f.Code))
				}
			}
			return out
		}
		if one, other := codes(a, b), codes(b, a); !slices.Equal(one, other) {
			t.Fatalf("%v and %v", one, other)
		}
		if same := codes(a, a); !slices.Equal(same, []string{"duplicate"}) {
			t.Fatalf("%q with itself: %v", a, same)
		}
	})
}

// Near-duplicates of a set are those of its pairs, each alone.
func TestInspect_nearDuplicatesArePairs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom(strings.Fields("a bb cc dd ee river rivers long longer"))
		limits := golden.DefaultLimits()
		limits.Jaccard = rapid.Float64Range(0, 1).Draw(t, "jaccard")
		limits.Containment = rapid.Float64Range(0, 1).Draw(t, "containment")
		near := func(questions []golden.Question) (out []string) {
			for _, f := range golden.Inspect(&golden.Set{Questions: questions}, nil, nil, fields, limits).Findings {
				if f.Code == golden.NearQuestion || f.Code == golden.SameQuestion {
					out = append(out, f.Question+" "+f.Summary)
				}
			}
			return out
		}
		var questions []golden.Question
		for i := range rapid.IntRange(2, 7).Draw(t, "questions") {
			questions = append(questions, golden.Question{ID: fmt.Sprint(i), Text: strings.Join(rapid.SliceOfN(word, 0, 6).Draw(t, "words"), " "), Pos: golden.Position{Line: i + 1}})
		}
		var want []string
		for i, q := range questions {
			for _, other := range questions[:i] {
				want = append(want, near([]golden.Question{other, q})...)
			}
		}
		if got := near(questions); !slices.Equal(got, want) {
			t.Fatalf("%+v: got\n%s\nwant\n%s", questions, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestCopiedShare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		question, span string
		want           float64
	}{{"a b a", "a", 0.5}, {"a b", "c", 0}, {"", "c", 1}, {"a b c", "c b a a", 1}} {
		if got := golden.CopiedShare(c.question, c.span, fields); got != c.want {
			t.Errorf("%q of %q: %v", c.question, c.span, got)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	d := golden.Describe(&golden.Set{Questions: []golden.Question{
		{ID: "a", Text: "один два", Tags: []string{"kind:lead", "split:dev", "x"}, Relevant: []golden.Relevant{{Doc: "1", Grade: 1, Span: "один"}, {Doc: "2", Grade: 2}}},
		{ID: "b", Text: "три", Tags: []string{"kind:lead", "split:test"}, Relevant: []golden.Relevant{{Doc: "2", Grade: -1}}},
		{ID: "c", Text: "чотири п'ять шість", Tags: []string{"kind:lemma", "split:test"}, Second: &golden.Annotation{}},
	}}, nil, fields)
	if !d.Split || d.Questions != (golden.PartCount{Dev: 1, Test: 2}) || d.Unjudged != 1 || d.Second != 1 || d.Unanswered != 2 {
		t.Errorf("%+v", d)
	}
	if want := (golden.Spread{N: 3, Min: 1, Median: 2, Mean: 2, P95: 3, Max: 3}); d.Words != want {
		t.Errorf("words %+v", d.Words)
	}
	if want := (golden.Spread{N: 1, Min: 0.5, Median: 0.5, Mean: 0.5, P95: 0.5, Max: 0.5}); d.Copied != want {
		t.Errorf("copied %+v", d.Copied)
	}
	if want := []golden.GradeCount{{-1, 1}, {1, 1}, {2, 1}}; !slices.Equal(d.Grades, want) {
		t.Errorf("grades %v", d.Grades)
	}
	var names []string
	for _, g := range d.Groups {
		names = append(names, fmt.Sprint(g.Name, len(g.Tags)))
	}
	if !slices.Equal(names, []string{"1", "kind2"}) {
		t.Errorf("groups %v", names)
	}
}
