package axestest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/axes/retriever"
)

// Fuser is a kind of retriever that merges others, under test.
type Fuser struct {
	Kind axes.Kind[retriever.Fuser]
	// Set changes the default parameters: it must name these legs and weigh them
	// equally.
	Set func(params any, legs []string)
	// Oracle returns the whole merged ranking in any order; it may be nil.
	Oracle func(legs [][]axes.Hit) []axes.Hit
	// Golden has the digest of merged random rankings by version.
	Golden map[string]string
}

// RunFuser runs the suite for a kind that merges rankings.
func RunFuser(t *testing.T, k Fuser) {
	fuser := func(t *testing.T, legs int) retriever.Fuser {
		t.Helper()
		names := []string{"a", "b", "c", "d"}[:legs]
		f := instance(t, k.Kind, func(params any) { k.Set(params, names) }, axes.Env{})
		if diff := cmp.Diff(names, f.Legs()); diff != "" {
			t.Fatalf("legs (-set +got):\n%s", diff)
		}
		return f
	}
	fusers := [...]retriever.Fuser{1: fuser(t, 1), 2: fuser(t, 2), 3: fuser(t, 3), 4: fuser(t, 4)}
	t.Run("golden", func(t *testing.T) {
		t.Parallel()
		r, merged := rand.New(rand.NewPCG(goldenSeed, 3)), []byte(nil)
		for range 20 {
			legs := [][]axes.Hit{randomRanking(r), randomRanking(r), randomRanking(r)}
			merged = appendHits(merged, fusers[3].Fuse(legs, 25))
		}
		golden(t, k.Kind.Meta, merged, k.Golden)
	})
	t.Run("properties", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			legs := rapid.SliceOfN(rankings(), 1, 4).Draw(t, "legs")
			k.check(t, fusers[len(legs)], legs)
		})
	})
	t.Run("one leg keeps its order", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			leg := rankings().Draw(t, "leg")
			if diff := cmp.Diff(ordinals(leg), ordinals(fusers[1].Fuse([][]axes.Hit{leg}, len(leg)))); diff != "" {
				t.Fatalf("(-leg +fused):\n%s", diff)
			}
		})
	})
	t.Run("an empty leg adds nothing", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			leg := rankings().Draw(t, "leg")
			got := fusers[2].Fuse([][]axes.Hit{nil, leg}, 1000)
			if diff := cmp.Diff(ordinals(leg), ordinals(got)); diff != "" {
				t.Fatalf("(-leg +fused):\n%s", diff)
			}
		})
	})
}

func (k *Fuser) check(t *rapid.T, f retriever.Fuser, legs [][]axes.Hit) {
	before := slices.Clone(legs[0])
	all := f.Fuse(legs, math.MaxInt32)
	ordered(t, all)
	union := make(map[uint32]bool)
	for _, leg := range legs {
		for _, h := range leg {
			union[h.Ordinal] = true
		}
	}
	if len(all) != len(union) {
		t.Fatalf("%d hits of %d", len(all), len(union))
	}
	for _, h := range all {
		if !union[h.Ordinal] || math.IsNaN(h.Score) || math.IsInf(h.Score, 0) {
			t.Fatalf("hit %v comes from nowhere", h)
		}
	}
	depth := rapid.IntRange(0, len(all)+2).Draw(t, "depth")
	if diff := cmp.Diff(all[:min(depth, len(all))], f.Fuse(legs, depth), cmpEmpty); diff != "" {
		t.Fatalf("depth %d (-prefix +fused):\n%s", depth, diff)
	}
	if diff := cmp.Diff(before, legs[0], cmpEmpty); diff != "" {
		t.Fatalf("a leg was changed:\n%s", diff)
	}
	if k.Oracle != nil {
		want := k.Oracle(legs)
		slices.SortFunc(want, byRank)
		if diff := cmp.Diff(want, all, cmpEmpty); diff != "" {
			t.Fatalf("(-oracle +fused):\n%s", diff)
		}
	}
	k.checkPermutations(t, f, legs, all)
}

// checkPermutations checks that neither the order of equally weighted legs nor
// the numbering of chunks matters, but for rounding and ties.
func (k *Fuser) checkPermutations(t *rapid.T, f retriever.Fuser, legs [][]axes.Hit, all []axes.Hit) {
	scores := make(map[uint32]float64, len(all))
	for _, h := range all {
		scores[h.Ordinal] = h.Score
	}
	for _, h := range f.Fuse(rapid.Permutation(legs).Draw(t, "order of legs"), math.MaxInt32) {
		if d := math.Abs(h.Score - scores[h.Ordinal]); d > 1e-12 {
			t.Fatalf("chunk %d scores %v more or less when the legs are swapped", h.Ordinal, d)
		}
	}
	renamed := make([][]axes.Hit, len(legs))
	for i, leg := range legs {
		for _, h := range leg {
			renamed[i] = append(renamed[i], axes.Hit{Ordinal: 3*h.Ordinal + 5, Score: h.Score})
		}
	}
	want := slices.Clone(all)
	for i := range want {
		want[i].Ordinal = 3*want[i].Ordinal + 5
	}
	if diff := cmp.Diff(want, f.Fuse(renamed, math.MaxInt32), cmpEmpty); diff != "" {
		t.Fatalf("chunks numbered otherwise (-want +got):\n%s", diff)
	}
}

// rankings draws rankings with ties, of few chunks.
func rankings() *rapid.Generator[[]axes.Hit] {
	return rapid.Custom(func(t *rapid.T) []axes.Hit {
		chunks := rapid.SliceOfNDistinct(rapid.Uint32Range(0, 40), 0, 20, rapid.ID[uint32]).Draw(t, "chunks")
		hits := make([]axes.Hit, len(chunks))
		for i, c := range chunks {
			hits[i] = axes.Hit{Ordinal: c, Score: float64(rapid.IntRange(-3, 8).Draw(t, "score"))}
		}
		slices.SortFunc(hits, byRank)
		return hits
	})
}

func ordinals(hits []axes.Hit) []uint32 {
	out := make([]uint32, len(hits))
	for i, h := range hits {
		out[i] = h.Ordinal
	}
	return out
}
