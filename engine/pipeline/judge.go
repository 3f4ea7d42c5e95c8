package pipeline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"raglab/axes"
	"raglab/axes/metric"
	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/golden"
)

// judging says how a run is held against judgements.
type judging struct {
	relevance   string
	unreachable metric.Unreachable
	coverage    float64
	within      bool
	shards      int
}

// verdict is a run seen through the judgements of some questions.
type verdict struct {
	judged []metric.Judged // by question
	// lost and spans are those of [Scores].
	lost  []string
	spans *metric.SpanCounts
}

// judging is that of the spec.
func (b *builder) judging() judging {
	g := b.exp.Golden
	return judging{g.Relevance, metric.Unreachable(g.Unreachable), g.Coverage, g.Within != "", b.shards}
}

// judgingFields are what of it enters a key.
func (b *builder) judgingFields() []engine.Field {
	g := b.exp.Golden
	fields := []engine.Field{
		{Class: engine.Params, Path: "golden.relevance", Value: g.Relevance},
		{Class: engine.Params, Path: "golden.unreachable", Value: g.Unreachable},
	}
	if g.Relevance != "document" {
		fields = append(fields, engine.Field{Class: engine.Code, Path: "relevance " + g.Relevance, Value: "2"})
	}
	if g.Coverage < 1 {
		fields = append(fields, engine.Field{Class: engine.Params, Path: "golden.coverage", Value: g.Coverage})
	}
	return fields
}

// judgingInputs are a run, the judgements, and what else judging reads.
func (b *builder) judgingInputs(a asked) []engine.Input {
	in := []engine.Input{
		{Name: "run", From: a.run, Output: "run"},
		{Name: "judgements", From: b.p.Questions, Output: "judgements"},
	}
	if b.exp.Golden.Relevance != "document" {
		in = append(in, a.chunks.inputs()...)
	}
	return append(in, b.wholes...)
}

// judge looks up the grades along each question's ranking.
func (j judging) judge(t *engine.Task, questions []golden.Question, run artifact.Run) (verdict, error) {
	switch j.relevance {
	case "document":
		return j.judgeDocuments(t, questions, run)
	case "span":
		return j.judgeSpans(t, questions, run)
	case "chunk":
		return j.judgeChunks(t, questions, run)
	}
	return verdict{}, fmt.Errorf("there is no relevance %q", j.relevance)
}

// judgeDocuments collapses each ranking of chunks to documents, or to the wholes
// that these are parts of, first occurrence first, before anything is cut.
func (j judging) judgeDocuments(t *engine.Task, questions []golden.Question, run artifact.Run) (verdict, error) {
	var parts wholes
	if j.within {
		var err error
		if parts, err = readWholes(t); err != nil {
			return verdict{}, err
		}
	}
	ids := newInterner()
	rankings := make([][]uint32, len(run.Questions))
	for i, chunks := range run.Chunks {
		var err error
		if rankings[i], err = ids.collapse(chunks, parts); err != nil {
			return verdict{}, fmt.Errorf("question %s: %w", run.Questions[i], err)
		}
	}
	judged, err := judgeRankings(questions, run.By(), rankings, ids, func(_ int, q golden.Question) []metric.Grade {
		return metric.Documents(renamed(q, parts.of), ids.find)
	})
	return verdict{judged: judged}, err
}

// renamed is the question with its judgements about what their documents are
// called.
func renamed(q golden.Question, name func(string) string) golden.Question {
	relevant := make([]golden.Relevant, len(q.Relevant))
	for i, r := range q.Relevant {
		r.Doc = name(r.Doc)
		relevant[i] = r
	}
	q.Relevant = relevant
	return q
}

// judgeChunks takes the judged ids for chunks' names. A chunk that is returned in
// a passage stands for the passage, whichever of its chunks is judged.
func (j judging) judgeChunks(t *engine.Task, questions []golden.Question, run artifact.Run) (verdict, error) {
	ids, stands := newInterner(), map[string]string{}
	for chunk, err := range j.chunks(t) {
		if err != nil {
			return verdict{}, err
		}
		ranked := rankedName(chunk)
		ids.id(ranked)
		if name := artifact.ChunkName(chunk.Doc, chunk.N); name != ranked {
			stands[name] = ranked
		}
	}
	nameOf := func(judged string) string {
		if ranked, ok := stands[judged]; ok {
			return ranked
		}
		return judged
	}
	rankings, err := ids.rankings(run)
	if err != nil {
		return verdict{}, err
	}
	unknown, example := 0, ""
	judged, err := judgeRankings(questions, run.By(), rankings, ids, func(_ int, q golden.Question) []metric.Grade {
		q = renamed(q, nameOf)
		for _, r := range q.Relevant {
			if _, ok := ids.find(r.Doc); !ok {
				unknown++
				example = cmp.Or(example, r.Doc)
			}
		}
		return metric.Documents(q, ids.find)
	})
	if unknown > 0 {
		t.Warn("%d judgements name chunks that there are none of, such as %s: the chunker is not the one that they were made with, and they count as relevant and not found", unknown, example)
	}
	return verdict{judged: judged}, err
}

// judgeSpans takes a chunk for relevant when it holds enough of the answer span.
func (j judging) judgeSpans(t *engine.Task, questions []golden.Question, run artifact.Run) (verdict, error) {
	spans, err := metric.NewSpans(questions, j.coverage)
	if err != nil {
		return verdict{}, &engine.InputError{Err: err}
	}
	ids := newInterner()
	for chunk, err := range j.chunks(t) {
		if err != nil {
			return verdict{}, err
		}
		spans.Add(ids.id(rankedName(chunk)), chunk)
	}
	rankings, err := ids.rankings(run)
	if err != nil {
		return verdict{}, err
	}
	judged, err := judgeRankings(questions, run.By(), rankings, ids, func(place int, _ golden.Question) []metric.Grade {
		return spans.Judgements(place, j.unreachable)
	})
	counts := spans.Counts()
	v := verdict{judged: judged, spans: &counts}
	for _, l := range spans.Lost() {
		v.lost = append(v.lost, l.Question)
	}
	return v, err
}

// chunks yields the chunks of all shards, those of a document together and in
// their order.
func (j judging) chunks(t *engine.Task) func(yield func(axes.Chunk, error) bool) {
	return func(yield func(axes.Chunk, error) bool) {
		for i := range j.shards {
			r, err := t.Open(shardName("chunks", i))
			if err != nil {
				yield(axes.Chunk{}, err)
				return
			}
			for chunk, err := range artifact.ReadLines[axes.Chunk](r) {
				if err != nil {
					err = fmt.Errorf("read chunks: %w", err)
				}
				if !yield(chunk, err) || err != nil {
					return
				}
			}
		}
	}
}

// rankedName is the name under which rankings have a chunk: that of the first
// chunk of the passage around it, or its own.
func rankedName(c axes.Chunk) string { return artifact.ChunkName(c.Doc, c.Ranked()) }

func judgeRankings(questions []golden.Question, by map[string]int, rankings [][]uint32, ids *interner, grades func(place int, q golden.Question) []metric.Grade) ([]metric.Judged, error) {
	judge := metric.NewJudge(len(ids.ids))
	out := make([]metric.Judged, len(questions))
	for i, q := range questions {
		var ranking []uint32
		if at, ok := by[q.ID]; ok {
			ranking = rankings[at]
		}
		var err error
		if out[i], err = judge.Judge(ranking, grades(i, q)); err != nil {
			return nil, fmt.Errorf("question %s: %w", q.ID, err)
		}
	}
	return out, nil
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

// rankings are a run's, whose chunks must all be known.
func (n *interner) rankings(run artifact.Run) ([][]uint32, error) {
	rankings := make([][]uint32, len(run.Questions))
	for i, chunks := range run.Chunks {
		for _, c := range chunks {
			at, ok := n.find(c)
			if !ok {
				return nil, fmt.Errorf("question %s: ranked chunk %s is not in the corpus", run.Questions[i], c)
			}
			rankings[i] = append(rankings[i], at)
		}
	}
	return rankings, nil
}

// collapse ranks the documents of chunks, or the wholes that these are parts of,
// each where its first chunk stands. A chunk that is ranked twice is an error:
// credit would be given twice.
func (n *interner) collapse(chunks []string, parts wholes) ([]uint32, error) {
	seen := make(map[uint32]bool, len(chunks))
	ranked := make(map[string]bool, len(chunks))
	out := make([]uint32, 0, len(chunks))
	for _, c := range chunks {
		if ranked[c] {
			return nil, fmt.Errorf("chunk %s is ranked twice", c)
		}
		ranked[c] = true
		if d := n.id(parts.of(artifact.DocumentOf(c))); !seen[d] {
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
