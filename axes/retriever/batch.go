package retriever

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"raglab/axes"
)

// searchEach asks a searcher the questions one by one, so many at a time as
// there are threads.
func searchEach(ctx context.Context, s Searcher, qs []axes.Query, depth, threads int) ([][]axes.Hit, error) {
	results := make([][]axes.Hit, len(qs))
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range min(threads, len(qs)) {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(qs) {
					return nil
				}
				hits, err := s.Search(ctx, qs[i], depth, nil)
				if err != nil {
					return err
				}
				results[i] = hits
			}
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return results, nil
}
