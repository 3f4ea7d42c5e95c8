package axestest

import (
	"errors"
	"fmt"
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
	// Golden has the digest of some new rankings by version.
	Golden map[string]string
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
