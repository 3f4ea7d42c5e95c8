package metric_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

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
	s, err := metric.NewSpans(spanQuestions, 1)
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
		_, err := metric.NewSpans([]golden.Question{{ID: "q7", Relevant: []golden.Relevant{{Doc: "d1", Span: span}}}}, 1)
		if err == nil || !strings.Contains(err.Error(), "question q7 judges document d1 without an answer span") {
			t.Errorf("%q: %v", span, err)
		}
	}
}

// share is the coverage above which no chunk of a document is relevant any more,
// in steps of a hundredth.
func share(t *testing.T, span string, chunks ...axes.Chunk) int {
	t.Helper()
	best := 0
	for percent := 1; percent <= 100; percent++ {
		s, err := metric.NewSpans([]golden.Question{{ID: "q", Relevant: []golden.Relevant{{Doc: "d", Span: span, Grade: 1}}}}, float64(percent)/100)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range chunks {
			c.Doc, c.N = "d", i
			s.Add(uint32(i), c)
		}
		if len(s.Judgements(0, metric.UnreachableSkip)) > 0 {
			best = percent
		}
	}
	return best
}

func TestSpans_shareOfASpan(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, span, body string
		want             int
	}{
		{"whole", "a b c d", "x a  B\nc d y", 100},
		{"its beginning at the end", "abcd efgh", "zz abcd ef", 75},
		{"its end at the beginning", "abcd efgh", "EFGH zz", 50},
		{"blanks do not count", "a b c d", "a b", 50},
		{"in two stretches", "abcd efgh", "abcd xx efgh", 50},
		{"the chunk within it", "abcdefgh", "cdef", 50},
		{"a repetition within it", "abab abab c", "zzabab z", 44},
		{"nothing", "abc", "xyz", 0},
		{"letters, not bytes", "їжак", "ґїж", 50},
	} {
		if got := share(t, tc.span, axes.Chunk{Text: tc.body}); got != tc.want {
			t.Errorf("%s: %d %%, want %d %%", tc.name, got, tc.want)
		}
	}
}

// The automaton finds what going through all pieces of the span finds.
func TestSpans_shareIsThatOfTheLongestPiece(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abї ")), 1, 24, -1)
		span := golden.Fold(text.Draw(t, "span"))
		body := golden.Fold(text.Draw(t, "body"))
		if span == "" {
			return
		}
		runes := []rune(span)
		best, all := 0, utf8.RuneCountInString(strings.ReplaceAll(span, " ", ""))
		for from := range runes {
			for to := from + 1; to <= len(runes); to++ {
				if piece := string(runes[from:to]); strings.Contains(body, piece) {
					best = max(best, utf8.RuneCountInString(strings.ReplaceAll(piece, " ", "")))
				}
			}
		}
		s, err := metric.NewSpans([]golden.Question{{ID: "q", Relevant: []golden.Relevant{{Doc: "d", Span: span, Grade: 1}}}}, 0.5)
		if err != nil {
			t.Fatal(err)
		}
		s.Add(0, axes.Chunk{Doc: "d", Text: body})
		c := s.Counts()
		if want := float64(best) / float64(all); c.Share != want || (c.Reached == 1) != (2*best >= all) || (c.Whole == 1) != (best == all) {
			t.Fatalf("span %q, body %q: %+v, want the share %d/%d", span, body, c, best, all)
		}
	})
}

func TestSpans_cutOnesAreToldFromDroppedOnes(t *testing.T) {
	t.Parallel()
	question := func(id string, spans ...string) golden.Question {
		q := golden.Question{ID: id}
		for _, s := range spans {
			q.Relevant = append(q.Relevant, golden.Relevant{Doc: "d", Span: s, Grade: 1})
		}
		return q
	}
	questions := []golden.Question{
		question("whole", "two three"),
		question("at a blank", "three four"),
		question("in a word", "seven eight"),
		question("in three", "three four five six seven"),
		question("left out", "five heading six"),
		question("both ends, not together", "one two six"),
		question("twice cut", "three four", "seven eight"),
		{ID: "no chunk", Relevant: []golden.Relevant{{Doc: "gone", Span: "x", Grade: 1}}},
		{ID: "not relevant", Relevant: []golden.Relevant{{Doc: "d", Span: "nowhere", Grade: 0}}},
	}
	s, err := metric.NewSpans(questions, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"One two three", "four five six", "seven ei", "ght nine"} {
		s.Add(uint32(i), axes.Chunk{Doc: "d", N: i, Text: text})
	}
	got := s.Counts()
	if got.Spans != 9 || got.Whole != 1 || got.Cut != 5 || got.Dropped != 3 {
		t.Errorf("got %+v", got)
	}
	if want := []string{"at a blank", "in a word", "in three", "twice cut"}; !slices.Equal(got.CutIn, want) {
		t.Errorf("cut in %v, want %v", got.CutIn, want)
	}
	if want := []string{"left out", "both ends, not together", "no chunk"}; !slices.Equal(got.DroppedIn, want) {
		t.Errorf("dropped in %v, want %v", got.DroppedIn, want)
	}
}

// Chunks that overlap repeat a part of the span.
func TestSpans_cutByChunksThatOverlap(t *testing.T) {
	t.Parallel()
	s, err := metric.NewSpans([]golden.Question{{ID: "q", Relevant: []golden.Relevant{{Doc: "d", Span: "b c d e f", Grade: 1}}}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"a b c", "b c d", "c d e", "d e f", "e f g"} {
		s.Add(uint32(i), axes.Chunk{Doc: "d", N: i, Text: text})
	}
	if c := s.Counts(); c.Cut != 1 || c.Whole != 0 || c.Share != 0.6 {
		t.Errorf("got %+v", c)
	}
}

// However a text is cut, each span of it is whole or cut, never dropped.
func TestSpans_nothingDroppedWhenNothingIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[abї]{1,3}`), 3, 30).Draw(t, "words")
		from := rapid.IntRange(0, len(words)-2).Draw(t, "from")
		to := rapid.IntRange(from+1, len(words)).Draw(t, "to")
		s, err := metric.NewSpans([]golden.Question{{ID: "q", Relevant: []golden.Relevant{{Doc: "d", Span: strings.Join(words[from:to], "  "), Grade: 1}}}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; len(words) > 0; i++ {
			n := rapid.IntRange(1, len(words)).Draw(t, "words in a chunk")
			s.Add(uint32(i), axes.Chunk{Doc: "d", N: i, Text: strings.Join(words[:n], "\n")})
			words = words[n:]
		}
		if c := s.Counts(); c.Dropped != 0 || c.Whole+c.Cut != 1 || c.Whole != c.Reached {
			t.Fatalf("got %+v", c)
		}
	})
}

// Chunks that are returned as one passage are judged once, by the passage's text.
func TestSpans_passagesAreJudgedOnce(t *testing.T) {
	t.Parallel()
	s, err := metric.NewSpans([]golden.Question{{ID: "q", Relevant: []golden.Relevant{{Doc: "d", Span: "one two", Grade: 2}}}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	passage := &axes.Passage{First: 0, Text: "one two three"}
	for i, c := range []axes.Chunk{{Text: "one", Around: passage}, {Text: "two three", Around: passage}, {Text: "four"}} {
		ordinal := uint32(i)
		if c.Around != nil {
			ordinal = uint32(c.Around.First)
		}
		c.Doc, c.N = "d", i
		s.Add(ordinal, c)
	}
	if got := s.Judgements(0, metric.UnreachableZero); !slices.Equal(got, []metric.Grade{{Item: 0, Grade: 2}}) {
		t.Errorf("got %v", got)
	}
}

func TestNewSpans_refusesACoverageThatIsNone(t *testing.T) {
	t.Parallel()
	for _, coverage := range []float64{0, -1, 1.01, math.NaN()} {
		if _, err := metric.NewSpans(nil, coverage); err == nil {
			t.Errorf("coverage %v was taken", coverage)
		}
	}
}
