package onnx

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Every text is in one batch; the texts of a batch have one length and keep
// within the budget; no batch could have been joined with the next.
func TestBatches(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOf(rapid.IntRange(1, 2*TokenBudget)).Draw(t, "lengths")
		few := rapid.SliceOf(rapid.IntRange(3, 6)).Draw(t, "few lengths")
		lengths = append(lengths, few...)
		ids := make([][]int32, len(lengths))
		for i, n := range lengths {
			ids[i] = make([]int32, n)
		}
		var seen []int
		work := Batches(ids)
		for k, batch := range work {
			n := len(ids[batch[0]])
			for _, i := range batch {
				if len(ids[i]) != n {
					t.Fatalf("lengths %d and %d in one batch", n, len(ids[i]))
				}
			}
			if len(batch) > 1 && len(batch)*n > TokenBudget {
				t.Fatalf("%d texts of %d tokens", len(batch), n)
			}
			if k+1 < len(work) {
				next := len(ids[work[k+1][0]])
				if next > n || next == n && (len(batch)+1)*n <= TokenBudget {
					t.Fatalf("%d texts of %d tokens stand before a batch of %d tokens", len(batch), n, next)
				}
			}
			seen = append(seen, batch...)
		}
		slices.Sort(seen)
		for i, s := range seen {
			if i != s {
				t.Fatalf("texts %v of %d are in the batches", seen, len(ids))
			}
		}
		if len(seen) != len(ids) {
			t.Fatalf("%d of %d texts are in the batches", len(seen), len(ids))
		}
	})
}
