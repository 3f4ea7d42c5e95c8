package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
// question's latency is what a user would feel. An approximate index comes out
// different each time that it is built, and with it what is found.
var (
	searchKindPure     = &engine.Kind{Name: "search", Version: "1", Outputs: []string{"run"}, Pure: true, Run: runSearch}
	searchKindVolatile = &engine.Kind{Name: "search", Version: "1", Outputs: []string{"run"}, Run: runSearch, Same: sameRuns}
)

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
	chunks, err := mapTable(t)
	if err != nil {
		return err
	}
	defer func() { _ = chunks.Close() }()
	s, err := w.open(ctx, t, chunks.chunkTable)
	if err != nil {
		return err
	}
	defer func() { _ = s.index.Close() }()
	for _, q := range queries[:min(warmUp, len(queries))] {
		if _, _, err := s.search(ctx, q); err != nil {
			return err
		}
	}
	run, err := s.searchAll(ctx, queries)
	if err != nil {
		return err
	}
	s.warnShort(run, chunks.chunksFor(w.depth, chunks.chunks))
	return writeRun(t, run.Run)
}

// searchAll asks all questions and measures them.
func (s *openSearch) searchAll(ctx context.Context, queries []axes.Query) (*runBuilder, error) {
	run, empty := newRun(len(queries)), 0
	whole, inText := make(map[string]float64, len(queries)), make(map[string]float64, len(queries))
	for i, q := range queries {
		before, start := s.clock.empty.Load(), time.Now()
		hits, handling, err := s.search(ctx, q)
		whole[q.ID], inText[q.ID] = milliseconds(time.Since(start)), milliseconds(handling)
		if err != nil {
			return nil, err
		}
		if s.blank(q, s.clock.empty.Load() > before) {
			empty++
		}
		if err := run.add(q.ID, hits, s.chunks.name); err != nil {
			return nil, err
		}
		s.t.Progress(i+1, len(queries), "questions")
	}
	s.t.Measure("latency_ms", whole)
	if s.clock.texts.Load() > 0 {
		s.t.Measure("text_ms", inText)
		s.t.Measure("empty_questions", empty)
	}
	return run, nil
}

// openSearch is an open index with a clock in its text handling.
type openSearch struct {
	index  retriever.Searcher
	clock  *textClock
	chunks *chunkTable
	depth  int // of the ranking
	asked  int // of the index, so that passages of several chunks fill the ranking
	t      *engine.Task
}

func (w searchWork) open(ctx context.Context, t *engine.Task, chunks *chunkTable) (*openSearch, error) {
	clock, analyzer := clocked(w.analyzer)
	index, err := openIndex(ctx, t, w.leaf, analyzer)
	if err != nil {
		return nil, err
	}
	asked := askable(w.leaf, w.depth, chunks.chunksFor(w.depth, chunks.chunks))
	return &openSearch{index, clock, chunks, w.depth, asked, t}, nil
}

// openIndex opens the input index, read once and held once; or, where there is none,
// its parts, the inputs index-000 and so on, mapped into memory.
func openIndex(ctx context.Context, t *engine.Task, leaf retriever.Leaf, analyzer text.Analyzer) (retriever.Searcher, error) {
	if t.Size("index") == 0 && t.Size("ordinals") > 0 {
		return openParts(ctx, t, leaf, analyzer)
	}
	r, err := t.Open("index")
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was read only
	index, err := leaf.Open(ctx, r, t.Size("index"), analyzer)
	if err != nil {
		return nil, fmt.Errorf("open index: %w", indexError(t, err))
	}
	// The bytes are verified at their end.
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, errors.Join(err, index.Close())
	}
	return index, nil
}

// search asks one question, and tells how much of the time was text handling.
func (s *openSearch) search(ctx context.Context, q axes.Query) ([]axes.Hit, time.Duration, error) {
	before := s.clock.time()
	hits, err := s.index.Search(ctx, q, s.asked, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("search for question %s: %w", q.ID, indexError(s.t, err))
	}
	return s.chunks.collapse(hits, s.depth), s.clock.time() - before, nil
}

// warnShort warns of rankings that ended early because the index could not be asked
// for the chunks that fill one with passages for sure.
func (s *openSearch) warnShort(run *runBuilder, sure int) {
	if s.asked == sure {
		return
	}
	short := 0
	for _, hits := range run.Hits {
		if len(hits) < s.depth {
			short++
		}
	}
	if short > 0 {
		s.t.Warn("%d of %d questions found fewer than %d passages: the index gives %d chunks at a time, and %d may be needed",
			short, len(run.Hits), s.depth, s.asked, sure)
	}
}

// blank reports whether nothing of a question was left to search for: by what the
// index says, else by whether text handling left no term.
func (s *openSearch) blank(q axes.Query, noTerm bool) bool {
	index := s.index
	if m, ok := index.(*mappedIndex); ok {
		index = m.Searcher
	}
	if b, ok := index.(retriever.Blanker); ok {
		return b.Blank(q)
	}
	return noTerm
}

// indexError tells an index that is gone from its store, which is made again, and
// what may pass from what is wrong with a search itself.
func indexError(t *engine.Task, err error) error {
	if errors.Is(err, retriever.ErrGone) {
		input := "index"
		if part, ok := errors.AsType[*retriever.PartError](err); ok {
			input = shardName(input, part.Part)
		}
		return t.Lost(input, err)
	}
	return passing(err)
}

// runTolerance is the share of a run's hits that another search of an approximate
// index must find again.
const runTolerance = 0.9

// twoRuns reads a run of the cache and the same made again.
func twoRuns(old, again io.Reader) (runs [2]artifact.Run, err error) {
	for i, r := range []io.Reader{old, again} {
		raw, err := io.ReadAll(r)
		if err != nil {
			return runs, err
		}
		if runs[i], err = artifact.ReadRun(raw); err != nil {
			return runs, err
		}
	}
	return runs, nil
}

func sameRuns(_ string, old, again io.Reader) error {
	runs, err := twoRuns(old, again)
	if err != nil {
		return err
	}
	had, found := 0, 0
	at := runs[1].By()
	for i, id := range runs[0].Questions {
		had += len(runs[0].Hits[i])
		j, ok := at[id]
		if !ok {
			continue
		}
		now := ordinals(runs[1].Hits[j])
		for _, h := range runs[0].Hits[i] {
			if now[h.Ordinal] {
				found++
			}
		}
	}
	if float64(found) < runTolerance*float64(had) {
		return fmt.Errorf("of %d hits in the cache a search finds %d again", had, found)
	}
	return nil
}

func ordinals(hits []axes.Hit) map[uint32]bool {
	set := make(map[uint32]bool, len(hits))
	for _, h := range hits {
		set[h.Ordinal] = true
	}
	return set
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
