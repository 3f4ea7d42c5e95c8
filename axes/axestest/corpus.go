package axestest

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"raglab/axes"
)

// Corpus is a corpus in memory. It implements the interface that retrievers
// build over.
type Corpus struct {
	Chunks []string
	Rows   []float32
	Dim    int
}

// Len implements the interface.
func (c *Corpus) Len() int { return len(c.Chunks) }

// Texts implements the interface.
func (c *Corpus) Texts() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, s := range c.Chunks {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Vectors implements the interface.
func (c *Corpus) Vectors() ([]float32, int) { return c.Rows, c.Dim }

// RandomCorpus makes n chunks of a small vocabulary with a falling frequency,
// so that there are ties, frequent terms, empty chunks and equal ones, and unit
// vectors that are sometimes equal.
func RandomCorpus(r *rand.Rand, n, dim int) *Corpus {
	c := &Corpus{Dim: dim}
	for i := range n {
		if i > 0 && r.IntN(8) == 0 { // the same chunk again
			twin := r.IntN(i)
			c.Chunks = append(c.Chunks, c.Chunks[twin])
			c.Rows = append(c.Rows, c.Rows[twin*dim:(twin+1)*dim]...)
			continue
		}
		c.Chunks = append(c.Chunks, randomText(r, r.IntN(30)))
		c.Rows = append(c.Rows, randomVector(r, dim)...)
	}
	return c
}

// RandomQuery makes a question for such a corpus. It may repeat terms and ask
// for unknown ones.
func RandomQuery(r *rand.Rand, dim int) axes.Query {
	return axes.Query{ID: fmt.Sprint("q", r.IntN(1000)), Text: randomText(r, r.IntN(7)), Vector: randomVector(r, dim)}
}

func randomText(r *rand.Rand, words int) string {
	var s strings.Builder
	for range words {
		u := r.Float64()
		fmt.Fprintf(&s, "w%d ", int(60*u*u*u))
	}
	return s.String()
}

func randomVector(r *rand.Rand, dim int) []float32 {
	v, sum := make([]float32, dim), 0.0
	for i := range v {
		v[i] = float32(r.NormFloat64())
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return v
}

// randomRanking makes a ranking of up to 30 of 50 chunks.
func randomRanking(r *rand.Rand) []axes.Hit {
	hits := make([]axes.Hit, 0, 30)
	for _, c := range r.Perm(50)[:r.IntN(31)] {
		hits = append(hits, axes.Hit{Ordinal: uint32(c), Score: float64(r.IntN(40)) / 4})
	}
	slices.SortFunc(hits, byRank)
	return hits
}
