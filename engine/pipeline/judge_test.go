package pipeline

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"raglab/axes"
	"raglab/axes/metric"
	"raglab/engine/artifact"
	"raglab/golden"
)

func relevantTo(doc, span string) golden.Relevant {
	return golden.Relevant{Doc: doc, Span: span, Grade: 1}
}

// Half of a span is enough when the spec says so, and the number of relevant
// chunks is counted under the same policy.
func TestScore_coverageOfASpan(t *testing.T) {
	t.Parallel()
	chunks := lines(t,
		axes.Chunk{Doc: "a", N: 0, Text: "zero. One two"},
		axes.Chunk{Doc: "a", N: 1, Text: "three four. Five"},
		axes.Chunk{Doc: "b", N: 0, Text: "one two three four"})
	// Of the span's 15 characters the first chunk holds 6, the second 9.
	for _, tc := range []struct {
		coverage, recall float64
		reached          int
	}{{1, 0, 0}, {0.61, 0, 0}, {0.6, 1, 1}, {0.41, 1, 1}, {0.4, 0.5, 1}} {
		w := scorer(t, "span", "recall@1")
		w.coverage = tc.coverage
		s := newLab(t).score(t, w, map[string][]byte{
			"run":        ranked(t, "q", "a#1", "a#0", "b#0"),
			"judgements": plainLines(t, golden.Question{ID: "q", Relevant: []golden.Relevant{relevantTo("a", "one two three four")}}),
			"chunks-000": chunks,
		})
		if s.Summaries[0].Mean != tc.recall || s.Spans.Reached != tc.reached || s.Spans.Whole != 0 || s.Spans.Cut != 1 {
			t.Errorf("coverage %v: recall@1 %v, spans %+v; want %v", tc.coverage, s.Summaries[0].Mean, s.Spans, tc.recall)
		}
	}
}

// Chunks that are returned as one passage are one result, under the first's name.
func TestScore_spansInPassages(t *testing.T) {
	t.Parallel()
	around := &axes.Passage{First: 0, Text: "the answer is here, in the passage"}
	s := newLab(t).score(t, scorer(t, "span", "recall@2", "mrr@2"), map[string][]byte{
		"run":        ranked(t, "q", "a#2", "a#0"),
		"judgements": plainLines(t, golden.Question{ID: "q", Relevant: []golden.Relevant{relevantTo("a", "answer is here, in the")}}),
		"chunks-000": lines(t,
			axes.Chunk{Doc: "a", N: 0, Text: "the answer is here,", Around: around},
			axes.Chunk{Doc: "a", N: 1, Text: "in the passage", Around: around},
			axes.Chunk{Doc: "a", N: 2, Text: "else"}),
	})
	if s.Summaries[0].Mean != 1 || s.Summaries[1].Mean != 0.5 || s.Spans.Whole != 1 {
		t.Errorf("recall %v, mrr %v, spans %+v; want the one passage found at rank 2", s.Summaries[0].Mean, s.Summaries[1].Mean, s.Spans)
	}
}

// Judgements of chunks have grades; the ideal ranking is of all of them. A chunk in
// a passage is the passage.
func TestScore_gradedChunks(t *testing.T) {
	t.Parallel()
	around := &axes.Passage{First: 1, Text: "two three"}
	l := newLab(t)
	s := l.score(t, scorer(t, "chunk", "ndcg@10", "recall@10"), map[string][]byte{
		"run": ranked(t, "q", "a#0", "a#1", "b#0"),
		"judgements": plainLines(t, golden.Question{ID: "q", Relevant: []golden.Relevant{
			{Doc: "a#0", Grade: 1}, {Doc: "a#2", Grade: 3}, {Doc: "b#0", Grade: 0}, {Doc: "a#9", Grade: 2},
		}}),
		"chunks-000": lines(t,
			axes.Chunk{Doc: "a", N: 0, Text: "one"},
			axes.Chunk{Doc: "a", N: 1, Text: "two", Around: around},
			axes.Chunk{Doc: "a", N: 2, Text: "three", Around: around},
			axes.Chunk{Doc: "b", N: 0, Text: "four"}),
	})
	want := (1 + 3/math.Log2(3)) / (3 + 2/math.Log2(3) + 0.5)
	if got := s.Summaries[0].Mean; math.Abs(got-want) > 1e-12 {
		t.Errorf("ndcg@10 %v, want %v", got, want)
	}
	if got := s.Summaries[1].Mean; math.Abs(got-2.0/3) > 1e-12 {
		t.Errorf("recall@10 %v, want 2/3", got)
	}
	if len(l.warnings) != 1 || !strings.Contains(l.warnings[0], "1 judgements name chunks that there are none of, such as a#9") {
		t.Errorf("warnings %q", l.warnings)
	}
}

func pages(t *testing.T) []byte {
	t.Helper()
	page := func(id, of string) axes.Document {
		d := axes.Document{ID: id, Text: id}
		if of != "" {
			d.Meta = map[string]string{"doc_id": of}
		}
		return d
	}
	return lines(t, page("a-1", "a"), page("a-2", "a"), page("b-1", "b"), page("c", ""), page("d", "d"))
}

// Rankings of pages become rankings of documents before any cut; judgements may
// name either.
func TestScore_partsOfWholes(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	out, err := l.run(t, withinKind, withinWork{"doc_id", 1}, map[string][]byte{"documents-000": pages(t)})
	if err != nil {
		t.Fatal(err)
	}
	if len(l.warnings) != 1 || !strings.Contains(l.warnings[0], `1 of 5 documents do not say in "doc_id"`) {
		t.Errorf("warnings %q", l.warnings)
	}
	w := scorer(t, "document", "recall@2", "mrr@10", "ndcg@10")
	w.within = true
	for _, relevant := range [][]golden.Relevant{
		{{Doc: "b", Grade: 1}, {Doc: "c", Grade: 2}},
		{{Doc: "b-1", Grade: 1}, {Doc: "c", Grade: 2}},
		{{Doc: "b-1", Grade: 0}, {Doc: "b", Grade: 1}, {Doc: "c", Grade: 2}},
	} {
		s := l.score(t, w, map[string][]byte{
			"run":        ranked(t, "q", "a-1#0", "a-2#0", "a-1#1", "b-1#3", "c#0"),
			"judgements": plainLines(t, golden.Question{ID: "q", Relevant: relevant}),
			"wholes":     out["wholes"],
		})
		want := []float64{0.5, 0.5, (1/math.Log2(3) + 2/math.Log2(4)) / (2 + 1/math.Log2(3))}
		for i, x := range want {
			if got := s.Summaries[i].Mean; math.Abs(got-x) > 1e-12 {
				t.Errorf("%v: %s is %v, want %v", relevant, s.Metrics[i], got, x)
			}
		}
		if s.Questions[0].Found != 3 {
			t.Errorf("%d documents are ranked, want 3", s.Questions[0].Found)
		}
	}
}

func TestWithin_refuses(t *testing.T) {
	t.Parallel()
	page := func(id string, meta ...string) axes.Document {
		return axes.Document{ID: id, Meta: map[string]string{meta[0]: meta[1]}}
	}
	for name, tc := range map[string]struct {
		documents []axes.Document
		want      string
	}{
		"a field that nothing has": {
			[]axes.Document{page("a", "docid", "x"), page("b", "url", "y")}, `no document has the metadata "doc_id" that golden's within names; there are docid, url`,
		},
		"no metadata": {[]axes.Document{{ID: "a"}}, "there is no metadata at all"},
		"wholes in wholes": {
			[]axes.Document{page("p", "doc_id", "d"), page("d", "doc_id", "e")}, "document p is a part of d, which is itself a part of e",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newLab(t).run(t, withinKind, withinWork{"doc_id", 1}, map[string][]byte{"documents-000": lines(t, tc.documents...)})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestScore_spansAreToldByQuestion(t *testing.T) {
	t.Parallel()
	s := newLab(t).score(t, scorer(t, "span", "recall@5"), map[string][]byte{
		"run": ranked(t, "q1", "a#0"),
		"judgements": plainLines(t,
			golden.Question{ID: "q1", Relevant: []golden.Relevant{relevantTo("a", "one two")}},
			golden.Question{ID: "q2", Relevant: []golden.Relevant{relevantTo("a", "two three")}},
			golden.Question{ID: "q3", Relevant: []golden.Relevant{relevantTo("a", "three heading")}}),
		"chunks-000": lines(t, axes.Chunk{Doc: "a", N: 0, Text: "one two"}, axes.Chunk{Doc: "a", N: 1, Text: "three"}),
	})
	c := s.Spans
	if c.Spans != 3 || c.Whole != 1 || !slices.Equal(c.CutIn, []string{"q2"}) || !slices.Equal(c.DroppedIn, []string{"q3"}) {
		t.Errorf("spans %+v", c)
	}
	if !slices.Equal(s.Lost, []string{"q2", "q3"}) {
		t.Errorf("lost %v", s.Lost)
	}
}

// TestGrading_keepsWhatIsJudged: of a corpus with very many chunks, judging holds those of
// judged documents.
func TestGrading_keepsWhatIsJudged(t *testing.T) {
	t.Parallel()
	var chunks []axes.Chunk
	for i := range 300 {
		chunks = append(chunks, axes.Chunk{Doc: fmt.Sprint("d", i/3), N: i % 3, Text: "one two"})
	}
	in := filled{"chunks-000": lines(t, chunks...)}
	for relevance, doc := range map[string]string{"span": "d7", "chunk": "d7#1"} {
		g, err := judging{relevance: relevance, unreachable: metric.UnreachableZero, coverage: 1, shards: 1}.grading(in, []golden.Question{
			{ID: "q", Relevant: []golden.Relevant{relevantTo(doc, "one two")}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(g.ids.ids) != 3 {
			t.Errorf("by %s, judging one document holds %d chunks", relevance, len(g.ids.ids))
		}
		judged, err := g.judge(artifact.Run{Questions: []string{"q"}, Chunks: [][]string{{"d99#0", "d7#1"}}})
		if err != nil || len(judged[0].Grades) != 2 || judged[0].Grades[0] > 0 || judged[0].Grades[1] != 1 {
			t.Errorf("by %s: %v, %v", relevance, judged, err)
		}
	}
}

// filled are inputs in memory.
type filled map[string][]byte

func (f filled) Open(name string) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(f[name])), nil
}
func (f filled) Bytes(name string) ([]byte, error) { return f[name], nil }
