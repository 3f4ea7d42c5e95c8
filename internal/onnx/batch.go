package onnx

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// TokenBudget is how many tokens a batch has at most, unless one text has more.
// The activations of so many tokens stay in the processor's caches.
const TokenBudget = 1024

// Batches puts texts of equal token length together, at most [TokenBudget] tokens
// each, the longest texts first: the last batches, for which some workers wait,
// are then short. Each batch is a list of places in ids.
func Batches(ids [][]int32) [][]int {
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(ids[b]) - len(ids[a]) })
	var out [][]int
	for from := 0; from < len(order); {
		length := len(ids[order[from]])
		to := from + 1
		for to < len(order) && len(ids[order[to]]) == length && (to-from+1)*length <= TokenBudget {
			to++
		}
		out = append(out, order[from:to])
		from = to
	}
	return out
}

// Texts are what a model reads, as token ids. No text may be empty.
type Texts struct {
	IDs [][]int32
	// Types tells the two texts of a pair apart, one type for each id; nil is all 0.
	Types [][]int32
}

// RunAll runs the model over all texts, in batches of equal length, so that
// nothing is padded, and that many batches at once. It hands the outputs of each
// batch to take, whose calls may overlap, with the places of the batch's texts and
// their length in tokens. The function progress, which may be nil, is told how
// many texts are done; its calls do not overlap.
func (s *Session) RunAll(ctx context.Context, t Texts, workers int, take func(places []int, tokens int, out []Matrix) error, progress func(done int)) error {
	work := Batches(t.IDs)
	var next atomic.Int64
	var mu sync.Mutex
	done := 0
	group, ctx := errgroup.WithContext(ctx)
	for range min(max(1, workers), len(work)) {
		group.Go(func() error {
			var in inputs
			for i := next.Add(1) - 1; i < int64(len(work)); i = next.Add(1) - 1 {
				places, tokens := work[i], len(t.IDs[work[i][0]])
				out, err := s.Run(ctx, len(places), tokens, s.fill(&in, t, places)...)
				if err != nil {
					return fmt.Errorf("%d texts of %d tokens: %w", len(places), tokens, err)
				}
				if err := take(places, tokens, out); err != nil {
					return err
				}
				mu.Lock()
				done += len(places)
				if progress != nil {
					progress(done)
				}
				mu.Unlock()
			}
			return nil
		})
	}
	return group.Wait()
}

// inputs is the memory of the inputs of a run, used again by the next.
type inputs struct{ ids, types, ones []int64 }

// fill returns the model's inputs for the texts at those places, which have equal
// lengths.
func (s *Session) fill(in *inputs, t Texts, places []int) [][]int64 {
	n := len(places) * len(t.IDs[places[0]])
	for len(in.ones) < n {
		in.ones = append(in.ones, 1)
	}
	in.ids = flatten(in.ids[:0], t.IDs, places)
	if t.Types != nil {
		in.types = flatten(in.types[:0], t.Types, places)
	}
	for len(in.types) < n {
		in.types = append(in.types, 0)
	}
	values := make([][]int64, len(s.inputs))
	for i, v := range s.inputs {
		switch v.Name {
		case InputIDs:
			values[i] = in.ids[:n]
		case AttentionMask: // there is no padding
			values[i] = in.ones[:n]
		default:
			values[i] = in.types[:n]
		}
	}
	return values
}

func flatten(dst []int64, rows [][]int32, places []int) []int64 {
	for _, p := range places {
		for _, v := range rows[p] {
			dst = append(dst, int64(v))
		}
	}
	return dst
}
