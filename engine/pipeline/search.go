package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"raglab/axes"
	"raglab/axes/retriever"
	"raglab/axes/text"
	"raglab/engine"
	"raglab/engine/artifact"
)

// searchWork is the work of a search stage.
type searchWork struct {
	leaf     retriever.Leaf
	analyzer text.Analyzer
	depth    int
}

// searchKind asks an index every question, one at a time, so that each
// question's latency is what a user would feel.
var searchKind = &engine.Kind{Name: "search", Version: "1", Outputs: []string{"run"}, Pure: true, Run: runSearch}

// warmUp is how many questions are asked before latencies count.
const warmUp = 3

func runSearch(ctx context.Context, t *engine.Task) error {
	w := t.Work.(searchWork)
	if err := text.Open(ctx, w.analyzer); err != nil {
		return err
	}
	queries, err := readQueries(t)
	if err != nil {
		return err
	}
	chunks, err := readTable(t)
	if err != nil {
		return err
	}
	searcher, err := openIndex(ctx, t, w)
	if err != nil {
		return err
	}
	defer func() { _ = searcher.Close() }()
	for _, q := range queries[:min(warmUp, len(queries))] {
		if _, err := searcher.Search(ctx, q, w.depth, nil); err != nil {
			return fmt.Errorf("search for question %s: %w", q.ID, err)
		}
	}
	run := newRun(len(queries))
	latency := make(map[string]float64, len(queries))
	for i, q := range queries {
		start := time.Now()
		hits, err := searcher.Search(ctx, q, w.depth, nil)
		latency[q.ID] = milliseconds(time.Since(start))
		if err != nil {
			return fmt.Errorf("search for question %s: %w", q.ID, err)
		}
		if err := run.add(q.ID, hits, chunks.name); err != nil {
			return err
		}
		t.Progress(i+1, len(queries), "questions")
	}
	t.Measure("latency_ms", latency)
	return writeRun(t, run.Run)
}

func openIndex(ctx context.Context, t *engine.Task, w searchWork) (retriever.Searcher, error) {
	raw, err := t.Bytes("index")
	if err != nil {
		return nil, err
	}
	searcher, err := w.leaf.Open(ctx, bytes.NewReader(raw), int64(len(raw)), w.analyzer)
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	return searcher, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// readQueries reads the questions, with their vectors where the stage has them.
func readQueries(t *engine.Task) ([]axes.Query, error) {
	raw, err := t.Bytes("queries")
	if err != nil {
		return nil, err
	}
	var out []axes.Query
	dec := json.NewDecoder(bytes.NewReader(raw))
	for dec.More() {
		var q queryLine
		if err := dec.Decode(&q); err != nil {
			return nil, fmt.Errorf("read questions: %w", err)
		}
		out = append(out, axes.Query{ID: q.ID, Text: q.Text})
	}
	if t.Size("query_vectors") == 0 {
		return out, nil
	}
	vectors, err := readMatrix(t, "query_vectors")
	if err != nil {
		return nil, err
	}
	if vectors.Rows != len(out) {
		return nil, fmt.Errorf("%d questions have %d vectors", len(out), vectors.Rows)
	}
	for i := range out {
		out[i].Vector = vectors.Row(i)
	}
	return out, nil
}

func readMatrix(t *engine.Task, input string) (artifact.Matrix, error) {
	r, err := t.Open(input)
	if err != nil {
		return artifact.Matrix{}, err
	}
	defer func() { _ = r.Close() }()
	m, err := artifact.ReadMatrix(r, t.Size(input))
	if err != nil {
		return m, fmt.Errorf("input %s: %w", input, err)
	}
	return m, nil
}

// runBuilder collects rankings.
type runBuilder struct{ artifact.Run }

func newRun(n int) *runBuilder {
	return &runBuilder{artifact.Run{
		Questions: make([]string, 0, n), Hits: make([][]axes.Hit, 0, n), Chunks: make([][]string, 0, n),
	}}
}

// add appends the ranking of one question after checking its order.
func (r *runBuilder) add(id string, hits []axes.Hit, name func(uint32) (string, error)) error {
	names := make([]string, len(hits))
	for i, h := range hits {
		if i > 0 && !hits[i-1].Before(h) {
			return fmt.Errorf("question %s: hits %d and %d are out of order", id, i, i+1)
		}
		var err error
		if names[i], err = name(h.Ordinal); err != nil {
			return fmt.Errorf("question %s: %w", id, err)
		}
	}
	r.Questions = append(r.Questions, id)
	r.Hits = append(r.Hits, hits)
	r.Chunks = append(r.Chunks, names)
	return nil
}

func writeRun(t *engine.Task, run artifact.Run) error {
	w, err := t.Create("run")
	if err != nil {
		return err
	}
	return artifact.WriteRun(w, run)
}

func readRun(t *engine.Task, input string) (artifact.Run, error) {
	raw, err := t.Bytes(input)
	if err != nil {
		return artifact.Run{}, err
	}
	return artifact.ReadRun(raw)
}
