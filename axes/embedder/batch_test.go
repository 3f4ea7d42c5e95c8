package embedder

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Every text is in one batch; the texts of a batch have one length and keep
// within the budget; no batch could have been joined with the next.
func TestBatches(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOf(rapid.IntRange(1, 2*tokenBudget)).Draw(t, "lengths")
		few := rapid.SliceOf(rapid.IntRange(3, 6)).Draw(t, "few lengths")
		lengths = append(lengths, few...)
		ids := make([][]int32, len(lengths))
		for i, n := range lengths {
			ids[i] = make([]int32, n)
		}
		var seen []int
		work := batches(ids)
		for k, batch := range work {
			n := len(ids[batch[0]])
			for _, i := range batch {
				if len(ids[i]) != n {
					t.Fatalf("lengths %d and %d in one batch", n, len(ids[i]))
				}
			}
			if len(batch) > 1 && len(batch)*n > tokenBudget {
				t.Fatalf("%d texts of %d tokens", len(batch), n)
			}
			if k+1 < len(work) {
				next := len(ids[work[k+1][0]])
				if next > n || next == n && (len(batch)+1)*n <= tokenBudget {
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

// A text's vector does not depend on what is embedded with it, but for rounding.
func TestEmbedPassages_vectorsDoNotDependOnTheOrder(t *testing.T) {
	t.Parallel()
	e := newEmbedder(t, 2, nil)
	texts := []string{"", "річка", "Київ — столиця України.", "The capital of Ukraine is Kyiv.", strings.Repeat("довгий текст ", 30)}
	for i := range 12 {
		texts = append(texts, fmt.Sprintf("Стаття номер %d", i))
	}
	var last int
	forward, stats, err := e.EmbedPassages(t.Context(), texts, func(done int) {
		if done <= last {
			t.Errorf("progress %d after %d", done, last)
		}
		last = done
	})
	if err != nil || last != len(texts) || stats.Texts != len(texts) || stats.Truncated != 0 {
		t.Fatalf("done %d, %+v, %v", last, stats, err)
	}
	reversed := slices.Clone(texts)
	slices.Reverse(reversed)
	backward, _, err := e.EmbedPassages(t.Context(), reversed[:len(reversed)-3], nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range backward {
		for j, x := range forward[len(texts)-1-i] {
			if math.Abs(float64(v[j]-x)) > 1e-5 {
				t.Fatalf("number %d of %s differs by %g", j, quote(reversed[i]), v[j]-x)
			}
		}
		if n := dot(v, v); math.Abs(n-1) > 1e-5 {
			t.Errorf("squared length %g", n)
		}
	}
	if none, stats, err := e.EmbedPassages(t.Context(), nil, nil); err != nil || len(none) != 0 || stats != (Stats{}) {
		t.Errorf("no texts give %v, %+v, %v", none, stats, err)
	}
}
