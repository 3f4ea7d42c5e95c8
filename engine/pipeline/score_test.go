package pipeline

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/axes/metric"
	"raglab/engine/artifact"
	"raglab/golden"
)

// ranked is a run of one question over chunks by name.
func ranked(t *testing.T, question string, chunks ...string) []byte {
	t.Helper()
	run := artifact.Run{Questions: []string{question}, Hits: [][]axes.Hit{nil}, Chunks: [][]string{chunks}}
	for i := range chunks {
		run.Hits[0] = append(run.Hits[0], axes.Hit{Ordinal: uint32(i), Score: float64(len(chunks) - i)})
	}
	var b strings.Builder
	if err := artifact.WriteRun(&b, run); err != nil {
		t.Fatal(err)
	}
	return []byte(b.String())
}

func scorer(t *testing.T, relevance string, names ...string) scoreWork {
	t.Helper()
	metrics, err := metric.ParseAll(names)
	if err != nil {
		t.Fatal(err)
	}
	return scoreWork{judging: judging{relevance: relevance, unreachable: metric.UnreachableZero, coverage: 1, shards: 1}, metrics: metrics}
}

func (l *lab) score(t *testing.T, w scoreWork, inputs map[string][]byte) *Scores {
	t.Helper()
	out, err := l.run(t, scoreKind, w, inputs)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadScores(out["scores"])
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScore_documentsCollapseBeforeTheCut(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := l.score(t, scorer(t, "document", "ndcg@2", "mrr@2"), map[string][]byte{
		"run":        ranked(t, "q", "a#0", "a#1", "a#2", "b#0"),
		"judgements": plainLines(t, golden.Question{ID: "q", Relevant: []golden.Relevant{{Doc: "b", Grade: 1}}}),
	})
	if got, want := s.Summaries[0].Mean, 1/math.Log2(3); math.Abs(got-want) > 1e-12 {
		t.Errorf("ndcg@2 %v, want %v: b is the second document, though the fourth chunk", got, want)
	}
	if got := s.Summaries[1].Mean; got != 0.5 {
		t.Errorf("mrr@2 %v, want 0.5", got)
	}
}

func TestScore_questionsWithoutResultsCountZero(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := l.score(t, scorer(t, "document", "recall@5"), map[string][]byte{
		"run": ranked(t, "q1", "a#0"),
		"judgements": plainLines(t,
			golden.Question{ID: "q1", Relevant: []golden.Relevant{{Doc: "a", Grade: 1}}},
			golden.Question{ID: "q2", Relevant: []golden.Relevant{{Doc: "b", Grade: 1}}},
			golden.Question{ID: "q3", Relevant: []golden.Relevant{{Doc: "b", Grade: 0}}}),
	})
	got := s.Summaries[0]
	if got.Mean != 0.5 || got.Scored != 2 || got.Empty != 1 || got.Excluded != 1 {
		t.Errorf("summary %+v, want mean 0.5 over 2, one of them empty, and one question left out", got)
	}
	if _, ok := s.Questions[2].Value(0); ok {
		t.Error("a question without a relevant document has a value")
	}
}

func TestScore_spansAreFoundInChunks(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	chunks := lines(t,
		axes.Chunk{Doc: "a", N: 0, Text: "nothing here"},
		axes.Chunk{Doc: "a", N: 1, Text: "The  ANSWER is here"},
		axes.Chunk{Doc: "b", N: 0, Text: "the answer is in another document"})
	question := golden.Question{ID: "q", Relevant: []golden.Relevant{{Doc: "a", Span: "the answer", Grade: 1}}}
	cut := golden.Question{ID: "cut", Relevant: []golden.Relevant{{Doc: "a", Span: "here The", Grade: 1}}}
	s := l.score(t, scorer(t, "span", "mrr@10"), map[string][]byte{
		"run": ranked(t, "q", "b#0", "a#0", "a#1"), "judgements": plainLines(t, question, cut), "chunks-000": chunks,
	})
	if v, _ := s.Questions[0].Value(0); v != 1.0/3 {
		t.Errorf("reciprocal rank %v, want 1/3: only the third chunk is from the document and holds the span", v)
	}
	if v, ok := s.Questions[1].Value(0); v != 0 || !ok {
		t.Errorf("a span that no chunk holds scores %v, %v; want 0", v, ok)
	}
	if len(s.Lost) != 1 || s.Lost[0] != "cut" {
		t.Errorf("lost %v, want the question whose span was cut", s.Lost)
	}
}

func TestScore_refusesAChunkRankedTwice(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	_, err := l.run(t, scoreKind, scorer(t, "document", "mrr@10"), map[string][]byte{
		"run":        ranked(t, "q", "a#0", "b#0", "a#0"),
		"judgements": plainLines(t, golden.Question{ID: "q", Relevant: []golden.Relevant{{Doc: "a", Grade: 1}}}),
	})
	if err == nil || !strings.Contains(err.Error(), "ranked twice") {
		t.Errorf("error %v, want one about a chunk ranked twice", err)
	}
}

func TestReadScores_refusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		``, `{}`, `{"version":2}`, `{"version":1,"metrics":["a"],"summaries":[]}`,
		`{"version":1,"metrics":["a"],"summaries":[{}],"questions":[{"id":"q","values":[1,2]}]}`,
	} {
		if _, err := ReadScores([]byte(raw)); err == nil {
			t.Errorf("%s was read", raw)
		}
	}
}

// TestReadScores_asTheStandardLibrary reads what a score stage writes as encoding/json
// does.
func TestReadScores_asTheStandardLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Ptr(rapid.Float64Range(0, 1), true)
		metrics := rapid.SliceOfN(rapid.StringMatching(`[a-z]+@[0-9]+`), 1, 3).Draw(t, "metrics")
		s := Scores{Version: scoresVersion, Metrics: metrics, Summaries: make([]metric.Summary, len(metrics))}
		for i := range s.Summaries {
			s.Summaries[i] = metric.Summary{Mean: rapid.Float64Range(0, 1).Draw(t, "mean"), Scored: 1 + i, Missing: i}
		}
		for range rapid.IntRange(0, 20).Draw(t, "questions") {
			q := QuestionScore{ID: rapid.String().Draw(t, "id"), Found: rapid.IntRange(0, 1000).Draw(t, "found")}
			for range metrics {
				q.Values = append(q.Values, (*number)(value.Draw(t, "value")))
			}
			s.Questions = append(s.Questions, q)
		}
		if rapid.Bool().Draw(t, "with spans") {
			s.Lost = []string{"q1"}
			s.Spans = &metric.SpanCounts{Spans: 2, Cut: 1, Share: 0.5, CutIn: []string{"q1"}}
		}
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var want Scores
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		got, err := ReadScores(raw)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	})
}
