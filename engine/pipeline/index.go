package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"raglab/axes/retriever"
	"raglab/axes/text"
	"raglab/engine"
	"raglab/internal/param"
	"raglab/internal/pg"
)

// indexWork is the work of an index stage.
type indexWork struct {
	leaf     retriever.Leaf
	analyzer text.Analyzer
	shards   shardRange
}

// indexKind builds an index over the chunks of all shards, or of those of a part, in
// corpus order. The output chunks names the chunk of each ordinal. Of a resident leaf the output
// index is the manifest: a function of the key, so that what was built again
// leaves all that follows as it is.
func indexKind(pure bool) *engine.Kind {
	return &engine.Kind{Name: "index", Version: "1", Outputs: []string{"index", "chunks"}, Pure: pure, Run: runIndex}
}

var (
	indexKindPure     = indexKind(true)
	indexKindVolatile = indexKind(false)
)

func runIndex(ctx context.Context, t *engine.Task) error {
	w := t.Work.(indexWork)
	if err := text.Open(ctx, w.analyzer); err != nil {
		return err
	}
	order, err := readOrder(t)
	if err != nil {
		return err
	}
	corpus := &indexCorpus{ctx: ctx, t: t, order: order, shards: w.shards}
	if w.leaf.Uses().Vectors {
		if err := corpus.loadVectors(); err != nil {
			return err
		}
	}
	if err := w.build(ctx, t, corpus); err != nil {
		return fmt.Errorf("build index: %w", passing(corpus.named(cmp.Or(corpus.err, err))))
	}
	table, err := corpus.table()
	if err != nil {
		return err
	}
	t.Measure("chunks", table.chunks)
	return t.Write("chunks", table.encode())
}

// build builds the index and measures its parts.
func (w indexWork) build(ctx context.Context, t *engine.Task, corpus *indexCorpus) error {
	out, err := t.Create("index")
	if err != nil {
		return err
	}
	clock, analyzer := clocked(w.analyzer)
	clock.counter, _ = w.analyzer.(text.Counter)
	if leaf, ok := w.leaf.(retriever.Resident); ok {
		err = buildResident(ctx, t, leaf, corpus, clock, analyzer, out)
	} else {
		err = w.buildInProcess(ctx, t, corpus, clock, analyzer, out)
	}
	if err == nil {
		clock.measureWords(t)
	}
	return err
}

// buildInProcess writes an index into the cache.
func (w indexWork) buildInProcess(ctx context.Context, t *engine.Task, corpus *indexCorpus, clock *textClock, analyzer text.Analyzer, out io.Writer) error {
	counted := &countingWriter{w: out}
	start := time.Now()
	if err := w.leaf.Build(ctx, corpus, analyzer, counted); err != nil {
		return err
	}
	t.Measure("index_bytes", counted.n)
	t.Measure("build_seconds", (time.Since(start) - clock.time() - clock.counting()).Seconds())
	clock.measureTime(t, len(corpus.order))
	return nil
}

// buildResident has a leaf make its table under the stage's key. What a table that
// is there cost to make is not known now: a record that has it stays.
func buildResident(ctx context.Context, t *engine.Task, leaf retriever.Resident, corpus *indexCorpus, clock *textClock, analyzer text.Analyzer, out io.Writer) error {
	m, err := leaf.BuildAs(ctx, t.Key.String(), corpus, analyzer, out)
	if err != nil {
		return err
	}
	t.Measure("index_bytes", m.IndexBytes)
	t.Measure("heap_bytes", m.HeapBytes)
	t.Measure("server", m.Server)
	if m.Skipped > 0 {
		t.Warn("%d chunks have a vector of zeros, which the index cannot hold: no search finds them", m.Skipped)
	}
	if m.Dropped > 0 {
		t.Warn("%d terms are too long for the index and were left out", m.Dropped)
	}
	if !m.Built {
		t.Found()
		return nil
	}
	t.Measure("copy_seconds", m.Copy.Seconds())
	t.Measure("build_seconds", m.Index.Seconds())
	clock.measureTime(t, len(corpus.order))
	return nil
}

// passing marks what failed in a database and may succeed later as it is, as where
// raglab's schema was dropped, which the next attempt makes again, and what a
// parameter must change.
func passing(err error) error {
	var p *param.Error
	switch {
	case pg.IsTransient(err), errors.Is(err, pg.ErrNoTable):
		return engine.Transient(err)
	case errors.As(err, &p):
		return &engine.InputError{Err: err}
	}
	return err
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
