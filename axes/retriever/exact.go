package retriever

import (
	"context"
	"fmt"
	"io"

	"raglab/axes"
	"raglab/axes/retriever/dense"
	"raglab/axes/text"
)

// ExactParams are the parameters of the kind exact: there are none.
type ExactParams struct{}

var exact = axes.Define(axes.Meta{
	Name:    "exact",
	Version: "1",
	Summary: "Dense retrieval without approximation: the largest inner products with the question's vector.",
	Doc: `All chunks are compared. Scores are inner products of the float32 vectors,
computed in double precision in a fixed order, so that they are the same on every
machine; for vectors of length 1 they are cosines. Any ordinal may be a hit, also
with a score below 0. The index is the matrix of vectors as a .npy file.`,
}, func(_ ExactParams, env axes.Env) (Leaf, error) {
	return flat{max(env.Threads, 1)}, nil
})

// flat is the leaf of the kind exact.
type flat struct{ threads int }

func (flat) Uses() Uses { return Uses{Vectors: true} }

func (flat) Build(ctx context.Context, corpus Corpus, _ text.Analyzer, w io.Writer) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	rows, dim := corpus.Vectors()
	if n := corpus.Len(); len(rows) != n*dim || dim == 0 && n > 0 {
		return fmt.Errorf("the vectors are %d numbers of %d dimensions, which are not those of %d chunks", len(rows), dim, n)
	}
	return dense.Write(w, rows, dim)
}

func (f flat) Open(ctx context.Context, r io.Reader, size int64, _ text.Analyzer) (Searcher, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	rows, dim, err := dense.Read(r, size)
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	m, err := dense.New(rows, dim)
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	return &flatSearcher{m, f.threads}, nil
}

type flatSearcher struct {
	matrix  *dense.Matrix
	threads int
}

func (s *flatSearcher) Search(ctx context.Context, q axes.Query, depth int, dst []axes.Hit) ([]axes.Hit, error) {
	found, err := s.matrix.Search(ctx, [][]float32{q.Vector}, depth, 1)
	if err != nil {
		return dst, fmt.Errorf("search %q: %w", q.ID, err)
	}
	return append(dst, found[0]...), nil
}

// SearchBatch answers the questions on as many threads as the instance may use.
func (s *flatSearcher) SearchBatch(ctx context.Context, qs []axes.Query, depth int) ([][]axes.Hit, error) {
	vectors := make([][]float32, len(qs))
	for i, q := range qs {
		vectors[i] = q.Vector
	}
	return s.matrix.Search(ctx, vectors, depth, s.threads)
}

func (s *flatSearcher) Close() error { return nil }
