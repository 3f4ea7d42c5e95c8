package axestest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/axes/reranker"
)

// Reranker is a kind of reranker under test.
type Reranker struct {
	Kind axes.Kind[reranker.Reranker]
	// Set changes the default parameters; it may be nil.
	Set func(params any)
	Env axes.Env
	// Golden has the digest of some new rankings by version; with Coarse of their
	// order alone, for scores that machines round differently.
	Golden map[string]string
	Coarse bool
}

// RunReranker runs the suite for a kind of reranker.
func RunReranker(t *testing.T, k Reranker) {
	rr := instance(t, k.Kind, k.Set, k.Env)
	q := axes.Query{ID: "q1", Text: "what is it"}
	passage := func(ordinal uint32) (string, error) { return fmt.Sprint("passage ", ordinal), nil }
	t.Run("golden", func(t *testing.T) {
		t.Parallel()
		r, rankings := rand.New(rand.NewPCG(goldenSeed, 4)), []byte(nil)
		for range 20 {
			got, err := rr.Rerank(t.Context(), q, randomRanking(r), passage)
			if err != nil {
				t.Fatal(err)
			}
			if k.Coarse {
				rankings = fmt.Appendln(rankings, ordinals(got))
				continue
			}
			rankings = appendHits(rankings, got)
		}
		golden(t, k.Kind.Meta, rankings, k.Golden)
	})
	t.Run("properties", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(rt *rapid.T) {
			hits := rankings().Draw(rt, "hits")
			before := slices.Clone(hits)
			got, err := rr.Rerank(t.Context(), q, hits, passage)
			if err != nil {
				rt.Fatal(err)
			}
			ordered(rt, got)
			for _, h := range got {
				if !slices.Contains(ordinals(before), h.Ordinal) {
					rt.Fatalf("hit %v comes from nowhere", h)
				}
			}
			if diff := cmp.Diff(before, hits, cmpEmpty); diff != "" {
				rt.Fatalf("the ranking was changed in place:\n%s", diff)
			}
			again, err := rr.Rerank(t.Context(), q, hits, passage)
			if err != nil || !slices.Equal(got, again) {
				rt.Fatalf("first %v, then %v, %v", got, again, err)
			}
		})
	})
	if s, ok := rr.(reranker.PairScorer); ok {
		t.Run("pairs", func(t *testing.T) { runPairScorer(t, s) })
	}
	t.Run("passages", func(t *testing.T) {
		t.Parallel()
		missing := errors.New("no such passage")
		_, err := rr.Rerank(t.Context(), q, []axes.Hit{{Ordinal: 1, Score: 1}}, func(uint32) (string, error) { return "", missing })
		if got := errors.Is(err, missing); got != rr.UsesText() {
			t.Errorf("UsesText is %v, but with no passages the error is %v", rr.UsesText(), err)
		}
	})
	t.Run("concurrent use", func(t *testing.T) {
		t.Parallel()
		hits := []axes.Hit{{Ordinal: 3, Score: 2}, {Ordinal: 1, Score: 1}, {Ordinal: 2, Score: 1}}
		var group errgroup.Group
		for range 8 {
			group.Go(func() error {
				_, err := rr.Rerank(t.Context(), q, hits, passage)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// runPairScorer holds a scorer of pairs to what the memory of scores relies on: a
// ranking is made of the scores of single pairs, of the first hits alone.
func runPairScorer(t *testing.T, s reranker.PairScorer) {
	t.Parallel()
	texts := []string{"passage 3", "another one", "", "passage 3", "what is it? It is what it is."}
	all, err := s.ScorePairs(t.Context(), "what is it", texts)
	if err != nil {
		t.Fatal(err)
	}
	if err := reranker.CheckPairs(all, len(texts)); err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		one, err := s.ScorePairs(t.Context(), "what is it", []string{text})
		if err != nil || len(one) != 1 {
			t.Fatal(len(one), err)
		}
		if d := math.Abs(float64(one[0].Raw - all[i].Raw)); !(d <= 1e-4*max(1, math.Abs(float64(one[0].Raw)))) {
			t.Errorf("passage %d scores %v alone and %v with others", i, one[0].Raw, all[i].Raw)
		}
	}
	for _, raw := range [][2]float32{{-30, -3}, {-3, 0}, {0, 1e-3}, {1, 2}, {20, 60}} {
		if s.Score(raw[1]) < s.Score(raw[0]) {
			t.Errorf("%v is shown as %v, but %v as %v", raw[0], s.Score(raw[0]), raw[1], s.Score(raw[1]))
		}
	}
	if none, err := s.ScorePairs(t.Context(), "what is it", nil); err != nil || len(none) != 0 {
		t.Errorf("no passages give %v, %v", none, err)
	}
	runDepth(t, s)
}

// runDepth gives a ranking that is longer than the scorer's depth.
func runDepth(t *testing.T, s reranker.PairScorer) {
	hits := make([]axes.Hit, s.Depth()+4)
	for i := range hits {
		hits[i] = axes.Hit{Ordinal: uint32(len(hits) - i), Score: -float64(i)}
	}
	asked := map[uint32]bool{}
	got, err := s.Rerank(t.Context(), axes.Query{ID: "q", Text: "what is it"}, hits, func(o uint32) (string, error) {
		asked[o] = true
		return fmt.Sprint("passage ", o), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ordered(t, got)
	if len(got) != len(hits) || len(asked) != s.Depth() {
		t.Fatalf("%d of %d hits, %d passages asked for at depth %d", len(got), len(hits), len(asked), s.Depth())
	}
	for i, h := range hits {
		if asked[h.Ordinal] != (i < s.Depth()) {
			t.Errorf("the passage of rank %d is asked for: %v", i+1, asked[h.Ordinal])
		}
		if i >= s.Depth() && got[i].Ordinal != h.Ordinal {
			t.Errorf("rank %d, beyond the depth, holds chunk %d, expected %d", i+1, got[i].Ordinal, h.Ordinal)
		}
	}
}
