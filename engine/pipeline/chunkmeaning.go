package pipeline

import (
	"context"
	"fmt"
	"io"

	"raglab/axes"
	"raglab/axes/chunker"
	"raglab/engine"
	"raglab/engine/artifact"
)

// listed are the documents of a shard with the texts whose embeddings decide where
// they are cut, those of all documents in one list: batches are fuller so.
type listed struct {
	cutter    chunker.Embedded
	documents []axes.Document
	texts     []string
	ends      []int // in texts, by document
}

func (w chunkWork) list(ctx context.Context, t *engine.Task) (*listed, error) {
	made, err := w.make()
	if err != nil {
		return nil, err
	}
	cutter, ok := made.(chunker.Embedded)
	if !ok {
		return nil, fmt.Errorf("chunker %T asks for an embedder and does not cut by meaning", made)
	}
	l := &listed{cutter: cutter}
	for doc, err := range documentsOf(ctx, t) {
		if err != nil {
			return nil, err
		}
		texts, err := cutter.Sentences(doc)
		if err != nil {
			return nil, fmt.Errorf("find sentences of document %q: %w", doc.ID, err)
		}
		l.documents = append(l.documents, doc)
		l.texts = append(l.texts, texts...)
		l.ends = append(l.ends, len(l.texts))
	}
	return l, nil
}

// runChunkByMeaning embeds the sentences of a shard and cuts by the vectors. What
// was embedded is remembered, whether or not the stage comes to its end.
func runChunkByMeaning(ctx context.Context, t *engine.Task) error {
	w := t.Work.(chunkWork)
	l, err := w.list(ctx, t)
	if err != nil {
		return err
	}
	vectors, made, err := w.embed.vectors(ctx, t, l.texts)
	if err != nil {
		return err
	}
	all, err := countTokens(*w.embed, l.texts, made)
	if err != nil {
		return err
	}
	made.measure(t, *w.embed, len(l.texts))
	t.Measure("embed_tokens", all.Tokens)
	t.Measure("tokens_estimated", all.Estimated)
	return l.cut(ctx, t, vectors)
}

// cut writes the chunks.
func (l *listed) cut(ctx context.Context, t *engine.Task, vectors [][]float32) error {
	out, err := newChunkWriter(t)
	if err != nil {
		return err
	}
	from := 0
	for i, doc := range l.documents {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		chunks, err := l.cutter.Cut(doc, vectors[from:l.ends[i]])
		if err != nil {
			return fmt.Errorf("chunk document %q: %w", doc.ID, err)
		}
		if err := out.write(chunks); err != nil {
			return err
		}
		from = l.ends[i]
	}
	return out.close(t)
}

// forecastChunk counts the texts that are not remembered.
func forecastChunk(ctx context.Context, t *engine.Task) (engine.Forecast, error) {
	w := t.Work.(chunkWork)
	l, err := w.list(ctx, t)
	if err != nil {
		return engine.Forecast{}, err
	}
	return w.embed.forecast(ctx, l.texts)
}

// chunkTolerance is the share of the chunks in the cache that must be cut alike when
// their sentences are embedded again: a distance that rounding moves across the
// threshold moves the chunks beside it.
const chunkTolerance = 0.95

func sameChunks(_ string, old, again io.Reader) error {
	had, err := placesOf(old)
	if err != nil {
		return err
	}
	now, err := placesOf(again)
	if err != nil {
		return err
	}
	found := 0
	for place := range had {
		if now[place] {
			found++
		}
	}
	if float64(found) < chunkTolerance*float64(max(len(had), len(now))) {
		return fmt.Errorf("of %d chunks in the cache and %d made again %d are the same", len(had), len(now), found)
	}
	return nil
}

// place is where a chunk stands in its document.
type place struct {
	doc        string
	start, end int
}

func placesOf(r io.Reader) (map[place]bool, error) {
	places := map[place]bool{}
	for chunk, err := range artifact.ReadLines[axes.Chunk](io.NopCloser(r)) {
		if err != nil {
			return nil, fmt.Errorf("read chunks: %w", err)
		}
		places[place{chunk.Doc, chunk.Start, chunk.End}] = true
	}
	return places, nil
}
