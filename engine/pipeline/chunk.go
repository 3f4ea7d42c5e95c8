package pipeline

import (
	"context"
	"fmt"
	"iter"

	"raglab/axes"
	"raglab/axes/chunker"
	"raglab/engine"
	"raglab/engine/artifact"
)

// chunkWork is the work of a chunk stage.
type chunkWork struct {
	make func() (chunker.Chunker, error)
	// embed makes the vectors of a chunker that cuts by meaning; else nil.
	embed *embedWork
}

// chunkKind cuts the documents of one shard. Cheap chunkers may run in a plan.
func chunkKind(cheap bool) *engine.Kind {
	return &engine.Kind{Name: "chunk", Version: "1", Outputs: []string{"chunks"}, Pure: true, Cheap: cheap, Run: runChunk}
}

var (
	chunkKindCheap = chunkKind(true)
	chunkKindModel = chunkKind(false) // counts tokens with a model's tokenizer

	// chunkKindEmbedder is that of chunkers that cut by meaning.
	chunkKindEmbedder = &engine.Kind{
		Name: "chunk", Version: "1", Outputs: []string{"chunks"}, Steady: true,
		Run: runChunkByMeaning, Forecast: forecastChunk, Same: sameChunks,
	}
)

func runChunk(ctx context.Context, t *engine.Task) error {
	cutter, err := t.Work.(chunkWork).make()
	if err != nil {
		return err
	}
	out, err := newChunkWriter(t)
	if err != nil {
		return err
	}
	for doc, err := range documentsOf(ctx, t) {
		if err != nil {
			return err
		}
		chunks, err := cutter.Chunk(doc)
		if err != nil {
			return fmt.Errorf("chunk document %q: %w", doc.ID, err)
		}
		if err := out.write(chunks); err != nil {
			return err
		}
	}
	return out.close(t)
}

// documentsOf yields the documents of a shard.
func documentsOf(ctx context.Context, t *engine.Task) iter.Seq2[axes.Document, error] {
	return func(yield func(axes.Document, error) bool) {
		in, err := t.Open("documents")
		if err != nil {
			yield(axes.Document{}, err)
			return
		}
		for doc, err := range artifact.ReadLines[axes.Document](in) {
			switch {
			case err != nil:
				err = fmt.Errorf("read documents: %w", err)
			case ctx.Err() != nil:
				err = context.Cause(ctx)
			}
			if !yield(doc, err) || err != nil {
				return
			}
		}
	}
}

// chunkWriter writes the chunks of a shard and counts them.
type chunkWriter struct {
	lines  *artifact.Lines
	tokens int
}

func newChunkWriter(t *engine.Task) (*chunkWriter, error) {
	f, err := t.Create("chunks")
	if err != nil {
		return nil, err
	}
	lines, err := artifact.NewLines(f)
	return &chunkWriter{lines: lines}, err
}

func (w *chunkWriter) write(chunks []axes.Chunk) error {
	for _, c := range chunks {
		w.tokens += c.Tokens
		if err := w.lines.Write(c); err != nil {
			return err
		}
	}
	return nil
}

func (w *chunkWriter) close(t *engine.Task) error {
	t.Measure("chunks", w.lines.Len())
	t.Measure("tokens", w.tokens)
	return w.lines.Close()
}
