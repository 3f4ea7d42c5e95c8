package pipeline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"

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

// inputs are what a stage reads, by name: a task's, or results that are looked at
// when all is done.
type inputs interface {
	Open(input string) (io.ReadCloser, error)
	Bytes(input string) ([]byte, error)
}

// judge looks up the grades along each question's ranking.
func (j judging) judge(t *engine.Task, questions []golden.Question, run artifact.Run) (verdict, error) {
	g, err := j.grading(t, questions)
	if err != nil {
		return verdict{}, err
	}
	v := verdict{}
	if v.judged, err = g.judge(run); err != nil {
		return verdict{}, err
	}
	switch {
	case g.spans != nil:
		counts := g.spans.Counts()
		v.spans = &counts
		for _, l := range g.spans.Lost() {
			v.lost = append(v.lost, l.Question)
		}
	case g.stands != nil:
		if unknown, example := g.unknown(); unknown > 0 {
			t.Warn("%d judgements name chunks that there are none of, such as %s: the chunker is not the one that they were made with, and they count as relevant and not found", unknown, example)
		}
	}
	return v, nil
}

// grading knows what is relevant to some questions, and holds any number of runs
// over the same chunks against it. Not safe for concurrent use.
type grading struct {
	questions []golden.Question
	ids       *interner
	// rank is what a run ranks, as it is judged: documents, passages or chunks.
	rank   func(artifact.Run) ([][]uint32, error)
	grades func(place int, q golden.Question) []metric.Grade
	// parts, stands and spans are there for relevance by document, by chunk and by
	// span: see [wholes]; the names under which judged chunks are ranked, where those
	// are others'; the spans.
	parts  *wholes
	stands map[string]string
	spans  *metric.Spans
}

// grading reads what decides which items are relevant.
func (j judging) grading(in inputs, questions []golden.Question) (*grading, error) {
	g := &grading{questions: questions, ids: newInterner()}
	g.rank = g.ids.rankings
	// A corpus may have very many chunks: those of other documents are not kept.
	judged := map[string]bool{}
	for _, q := range questions {
		for _, r := range q.Relevant {
			judged[r.Doc], judged[artifact.DocumentOf(r.Doc)] = true, true
		}
	}
	switch j.relevance {
	case "document":
		return g, j.byDocument(in, g)
	case "span":
		return g, j.bySpan(in, g, judged)
	case "chunk":
		return g, j.byChunk(in, g, judged)
	}
	return nil, fmt.Errorf("there is no relevance %q", j.relevance)
}

// byDocument collapses each ranking of chunks to documents, or to the wholes that
// these are parts of, first occurrence first, before anything is cut.
func (j judging) byDocument(in inputs, g *grading) (err error) {
	if j.within {
		if g.parts, err = readWholes(in); err != nil {
			return err
		}
	}
	g.rank = func(run artifact.Run) ([][]uint32, error) {
		rankings := make([][]uint32, len(run.Questions))
		for i, chunks := range run.Chunks {
			var err error
			if rankings[i], err = g.ids.collapse(chunks, g.parts); err != nil {
				return nil, fmt.Errorf("question %s: %w", run.Questions[i], err)
			}
		}
		return rankings, nil
	}
	g.grades = func(_ int, q golden.Question) []metric.Grade {
		return metric.Documents(renamed(q, g.parts.of), g.ids.find)
	}
	return nil
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

// byChunk takes the judged ids for chunks' names. A chunk that is returned in a
// passage stands for the passage, whichever of its chunks is judged.
func (j judging) byChunk(in inputs, g *grading, judged map[string]bool) error {
	g.stands = map[string]string{}
	for chunk, err := range j.chunks(in) {
		if err != nil {
			return err
		}
		if !judged[chunk.Doc] {
			continue
		}
		ranked := rankedName(chunk)
		g.ids.id(ranked)
		if name := artifact.ChunkName(chunk.Doc, chunk.N); name != ranked {
			g.stands[name] = ranked
		}
	}
	g.grades = func(_ int, q golden.Question) []metric.Grade {
		return metric.Documents(renamed(q, g.rankedAs), g.ids.find)
	}
	return nil
}

// rankedAs is the name under which a judged chunk is ranked.
func (g *grading) rankedAs(judged string) string {
	if ranked, ok := g.stands[judged]; ok {
		return ranked
	}
	return judged
}

// unknown counts the judgements of chunks that there are none of.
func (g *grading) unknown() (count int, example string) {
	for _, q := range g.questions {
		for _, r := range q.Relevant {
			if name := g.rankedAs(r.Doc); !g.ids.has(name) {
				count++
				example = cmp.Or(example, name)
			}
		}
	}
	return count, example
}

// bySpan takes a chunk for relevant when it holds enough of the answer span.
func (j judging) bySpan(in inputs, g *grading, judged map[string]bool) (err error) {
	if g.spans, err = metric.NewSpans(g.questions, j.coverage); err != nil {
		return &engine.InputError{Err: err}
	}
	for chunk, err := range j.chunks(in) {
		if err != nil {
			return err
		}
		if !judged[chunk.Doc] {
			continue
		}
		g.spans.Add(g.ids.id(rankedName(chunk)), chunk)
	}
	g.grades = func(place int, _ golden.Question) []metric.Grade {
		return g.spans.Judgements(place, j.unreachable)
	}
	return nil
}

// judge holds a run against what is relevant, by question.
func (g *grading) judge(run artifact.Run) ([]metric.Judged, error) {
	rankings, err := g.rank(run)
	if err != nil {
		return nil, err
	}
	judge, by := metric.NewJudge(len(g.ids.ids)), run.By()
	out := make([]metric.Judged, len(g.questions))
	for i, q := range g.questions {
		var ranking []uint32
		if at, ok := by[q.ID]; ok {
			ranking = rankings[at]
		}
		if out[i], err = judge.Judge(ranking, g.grades(i, q)); err != nil {
			return nil, fmt.Errorf("question %s: %w", q.ID, err)
		}
	}
	return out, nil
}

// chunks yields the chunks of all shards, those of a document together and in
// their order.
func (j judging) chunks(in inputs) func(yield func(axes.Chunk, error) bool) {
	return func(yield func(axes.Chunk, error) bool) {
		for i := range j.shards {
			r, err := in.Open(shardName("chunks", i))
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

func (n *interner) has(s string) bool {
	_, ok := n.ids[s]
	return ok
}

// rankings are a run's.
func (n *interner) rankings(run artifact.Run) ([][]uint32, error) {
	rankings := make([][]uint32, len(run.Questions))
	for i, chunks := range run.Chunks {
		for _, c := range chunks {
			rankings[i] = append(rankings[i], n.id(c))
		}
	}
	return rankings, nil
}

// collapse ranks the documents of chunks, or the wholes that these are parts of,
// each where its first chunk stands. A chunk that is ranked twice is an error:
// credit would be given twice.
func (n *interner) collapse(chunks []string, parts *wholes) ([]uint32, error) {
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

func readJudgements(in inputs) ([]golden.Question, error) {
	raw, err := in.Bytes("judgements")
	if err != nil {
		return nil, err
	}
	return parseJudgements(raw)
}

func parseJudgements(raw []byte) ([]golden.Question, error) {
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
