// Package retriever holds the kinds of retriever: how chunks are found. A leaf
// builds an index over chunks and searches it; a fuser merges the rankings of
// other retrievers, its legs.
package retriever

import (
	"context"
	"io"
	"iter"
	"slices"

	"raglab/axes"
	"raglab/axes/text"
)

// Uses tells which inputs a leaf reads. What it does not read cannot change its
// key: that is how rows become inert.
type Uses struct {
	Text    bool // the chunks' indexed text and the text kind's analyzer
	Vectors bool // the embedder's vectors
}

// Corpus is what an index is built over. The ordinal of a chunk is its place in
// the sequences, from 0; both have Len entries and may be read more than once.
type Corpus interface {
	Len() int
	// Texts yields each chunk's indexed text.
	Texts() iter.Seq2[string, error]
	// Vectors returns the embeddings, row by row, Len × dim; nil when the leaf
	// does not use vectors.
	Vectors() (rows []float32, dim int)
}

// Leaf is a retriever with an index of its own.
type Leaf interface {
	Uses() Uses
	// Build writes the index. The bytes are a function of the corpus, the
	// analyzer and the parameters alone unless the kind is volatile.
	Build(ctx context.Context, corpus Corpus, analyzer text.Analyzer, w io.Writer) error
	// Open reads an index that Build wrote, of the given size in bytes.
	Open(ctx context.Context, r io.Reader, size int64, analyzer text.Analyzer) (Searcher, error)
}

// Searcher ranks the chunks of an open index. Safe for concurrent use.
type Searcher interface {
	// Search appends the best depth hits to dst, ordered as [axes.Hit] says,
	// and returns it. A question that matches nothing gives no hit.
	Search(ctx context.Context, q axes.Query, depth int, dst []axes.Hit) ([]axes.Hit, error)
	Close() error
}

// BatchSearcher is implemented by searchers that answer many questions at once
// faster than one by one, with the same hits and scores.
type BatchSearcher interface {
	SearchBatch(ctx context.Context, qs []axes.Query, depth int) ([][]axes.Hit, error)
}

// Fuser merges the rankings that its legs gave for one question.
type Fuser interface {
	// Legs are the labels of the retriever options to merge, in order.
	Legs() []string
	// Fuse returns the best depth of the merged ranking.
	Fuse(legs [][]axes.Hit, depth int) []axes.Hit
}

// Leaves are the kinds of this factor that have an index.
var Leaves = []axes.Kind[Leaf]{
	bm25,
	exact,
	pgVector,
	tsVector,
}

// Fusers are the kinds of this factor that merge others.
var Fusers = []axes.Kind[Fuser]{
	rrf,
	weighted,
}

// Kinds describes the kinds of this factor, leaves first.
var Kinds = slices.Concat(axes.Describe(Leaves), axes.Describe(Fusers))
