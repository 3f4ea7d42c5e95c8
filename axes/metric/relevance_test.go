package metric_test

import (
	"slices"
	"strings"
	"testing"

	"raglab/axes"
	"raglab/axes/metric"
	"raglab/golden"
)

func TestDocuments(t *testing.T) {
	t.Parallel()
	q := golden.Question{ID: "q", Relevant: []golden.Relevant{
		{Doc: "b", Span: "x", Grade: 1},
		{Doc: "a", Grade: 0},
		{Doc: "b", Span: "y", Grade: 3},
		{Doc: "gone", Grade: 1},
		{Doc: "b", Span: "z", Grade: 2},
	}}
	ordinals := map[string]uint32{"a": 0, "b": 1}
	got := metric.Documents(q, func(id string) (uint32, bool) { o, ok := ordinals[id]; return o, ok })
	if want := []metric.Grade{{1, 3}, {0, 0}, {metric.Nowhere, 1}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

var spanQuestions = []golden.Question{
	{ID: "whole", Relevant: []golden.Relevant{{Doc: "d1", Span: "the  Quick\nbrown FOX", Grade: 1}}},
	{ID: "cut", Relevant: []golden.Relevant{{Doc: "d1", Span: "fox jumps", Grade: 2}}},
	{ID: "half", Relevant: []golden.Relevant{{Doc: "d1", Span: "fox jumps", Grade: 1}, {Doc: "d2", Span: "quick brown", Grade: 3}}},
	{ID: "two in one", Relevant: []golden.Relevant{{Doc: "d1", Span: "quick", Grade: 1}, {Doc: "d1", Span: "brown", Grade: 2}}},
	{ID: "judged only", Relevant: []golden.Relevant{{Doc: "d1", Span: "not there", Grade: 0}, {Doc: "d1", Span: "over", Grade: 1}}},
}

// spanChunks overlap: two hold "quick brown fox". That of d2 says it as well.
var spanChunks = []axes.Chunk{
	{Doc: "d1", Text: "The quick brown\u00a0fox"},
	{Doc: "d1", Text: " THE  QUICK BROWN FOX "},
	{Doc: "d1", Text: "jumps over", Heading: "fox jumps"},
	{Doc: "d2", Text: "the quick brown fox"},
}

func newSpans(t *testing.T) *metric.Spans {
	t.Helper()
	s, err := metric.NewSpans(spanQuestions)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range spanChunks {
		s.Add(uint32(i), c)
	}
	return s
}

func TestSpans_relevantChunks(t *testing.T) {
	t.Parallel()
	s := newSpans(t)
	lost := func(grade int32) metric.Grade { return metric.Grade{Item: metric.Nowhere, Grade: grade} }
	for i, want := range []struct{ zero, skip []metric.Grade }{
		{[]metric.Grade{{0, 1}, {1, 1}}, []metric.Grade{{0, 1}, {1, 1}}},
		{[]metric.Grade{lost(2)}, nil},
		{[]metric.Grade{{3, 3}, lost(1)}, []metric.Grade{{3, 3}}},
		{[]metric.Grade{{0, 2}, {1, 2}}, []metric.Grade{{0, 2}, {1, 2}}},
		{[]metric.Grade{{2, 1}}, []metric.Grade{{2, 1}}},
	} {
		if got := s.Judgements(i, metric.UnreachableZero); !slices.Equal(got, want.zero) {
			t.Errorf("%s: zero: got %v, want %v", spanQuestions[i].ID, got, want.zero)
		}
		if got := s.Judgements(i, metric.UnreachableSkip); !slices.Equal(got, want.skip) {
			t.Errorf("%s: skip: got %v, want %v", spanQuestions[i].ID, got, want.skip)
		}
	}
}

func TestSpans_lostOnesAreListed(t *testing.T) {
	t.Parallel()
	lost := newSpans(t).Lost()
	if len(lost) != 2 ||
		lost[0].Question != "cut" || !lost[0].All || !slices.Equal(lost[0].Judgements, []int{0}) ||
		lost[1].Question != "half" || lost[1].All || !slices.Equal(lost[1].Judgements, []int{0}) {
		t.Errorf("got %+v", lost)
	}
}

// An unreachable question counts 0 or is left out, as asked.
func TestSpans_unreachableQuestionInTheMean(t *testing.T) {
	t.Parallel()
	s, judge := newSpans(t), metric.NewJudge(len(spanChunks))
	for unreachable, want := range map[metric.Unreachable]metric.Summary{
		metric.UnreachableZero: {Mean: 0.5, Scored: 2},
		metric.UnreachableSkip: {Mean: 1, Scored: 1, Excluded: 1},
	} {
		var questions []metric.Judged
		for q := range 2 {
			j, err := judge.Judge([]uint32{1, 0, 2}, s.Judgements(q, unreachable))
			if err != nil {
				t.Fatal(err)
			}
			questions = append(questions, j)
		}
		if _, got := metric.Evaluate(parseAll(t, "recall@2"), questions); got[0] != want {
			t.Errorf("%s: got %+v, want %+v", unreachable, got[0], want)
		}
	}
}

func TestNewSpans_judgementWithoutSpanIsRefused(t *testing.T) {
	t.Parallel()
	for _, span := range []string{"", " \n\t"} {
		_, err := metric.NewSpans([]golden.Question{{ID: "q7", Relevant: []golden.Relevant{{Doc: "d1", Span: span}}}})
		if err == nil || !strings.Contains(err.Error(), "question q7 judges document d1 without an answer span") {
			t.Errorf("%q: %v", span, err)
		}
	}
}
