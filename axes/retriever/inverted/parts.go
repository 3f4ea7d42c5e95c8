package inverted

import (
	"context"
	"math"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"raglab/axes"
	"raglab/axes/retriever/topk"
)

// threshold is the least score that may rank, as the parts of an index have found so
// far: as many documents as are wanted score as much or more.
type threshold struct{ bits atomic.Uint64 }

func newThreshold() *threshold {
	t := &threshold{}
	t.bits.Store(math.Float64bits(math.Inf(-1)))
	return t
}

// raise tells a part's own least, and returns the greatest of all.
func (t *threshold) raise(least float64) float64 {
	for {
		seen := t.bits.Load()
		known := math.Float64frombits(seen)
		if known >= least {
			return known
		}
		if t.bits.CompareAndSwap(seen, math.Float64bits(least)) {
			return least
		}
	}
}

// searchParts appends the best of all parts: by score, then by place in the corpus.
func (s *Searcher) searchParts(ctx context.Context, q *question, depth int, dst []axes.Hit) ([]axes.Hit, error) {
	var next atomic.Int64
	least, workers := newThreshold(), min(s.threads, len(s.parts))
	hits := make([][]axes.Hit, workers)
	group, ctx := errgroup.WithContext(ctx)
	for w := range workers {
		group.Go(func() (err error) {
			for err == nil {
				i := int(next.Add(1)) - 1
				if i >= len(s.parts) {
					return nil
				}
				if err = context.Cause(ctx); err == nil {
					hits[w], err = s.searchPart(s.parts[i], q, depth, least, hits[w])
				}
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return dst, err
	}
	var best topk.Collector
	best.Reset(depth)
	for _, h := range slices.Concat(hits...) {
		best.Push(h)
	}
	return best.Append(dst), nil
}
