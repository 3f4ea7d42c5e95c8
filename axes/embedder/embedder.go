// Package embedder holds the kinds of embedder: how chunks and questions become
// vectors.
//
// Two vectors may be compared, and a vector remembered for a text, when they come
// from one space. What makes a space is in a kind's version, its parameters and
// the digests of what it needs: the model file, the library that runs it (its
// provider is the CPU), the precision of the graph, how batches are formed, the
// prefix, the pooling.
package embedder

import (
	"context"

	"raglab/axes"
)

// Embedder turns texts into vectors. Safe for concurrent use.
type Embedder interface {
	// EmbedPassages returns a vector for each text, in order. The function
	// progress, which may be nil, is told how many are done; its calls do not
	// overlap. The order of the texts does not change a vector but by rounding.
	EmbedPassages(ctx context.Context, texts []string, progress func(done int)) ([][]float32, Stats, error)
	// EmbedQuery returns the vector of a question.
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
	// Close frees the model. No other method may be called afterwards.
	Close() error
}

// TokenCounter is implemented by embedders that can count tokens without
// embedding.
type TokenCounter interface {
	// CountPassages counts the tokens that EmbedPassages would give the model.
	CountPassages(texts []string) (Stats, error)
}

// Stats counts what an embedder was given.
type Stats struct {
	Texts, Tokens int
	// Truncated counts texts that were longer than the model takes.
	Truncated int
}

// Kinds are the kinds of this factor.
var Kinds = []axes.Kind[Embedder]{ONNX()}
