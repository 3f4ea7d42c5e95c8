package pipeline

import (
	"context"
	"fmt"

	"raglab/axes"
	"raglab/axes/chunker"
	"raglab/engine"
	"raglab/engine/artifact"
)

// chunkWork is the work of a chunk stage.
type chunkWork struct {
	make func() (chunker.Chunker, error)
}

// chunkKind cuts the documents of one shard. Cheap chunkers may run in a plan.
func chunkKind(cheap bool) *engine.Kind {
	return &engine.Kind{Name: "chunk", Version: "1", Outputs: []string{"chunks"}, Pure: true, Cheap: cheap, Run: runChunk}
}

var (
	chunkKindCheap = chunkKind(true)
	chunkKindModel = chunkKind(false) // counts tokens with a model's tokenizer
)

func runChunk(ctx context.Context, t *engine.Task) error {
	cutter, err := t.Work.(chunkWork).make()
	if err != nil {
		return err
	}
	in, err := t.Open("documents")
	if err != nil {
		return err
	}
	f, err := t.Create("chunks")
	if err != nil {
		return err
	}
	out, err := artifact.NewLines(f)
	if err != nil {
		return err
	}
	var tokens []int
	for doc, err := range artifact.ReadLines[axes.Document](in) {
		if err != nil {
			return fmt.Errorf("read documents: %w", err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		chunks, err := cutter.Chunk(doc)
		if err != nil {
			return fmt.Errorf("chunk document %q: %w", doc.ID, err)
		}
		for _, c := range chunks {
			tokens = append(tokens, c.Tokens)
			if err := out.Write(c); err != nil {
				return err
			}
		}
	}
	t.Measure("chunks", out.Len())
	t.Measure("tokens", sum(tokens))
	return out.Close()
}

func sum(xs []int) int {
	n := 0
	for _, x := range xs {
		n += x
	}
	return n
}
