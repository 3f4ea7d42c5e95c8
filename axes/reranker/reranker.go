// Package reranker holds the kinds of reranker: what happens to a ranking
// before it is scored.
package reranker

import (
	"context"

	"raglab/axes"
)

// Reranker reorders or shortens a ranking. Safe for concurrent use. What holds a
// model open is an [io.Closer] besides.
type Reranker interface {
	// UsesText tells whether Rerank calls passage.
	UsesText() bool
	// Rerank returns the new ranking of the question's hits, ordered as
	// [axes.Hit] says. The function passage gives the text that a chunk is
	// judged by.
	Rerank(ctx context.Context, q axes.Query, hits []axes.Hit, passage func(ordinal uint32) (string, error)) ([]axes.Hit, error)
}

// Kinds are the kinds of this factor.
var Kinds = []axes.Kind[Reranker]{
	none,
	crossEncoder,
	overHTTP,
	threshold,
}
