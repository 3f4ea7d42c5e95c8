package topk

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"raglab/axes"
)

func TestCollector_equalsSorting(t *testing.T) {
	t.Parallel()
	var c Collector // used again for every draw, as searchers do
	rapid.Check(t, func(t *rapid.T) {
		// Few distinct scores: ties matter most.
		scores := rapid.SliceOfN(rapid.IntRange(-3, rapid.SampledFrom([]int{0, 5, 1000}).Draw(t, "spread")), 0, 300).Draw(t, "scores")
		want := rapid.IntRange(0, 120).Draw(t, "want")
		hits := make([]axes.Hit, len(scores))
		for i, s := range scores {
			hits[i] = axes.Hit{Ordinal: uint32(i), Score: float64(s)}
		}
		c.Reset(want)
		peek := rapid.Bool().Draw(t, "peek")
		for i, at := range rapid.Permutation(indices(len(hits))).Draw(t, "order") {
			c.Push(hits[at])
			if !peek {
				continue
			}
			if bound, full := c.Bound(); full != (i+1 >= want && want > 0) {
				t.Fatalf("after %d hits of %d wanted: full is %v, bound %v", i+1, want, full, bound)
			}
		}
		slices.SortFunc(hits, compare)
		hits = hits[:min(want, len(hits))]
		if bound, full := c.Bound(); full && bound.Before(hits[want-1]) {
			t.Fatalf("bound is %v, better than the last hit, %v", bound, hits[want-1])
		}
		got := c.Append(nil)
		if diff := cmp.Diff(append([]axes.Hit(nil), hits...), got); diff != "" {
			t.Fatalf("(-sorted +collected):\n%s", diff)
		}
	})
}

func TestPartition_survivesBadPivots(t *testing.T) {
	t.Parallel()
	for _, pattern := range []func(i int) float64{
		func(i int) float64 { return float64(i) },
		func(i int) float64 { return -float64(i) },
		func(int) float64 { return 0 },
		func(i int) float64 { return float64(i % 2 * i) },
		func(i int) float64 { return float64(min(i, 20000-i)) },
	} {
		hits := make([]axes.Hit, 20000)
		for i := range hits {
			hits[i] = axes.Hit{Ordinal: uint32(i), Score: pattern(i)}
		}
		want := slices.SortedFunc(slices.Values(hits), compare)[:777]
		partition(hits, 777)
		got := hits[:777]
		slices.SortFunc(got, compare)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-sorted +partitioned):\n%s", diff)
		}
	}
}

func indices(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}
