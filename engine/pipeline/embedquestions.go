package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"raglab/axes/embedder"
	"raglab/engine"
)

// embedQuestionsKind embeds the questions one at a time, as a user would ask
// them, so that their latency is measured. Nothing is remembered for that
// reason.
var embedQuestionsKind = &engine.Kind{
	Name: "embed_questions", Version: "1", Outputs: []string{"vectors"}, Run: runEmbedQuestions, Forecast: forecastEmbedQuestions, Same: sameVectors,
}

func runEmbedQuestions(ctx context.Context, t *engine.Task) error {
	w := t.Work.(embedWork)
	queries, err := readQueries(t)
	if err != nil {
		return err
	}
	model, err := w.make()
	if err != nil {
		return err
	}
	ask := counting(model)
	var given, warm embedder.Stats
	price, priced := w.price()
	if priced {
		// Also when the stage does not come to its end: it was paid.
		defer func() { t.Measure(engine.PaidUSD, float64(warm.Tokens+given.Tokens)*price/1000) }()
	}
	for _, q := range queries[:min(warmUp, len(queries))] {
		if _, err := ask(ctx, q.Text, &warm); err != nil {
			return serverError(fmt.Errorf("embed question %s: %w", q.ID, err))
		}
	}
	vectors := make([][]float32, len(queries))
	latency := make(map[string]float64, len(queries))
	for i, q := range queries {
		start := time.Now()
		if vectors[i], err = ask(ctx, q.Text, &given); err != nil {
			return serverError(fmt.Errorf("embed question %s: %w", q.ID, err))
		}
		latency[q.ID] = milliseconds(time.Since(start))
		t.Progress(i+1, len(queries), "questions")
	}
	if _, counted := model.(embedder.QueryCounter); counted {
		t.Measure("tokens", given.Tokens)
		t.Measure("tokens_estimated", given.Estimated)
		t.Measure("questions", len(queries))
	}
	if err := checkVectors(vectors, len(queries)); err != nil {
		return err
	}
	t.Measure("latency_ms", latency)
	return writeVectors(t, vectors)
}

// counting returns a function that embeds a question and adds up what that took,
// where the embedder tells.
func counting(model embedder.Embedder) func(ctx context.Context, text string, sum *embedder.Stats) ([]float32, error) {
	counter, ok := model.(embedder.QueryCounter)
	if !ok {
		return func(ctx context.Context, text string, _ *embedder.Stats) ([]float32, error) {
			return model.EmbedQuery(ctx, text)
		}
	}
	return func(ctx context.Context, text string, sum *embedder.Stats) ([]float32, error) {
		v, given, err := counter.EmbedQueryCounted(ctx, text)
		sum.Tokens, sum.Estimated = sum.Tokens+given.Tokens, sum.Estimated || given.Estimated
		return v, err
	}
}

// errNotBilled says that a stage has nothing to forecast.
var errNotBilled = errors.New("nobody bills for the questions")

// forecastEmbedQuestions tells what the questions cost; each is asked for, none is
// remembered.
func forecastEmbedQuestions(_ context.Context, t *engine.Task) (engine.Forecast, error) {
	w := t.Work.(embedWork)
	if price, known := w.price(); !known || price == 0 {
		return engine.Forecast{}, errNotBilled
	}
	queries, err := readQueries(t)
	if err != nil {
		return engine.Forecast{}, err
	}
	texts := make([]string, 0, len(queries)+warmUp)
	for _, q := range append(queries[:min(warmUp, len(queries)):len(queries)], queries...) {
		texts = append(texts, q.Text)
	}
	usd, err := w.usd(texts)
	return engine.Forecast{USD: usd}, err
}
