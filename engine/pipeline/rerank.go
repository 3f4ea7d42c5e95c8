package pipeline

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"raglab/axes"
	"raglab/axes/reranker"
	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/internal/web"
)

// rerankWork is the work of a rerank stage.
type rerankWork struct {
	reranker reranker.Reranker
	shards   int
	// pairs remembers what pairs of question and passage scored; nil for rerankers
	// that score none.
	pairs *pairMemory
	// scorer scores new pairs: the reranker itself, or one that gives the same.
	scorer reranker.PairScorer
}

// rerankKind reorders or shortens a run.
var (
	rerankKindPure     = &engine.Kind{Name: "rerank", Version: "1", Outputs: []string{"run"}, Pure: true, Run: runRerank}
	rerankKindVolatile = &engine.Kind{
		Name: "rerank", Version: "1", Outputs: []string{"run"}, Run: runRerank, Forecast: forecastRerank, Same: sameRankings,
	}
)

func runRerank(ctx context.Context, t *engine.Task) error {
	w := t.Work.(rerankWork)
	in, err := w.read(t)
	if err != nil {
		return err
	}
	var run *runBuilder
	if scorer, ok := w.reranker.(reranker.PairScorer); ok && w.pairs != nil {
		run, err = w.rerankPairs(ctx, t, scorer, in)
	} else {
		run, err = w.rerankAll(ctx, t, in)
	}
	if err != nil {
		return serverError(err)
	}
	return writeRun(t, run.Run)
}

// serverError marks what may pass of the errors of a kind that asks a server, and what
// the user can mend.
func serverError(err error) error {
	if web.IsTemporary(err) {
		return engine.Transient(err)
	}
	return passing(err)
}

// rerankInput is what a rerank stage reads.
type rerankInput struct {
	queries []axes.Query
	run     artifact.Run
	places  map[string]int // of the run, by question
	texts   chunkTexts
}

func (w rerankWork) read(t *engine.Task) (*rerankInput, error) {
	in := &rerankInput{}
	var err error
	if in.queries, err = readQueries(t); err != nil {
		return nil, err
	}
	if in.run, err = readRun(t, "run"); err != nil {
		return nil, err
	}
	in.places = in.run.By()
	if w.reranker.UsesText() {
		in.texts, err = readTexts(t, w.shards, in.run)
	}
	return in, err
}

// hits are those of a question, with the names of their chunks.
func (in *rerankInput) hits(q axes.Query) ([]axes.Hit, func(uint32) (string, error)) {
	names := map[uint32]string{}
	at, ok := in.places[q.ID]
	if !ok {
		return nil, nameIn(names)
	}
	for j, h := range in.run.Hits[at] {
		names[h.Ordinal] = in.run.Chunks[at][j]
	}
	return in.run.Hits[at], nameIn(names)
}

// rerankAll asks the reranker for each question's new ranking.
func (w rerankWork) rerankAll(ctx context.Context, t *engine.Task, in *rerankInput) (*runBuilder, error) {
	run := newRun(len(in.queries))
	latency := make(map[string]float64, len(in.queries))
	for i, q := range in.queries {
		hits, name := in.hits(q)
		start := time.Now()
		reranked, err := w.reranker.Rerank(ctx, q, hits, in.texts.text)
		latency[q.ID] = milliseconds(time.Since(start))
		if err != nil {
			return nil, fmt.Errorf("rerank question %s: %w", q.ID, err)
		}
		if err := run.add(q.ID, reranked, name); err != nil {
			return nil, err
		}
		t.Progress(i+1, len(in.queries), "questions")
	}
	t.Measure("latency_ms", latency)
	return run, nil
}

// scoreTolerance is how far a score made again may be from the one in the cache,
// absolutely or as a share of it: batches and machines round differently.
const scoreTolerance = 1e-3

// sameRankings holds the scores of two rankings against each other by chunk: hits
// whose scores are nearly equal may have changed places.
func sameRankings(_ string, old, again io.Reader) error {
	runs, err := twoRuns(old, again)
	if err != nil {
		return err
	}
	if len(runs[0].Questions) != len(runs[1].Questions) {
		return fmt.Errorf("%d questions have results in the cache, %d made again", len(runs[0].Questions), len(runs[1].Questions))
	}
	at := runs[1].By()
	for i, id := range runs[0].Questions {
		j, ok := at[id]
		if !ok {
			return fmt.Errorf("question %s has no results made again", id)
		}
		if err := sameScores(runs[0].Hits[i], runs[1].Hits[j]); err != nil {
			return fmt.Errorf("question %s: %w", id, err)
		}
	}
	return nil
}

func sameScores(old, again []axes.Hit) error {
	if len(old) != len(again) {
		return fmt.Errorf("%d hits in the cache, %d made again", len(old), len(again))
	}
	scores := make(map[uint32]float64, len(again))
	for _, h := range again {
		scores[h.Ordinal] = h.Score
	}
	for _, h := range old {
		s, ok := scores[h.Ordinal]
		if !ok {
			return fmt.Errorf("chunk %d is not found again", h.Ordinal)
		}
		if !(math.Abs(s-h.Score) <= scoreTolerance*max(1, math.Abs(h.Score))) {
			return fmt.Errorf("chunk %d scores %g in the cache, %g made again", h.Ordinal, h.Score, s)
		}
	}
	return nil
}
