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
	// overlap. The order of the texts does not change a vector but by rounding. When
	// there is an error, the vectors that were made before it are returned, nil for
	// the others.
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

// QueryCounter is implemented by embedders that somebody bills for, to tell what a
// question took.
type QueryCounter interface {
	// EmbedQueryCounted is EmbedQuery, with what the embedder was given.
	EmbedQueryCounted(ctx context.Context, text string) ([]float32, Stats, error)
}

// Priced is implemented by embedders that somebody bills for.
type Priced interface {
	// Price is in USD for 1,000 tokens, and false when nobody said what it is.
	Price() (usd float64, known bool)
}

// Stats counts what an embedder was given.
type Stats struct {
	Texts, Tokens int
	// Estimated says that Tokens is reckoned from the length of the texts, because
	// whoever counted them did not say.
	Estimated bool
	// Truncated counts texts that were longer than the model takes.
	Truncated int
	// Rescaled counts vectors that a server gave with another length than 1 and
	// that were scaled to it.
	Rescaled int
}

// add sums up what two calls were given.
func (s Stats) add(o Stats) Stats {
	return Stats{
		Texts: s.Texts + o.Texts, Tokens: s.Tokens + o.Tokens, Estimated: s.Estimated || o.Estimated,
		Truncated: s.Truncated + o.Truncated, Rescaled: s.Rescaled + o.Rescaled,
	}
}

// Kinds are the kinds of this factor.
var Kinds = []axes.Kind[Embedder]{
	ONNX(),
	openAI,
	overHTTP,
}
