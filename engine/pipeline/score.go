package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"

	"raglab/axes"
	"raglab/axes/metric"
	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/golden"
)

// scoreWork is the work of a score stage.
type scoreWork struct {
	metrics     []metric.Metric
	relevance   string
	unreachable metric.Unreachable
	shards      int
	// part tells whether a question is scored; nil scores all.
	part func(golden.Question) bool
}

// scoreKind holds a run against the judgements of one part of the questions.
var scoreKind = &engine.Kind{Name: "score", Version: "1", Outputs: []string{"scores"}, Pure: true, Run: runScore}

// Scores is what a score stage writes.
type Scores struct {
	Version int `json:"version"`
	// Metrics are the names, in the order of the spec; Summaries run parallel.
	Metrics   []string         `json:"metrics"`
	Summaries []metric.Summary `json:"summaries"`
	Questions []QuestionScore  `json:"questions"`
	// Lost are questions of which a chunker cut an answer span.
	Lost []string `json:"lost,omitempty"`
}

// QuestionScore is one question's values, in the order of the metrics; nil for
// a question that is left out.
type QuestionScore struct {
	ID     string    `json:"id"`
	Values []*number `json:"values"`
	// Found is how many documents or chunks the run has for it.
	Found int `json:"found"`
}

// number is a float64 that is written in full.
type number float64

const scoresVersion = 1

func runScore(_ context.Context, t *engine.Task) error {
	w := t.Work.(scoreWork)
	questions, err := readJudgements(t)
	if err != nil {
		return err
	}
	run, err := readRun(t, "run")
	if err != nil {
		return err
	}
	scored := questions[:0:0]
	for _, q := range questions {
		if w.part == nil || w.part(q) {
			scored = append(scored, q)
		}
	}
	judged, lost, err := w.judge(t, scored, run)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(scoresOf(w.metrics, scored, judged, lost))
	if err != nil {
		return fmt.Errorf("encode scores: %w", err)
	}
	return t.Write("scores", raw)
}

func scoresOf(metrics []metric.Metric, questions []golden.Question, judged []metric.Judged, lost []string) Scores {
	values, summaries := metric.Evaluate(metrics, judged)
	s := Scores{Version: scoresVersion, Summaries: summaries, Lost: lost}
	for _, m := range metrics {
		s.Metrics = append(s.Metrics, m.Name())
	}
	for i, q := range questions {
		qs := QuestionScore{ID: q.ID, Found: len(judged[i].Grades), Values: make([]*number, len(metrics))}
		for m := range metrics {
			if v := values[m][i]; !math.IsNaN(v) {
				n := number(v)
				qs.Values[m] = &n
			}
		}
		s.Questions = append(s.Questions, qs)
	}
	return s
}

// Value is the question's value of the metric at that place, and false when it
// is left out.
func (q QuestionScore) Value(metric int) (float64, bool) {
	if q.Values[metric] == nil {
		return 0, false
	}
	return float64(*q.Values[metric]), true
}

// ReadScores reads what a score stage wrote.
func ReadScores(raw []byte) (*Scores, error) {
	var s Scores
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("read scores: %w", err)
	}
	if s.Version != scoresVersion {
		return nil, fmt.Errorf("read scores: version %d, not %d", s.Version, scoresVersion)
	}
	if len(s.Summaries) != len(s.Metrics) {
		return nil, fmt.Errorf("read scores: %d summaries of %d metrics", len(s.Summaries), len(s.Metrics))
	}
	for _, q := range s.Questions {
		if len(q.Values) != len(s.Metrics) {
			return nil, fmt.Errorf("read scores: question %s has %d values of %d metrics", q.ID, len(q.Values), len(s.Metrics))
		}
	}
	return &s, nil
}

// judge looks up the grades along each question's ranking.
func (w scoreWork) judge(t *engine.Task, questions []golden.Question, run artifact.Run) ([]metric.Judged, []string, error) {
	switch w.relevance {
	case "document":
		judged, err := judgeDocuments(questions, run)
		return judged, nil, err
	case "span":
		return w.judgeSpans(t, questions, run)
	case "chunk":
		judged, err := judgeChunks(questions, run)
		return judged, nil, err
	}
	return nil, nil, fmt.Errorf("there is no relevance %q", w.relevance)
}

// judgeDocuments collapses each ranking of chunks to documents, first
// occurrence first, before anything is cut.
func judgeDocuments(questions []golden.Question, run artifact.Run) ([]metric.Judged, error) {
	ids := newInterner()
	rankings := make([][]uint32, len(run.Questions))
	for i, chunks := range run.Chunks {
		var err error
		if rankings[i], err = ids.collapse(chunks); err != nil {
			return nil, fmt.Errorf("question %s: %w", run.Questions[i], err)
		}
	}
	return judgeRankings(questions, run.By(), rankings, ids, func(q golden.Question) []metric.Grade {
		return metric.Documents(q, ids.find)
	})
}

// judgeChunks takes the judged ids for chunks' names.
func judgeChunks(questions []golden.Question, run artifact.Run) ([]metric.Judged, error) {
	ids := newInterner()
	rankings := make([][]uint32, len(run.Questions))
	for i, chunks := range run.Chunks {
		for _, c := range chunks {
			rankings[i] = append(rankings[i], ids.id(c))
		}
	}
	return judgeRankings(questions, run.By(), rankings, ids, func(q golden.Question) []metric.Grade {
		return metric.Documents(q, ids.find)
	})
}

func judgeRankings(questions []golden.Question, by map[string]int, rankings [][]uint32, ids *interner, grades func(golden.Question) []metric.Grade) ([]metric.Judged, error) {
	judge := metric.NewJudge(len(ids.ids))
	out := make([]metric.Judged, len(questions))
	for i, q := range questions {
		var ranking []uint32
		if at, ok := by[q.ID]; ok {
			ranking = rankings[at]
		}
		var err error
		if out[i], err = judge.Judge(ranking, grades(q)); err != nil {
			return nil, fmt.Errorf("question %s: %w", q.ID, err)
		}
	}
	return out, nil
}

// judgeSpans takes a chunk for relevant when it holds the answer span.
func (w scoreWork) judgeSpans(t *engine.Task, questions []golden.Question, run artifact.Run) ([]metric.Judged, []string, error) {
	spans, err := metric.NewSpans(questions)
	if err != nil {
		return nil, nil, &engine.InputError{Err: err}
	}
	ids := newInterner()
	for i := range w.shards {
		r, err := t.Open(shardName("chunks", i))
		if err != nil {
			return nil, nil, err
		}
		for chunk, err := range artifact.ReadLines[axes.Chunk](r) {
			if err != nil {
				return nil, nil, fmt.Errorf("read chunks: %w", err)
			}
			spans.Add(ids.id(artifact.ChunkName(chunk.Doc, chunk.N)), chunk)
		}
	}
	rankings := make([][]uint32, len(run.Questions))
	for i, chunks := range run.Chunks {
		for _, c := range chunks {
			at, ok := ids.find(c)
			if !ok {
				return nil, nil, fmt.Errorf("question %s: ranked chunk %s is not in the corpus", run.Questions[i], c)
			}
			rankings[i] = append(rankings[i], at)
		}
	}
	place := make(map[string]int, len(questions))
	for i, q := range questions {
		place[q.ID] = i
	}
	judged, err := judgeRankings(questions, run.By(), rankings, ids, func(q golden.Question) []metric.Grade {
		return spans.Judgements(place[q.ID], w.unreachable)
	})
	var lost []string
	for _, l := range spans.Lost() {
		lost = append(lost, l.Question)
	}
	return judged, lost, err
}

// interner numbers strings in the order in which they are first seen.
type interner struct {
	ids map[string]uint32
}

func newInterner() *interner { return &interner{ids: map[string]uint32{}} }

func (n *interner) id(s string) uint32 {
	id, ok := n.ids[s]
	if !ok {
		id = uint32(len(n.ids))
		n.ids[s] = id
	}
	return id
}

func (n *interner) find(s string) (uint32, bool) {
	id, ok := n.ids[s]
	return id, ok
}

// collapse ranks the documents of chunks, each where its first chunk stands. A
// chunk that is ranked twice is an error: credit would be given twice.
func (n *interner) collapse(chunks []string) ([]uint32, error) {
	seen := make(map[uint32]bool, len(chunks))
	ranked := make(map[string]bool, len(chunks))
	out := make([]uint32, 0, len(chunks))
	for _, c := range chunks {
		if ranked[c] {
			return nil, fmt.Errorf("chunk %s is ranked twice", c)
		}
		ranked[c] = true
		if d := n.id(artifact.DocumentOf(c)); !seen[d] {
			seen[d] = true
			out = append(out, d)
		}
	}
	return out, nil
}

func readJudgements(t *engine.Task) ([]golden.Question, error) {
	raw, err := t.Bytes("judgements")
	if err != nil {
		return nil, err
	}
	var out []golden.Question
	dec := json.NewDecoder(bytes.NewReader(raw))
	for dec.More() {
		var q golden.Question
		if err := dec.Decode(&q); err != nil {
			return nil, fmt.Errorf("read judgements: %w", err)
		}
		out = append(out, q)
	}
	return out, nil
}
