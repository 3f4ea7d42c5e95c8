package pipeline

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"raglab/axes"
	"raglab/axes/retriever"
	"raglab/engine"
	"raglab/engine/artifact"
)

// indexCorpus is the corpus as retrievers see it. What a first pass over the
// chunks finds out is kept, so that a leaf that reads all texts before it asks how
// many they are has them decoded once. Not safe for concurrent use.
type indexCorpus struct {
	ctx    context.Context
	t      *engine.Task
	order  []string
	shards shardRange
	tab    *table // once all chunks have been seen
	err    error  // why they could not be counted
	rows   []float32
	dim    int
}

var _ retriever.Corpus = (*indexCorpus)(nil)

// Len implements [retriever.Corpus]. When the chunks cannot be read it is 0, and
// err says why.
func (c *indexCorpus) Len() int {
	tab, err := c.table()
	if err != nil {
		c.err = err
		return 0
	}
	return tab.chunks
}

// Texts implements [retriever.Corpus].
func (c *indexCorpus) Texts() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for chunk, err := range c.chunks() {
			if !yield(chunk.Indexed(), err) {
				return
			}
		}
	}
}

// Vectors implements [retriever.Corpus].
func (c *indexCorpus) Vectors() ([]float32, int) { return c.rows, c.dim }

// named says of a chunk that an index cannot hold which document it is of: leaves
// know ordinals alone.
func (c *indexCorpus) named(err error) error {
	chunk, ok := errors.AsType[*retriever.ChunkError](err)
	if !ok {
		return err
	}
	tab, failed := c.table()
	if failed != nil {
		return err
	}
	names, failed := parseTable(tab.encode())
	if failed != nil || chunk.Ordinal < 0 || chunk.Ordinal >= names.chunks {
		return err
	}
	name, failed := names.name(uint32(chunk.Ordinal))
	if failed != nil {
		return err
	}
	return fmt.Errorf("chunk %s: %w", name, chunk.Err)
}

// table lists the chunks, which takes a pass over them unless there was one.
func (c *indexCorpus) table() (*table, error) {
	if c.tab != nil {
		return c.tab, nil
	}
	for _, err := range c.chunks() {
		if err != nil {
			return nil, err
		}
	}
	return c.tab, nil
}

// chunks yields all chunks by ordinal and ends at an error.
func (c *indexCorpus) chunks() iter.Seq2[axes.Chunk, error] {
	return func(yield func(axes.Chunk, error) bool) {
		tab, last, documents := newTable(c.order, c.shards), "", 0
		for chunk, err := range chunksInOrder(c.t, c.order, c.shards) {
			if err == nil && c.ctx.Err() != nil {
				err = context.Cause(c.ctx)
			}
			if err == nil {
				err = tab.add(chunk)
			}
			if !yield(chunk, err) || err != nil {
				return
			}
			if chunk.Doc != last || tab.chunks == 1 {
				last = chunk.Doc
				documents++
				c.t.Progress(documents, len(c.order), "documents")
			}
		}
		c.tab = tab
	}
}

// loadVectors brings the shards' vectors into corpus order, one shard at a time:
// with all of them held beside what they become, the corpus would be there twice.
func (c *indexCorpus) loadVectors() error {
	tab, err := c.table()
	if err != nil {
		return err
	}
	for i := range c.shards.n {
		m, err := readMatrix(c.t, shardName("vectors", i))
		if err != nil {
			return err
		}
		if m.Rows != tab.perShard[i] {
			return fmt.Errorf("shard %d: %d chunks have %d vectors", i, tab.perShard[i], m.Rows)
		}
		if m.Rows == 0 {
			continue
		}
		if c.dim == 0 {
			c.dim, c.rows = m.Dim, make([]float32, tab.chunks*m.Dim)
		}
		if m.Dim != c.dim {
			return fmt.Errorf("shard %d: vectors of %d numbers among vectors of %d", i, m.Dim, c.dim)
		}
		c.place(m, uint8(i), tab)
	}
	return nil
}

// place copies a shard's vectors to where its chunks are.
func (c *indexCorpus) place(m artifact.Matrix, shard uint8, tab *table) {
	next := 0
	for ordinal, s := range tab.shardOf {
		if s == shard {
			copy(c.rows[ordinal*c.dim:(ordinal+1)*c.dim], m.Row(next))
			next++
		}
	}
}
