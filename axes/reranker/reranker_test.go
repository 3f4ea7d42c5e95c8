package reranker_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"raglab/axes"
	"raglab/axes/axestest"
	"raglab/axes/reranker"
)

func kind(t *testing.T, name string) axes.Kind[reranker.Reranker] {
	t.Helper()
	k, ok := axes.Find(reranker.Kinds, name)
	if !ok {
		t.Fatalf("no kind %q", name)
	}
	return k
}

func TestNone(t *testing.T) {
	t.Parallel()
	axestest.RunReranker(t, axestest.Reranker{Kind: kind(t, "none"), Golden: map[string]string{"1": "94e01d30092c8e8e"}})
	r, err := kind(t, "none").New(kind(t, "none").Params(), axes.Env{})
	if err != nil {
		t.Fatal(err)
	}
	hits := []axes.Hit{{Ordinal: 2, Score: 3}, {Ordinal: 1, Score: -3}}
	got, err := r.Rerank(t.Context(), axes.Query{}, hits, nil)
	if diff := cmp.Diff(hits, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestThreshold(t *testing.T) {
	t.Parallel()
	axestest.RunReranker(t, axestest.Reranker{
		Kind: kind(t, "threshold"), Golden: map[string]string{"1": "43e39ac65e7094c5"},
		Set: func(p any) { *p.(*reranker.ThresholdParams) = reranker.ThresholdParams{Min: 2, Relative: 0.5} },
	})
	tests := map[string]struct {
		params reranker.ThresholdParams
		scores []float64
		keeps  int
	}{
		"inclusive":                   {reranker.ThresholdParams{Min: 2}, []float64{3, 2, 1.999}, 2},
		"nothing is left":             {reranker.ThresholdParams{Min: 4}, []float64{3, 2}, 0},
		"no hits":                     {reranker.ThresholdParams{Min: 4, Relative: 1}, nil, 0},
		"negative scores":             {reranker.ThresholdParams{Min: -2}, []float64{-1, -2, -3}, 2},
		"relative to the top":         {reranker.ThresholdParams{Min: 0, Relative: 0.5}, []float64{8, 4, 3}, 2},
		"both, the higher one counts": {reranker.ThresholdParams{Min: 5, Relative: 0.5}, []float64{8, 6, 4}, 2},
		"no share of a negative top":  {reranker.ThresholdParams{Min: -9, Relative: 0.5}, []float64{-1, -2}, 2},
		"relative 0 is off":           {reranker.ThresholdParams{Min: -9}, []float64{1, -2}, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := kind(t, "threshold").New(&test.params, axes.Env{})
			if err != nil {
				t.Fatal(err)
			}
			hits := make([]axes.Hit, len(test.scores))
			for i, s := range test.scores {
				hits[i] = axes.Hit{Ordinal: uint32(i), Score: s}
			}
			got, err := r.Rerank(t.Context(), axes.Query{}, hits, nil)
			if err != nil || len(got) != test.keeps {
				t.Errorf("%v, %v; want the first %d", got, err, test.keeps)
			}
		})
	}
}
