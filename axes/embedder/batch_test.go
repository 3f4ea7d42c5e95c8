package embedder

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

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
