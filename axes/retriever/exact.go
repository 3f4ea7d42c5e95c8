package retriever

import (
	"context"
	"errors"
	"fmt"
	"io"

	"raglab/axes"
	"raglab/axes/retriever/dense"
	"raglab/axes/text"
)

// The values of precision.
const precisionHalf = "half"

// ExactParams are the parameters of the kind exact.
type ExactParams struct {
	Precision string `hcl:"precision" default:"single" enum:"single|half" key:"set" doc:"How the index keeps the vectors: single has 4 bytes for each dimension, half 2."`
}

var exact = axes.Define(axes.Meta{
	Name:    "exact",
	Version: "1",
	Summary: "Dense retrieval without approximation: the largest inner products with the question's vector.",
	Doc: `All chunks are compared. Scores are inner products of the float32 vectors,
computed in double precision in a fixed order, so that they are the same on every
machine; for vectors of length 1 they are cosines. Any ordinal may be a hit, also
with a score below 0. The index is the matrix of vectors as a .npy file.

With precision = "half" the numbers of the chunks' vectors, not those of the
questions', are rounded to IEEE 754 binary16, to the nearest, even between two: 11
significant bits, in half of the space. All chunks are compared as before, as what
they then are, so that rankings are again the same on every machine; what the
rounding changed is measured against precision = "single" over the same vectors, as
ann_recall and as the greatest difference of a score. Numbers of 65520 or more have
no half and are an error.`,
}, func(p ExactParams, env axes.Env) (Leaf, error) {
	return flat{p.Precision == precisionHalf, max(env.Threads, 1)}, nil
})

// flat is the leaf of the kind exact.
type flat struct {
	half    bool
	threads int
}

func (flat) Uses() Uses { return Uses{Vectors: true} }

// Rounded implements [Rounded].
func (f flat) Rounded() (distance string, ok bool) { return distanceIP, f.half }

func (f flat) Build(ctx context.Context, corpus Corpus, _ text.Analyzer, w io.Writer) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	rows, dim := corpus.Vectors()
	n := corpus.Len()
	if len(rows) != n*dim || dim == 0 && n > 0 {
		return fmt.Errorf("the vectors are %d numbers of %d dimensions, which are not those of %d chunks", len(rows), dim, n)
	}
	if !f.half {
		return dense.Write(w, rows, dim)
	}
	for i := range n {
		if err := dense.FitsHalf(rows[i*dim : (i+1)*dim]); err != nil {
			return &ChunkError{i, fmt.Errorf("its vector cannot be kept: %w", err)}
		}
	}
	return dense.WriteHalf(w, rows, dim)
}

func (f flat) Open(ctx context.Context, r io.Reader, size int64, _ text.Analyzer) (Searcher, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	m, err := dense.Read(r, size)
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	if m.Half() != f.half {
		return nil, errors.New("open index: it was built with another precision")
	}
	return &flatSearcher{m, f.threads}, nil
}

// OpenParts implements [Parted]: rows are compared where they lie, with no copy of
// them or packed form in memory.
func (f flat) OpenParts(ctx context.Context, parts []Part, _ text.Analyzer) (Searcher, error) {
	return openMerged(parts, f.threads, func(i int, p Part) (Searcher, error) {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		rows, err := dense.Map(p.Index)
		if err != nil {
			return nil, fmt.Errorf("open index: %w", err)
		}
		if rows.Half() != f.half {
			return nil, errors.New("open index: it was built with another precision")
		}
		return mappedRows{rows}, checkPart(parts, i, rows.Rows)
	})
}

// mappedRows searches a part.
type mappedRows struct{ *dense.Mapped }

func (s mappedRows) Search(ctx context.Context, q axes.Query, depth int, dst []axes.Hit) ([]axes.Hit, error) {
	hits, err := s.Mapped.Search(ctx, q.Vector, depth, dst)
	if err != nil {
		return dst, fmt.Errorf("search %q: %w", q.ID, err)
	}
	return hits, nil
}

func (mappedRows) Close() error { return nil }

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
