package stats

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Stream numbers keep the draws of the two procedures apart under one seed.
const (
	bootstrapStream  = 0x626f6f7473747261
	randomiseStream  = 0x7369676e666c6970
	exactEnumeration = 16
)

// Bootstrap holds the means of several systems over the same resamples of the
// questions. Because every system is measured on the same resample, the
// difference of two columns is the paired bootstrap of their difference.
type Bootstrap struct {
	means [][]float64 // system × resample
}

// NewBootstrap draws questions with replacement, as many as there are, the given
// number of times, and takes each system's mean over them. The rows are the
// systems' values for the same questions in the same order, all measured.
func NewBootstrap(systems [][]float64, resamples int, seed uint64) *Bootstrap {
	n := mustBeComplete(systems)
	rng := rand.NewPCG(seed, bootstrapStream)
	b := &Bootstrap{means: matrix(len(systems), resamples)}
	counts, weights := make([]uint32, n), make([]float64, n)
	for r := range resamples {
		drawCounts(rng, counts)
		for i, c := range counts {
			weights[i] = float64(c)
			counts[i] = 0
		}
		for s, values := range systems {
			b.means[s][r] = dot(weights, values) / float64(n)
		}
	}
	return b
}

// Mean returns the percentile interval of a system's mean at a confidence
// level such as 0.95.
func (b *Bootstrap) Mean(system int, level float64) (low, high float64) {
	return interval(slices.Clone(b.means[system]), level)
}

// Difference returns the percentile interval of the paired difference of means,
// a minus b, at a confidence level (Efron and Tibshirani, An Introduction to the
// Bootstrap, 1993, ch. 13).
func (b *Bootstrap) Difference(a, other int, level float64) (low, high float64) {
	return interval(differences(b.means[a], b.means[other]), level)
}

func interval(means []float64, level float64) (low, high float64) {
	slices.Sort(means)
	tail := (1 - level) / 2
	return Quantile(means, tail), Quantile(means, 1-tail)
}

// Randomisation holds the sums of several systems' values under the same
// random signs, one sign for each question and permutation.
type Randomisation struct {
	systems [][]float64
	sums    [][]float64 // system × permutation
}

// NewRandomisation draws the signs. The rows are as for [NewBootstrap].
func NewRandomisation(systems [][]float64, permutations int, seed uint64) *Randomisation {
	n := mustBeComplete(systems)
	rng := rand.NewPCG(seed, randomiseStream)
	t := &Randomisation{systems: systems, sums: matrix(len(systems), permutations)}
	signs := make([]float64, n)
	for p := range permutations {
		drawSigns(rng, signs)
		for s, values := range systems {
			t.sums[s][p] = dot(signs, values)
		}
	}
	return t
}

// P returns the two-sided p-value of the hypothesis that a and b differ by
// chance alone: how often randomly swapping the two systems' values, question by
// question, gives a mean difference at least as large as the one seen. The
// observed arrangement counts as one of the permutations, so that p is never 0
// (Smucker, Allan and Carterette, CIKM 2007; Phipson and Smyth, 2010). Where few
// questions differ all arrangements are counted and the value is exact.
func (t *Randomisation) P(a, b int) float64 {
	diffs := nonzero(differences(t.systems[a], t.systems[b]))
	permutations := len(t.sums[a])
	if len(diffs) <= exactEnumeration && 1<<len(diffs) <= permutations+1 {
		return exactP(diffs)
	}
	observed := math.Abs(Sum(diffs))
	// Sums that are equal on paper may differ in their last digits.
	slack := 1e-12 * (absoluteSum(t.systems[a]) + absoluteSum(t.systems[b]))
	asLarge := 1
	for p, x := range t.sums[a] {
		if math.Abs(x-t.sums[b][p]) >= observed-slack {
			asLarge++
		}
	}
	return float64(asLarge) / float64(permutations+1)
}

// exactP goes through all sign patterns.
func exactP(diffs []float64) float64 {
	observed := math.Abs(Sum(diffs))
	slack := 1e-12 * absoluteSum(diffs)
	asLarge, signed := 0, make([]float64, len(diffs))
	for pattern := range 1 << len(diffs) {
		for i, d := range diffs {
			if pattern>>i&1 == 1 {
				d = -d
			}
			signed[i] = d
		}
		if math.Abs(Sum(signed)) >= observed-slack {
			asLarge++
		}
	}
	return float64(asLarge) / float64(int(1)<<len(diffs))
}

// drawCounts draws len(counts) indices with replacement and counts each.
func drawCounts(rng *rand.PCG, counts []uint32) {
	n := uint64(len(counts))
	for i := uint64(0); i < n; i += 2 {
		first, second := twoBelow(rng, n)
		counts[first]++
		if i+1 < n {
			counts[second]++
		}
	}
}

// twoBelow draws two independent uniform numbers below n, at most 2³², from one
// 64-bit draw, by the multiplication of Lemire (ACM TOMACS 29, 2019), rejecting
// what would favour some numbers.
func twoBelow(rng *rand.PCG, n uint64) (first, second uint64) {
	floor := (1 << 32) % n
	for {
		x := rng.Uint64()
		a, b := (x>>32)*n, (x&math.MaxUint32)*n
		if a&math.MaxUint32 >= floor && b&math.MaxUint32 >= floor {
			return a >> 32, b >> 32
		}
	}
}

// drawSigns fills signs with 1 and -1.
func drawSigns(rng *rand.PCG, signs []float64) {
	var pool uint64
	for i := range signs {
		if i%64 == 0 {
			pool = rng.Uint64()
		}
		signs[i] = float64(int64(pool&1)*2 - 1)
		pool = bits.RotateLeft64(pool, -1)
	}
}

// dot adds in four lanes, in an order that depends on nothing but the length.
func dot(x, y []float64) float64 {
	y = y[:len(x)]
	var a, b, c, d float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		a += float64(x[i] * y[i])
		b += float64(x[i+1] * y[i+1])
		c += float64(x[i+2] * y[i+2])
		d += float64(x[i+3] * y[i+3])
	}
	for ; i < len(x); i++ {
		a += float64(x[i] * y[i])
	}
	return (a + b) + (c + d)
}

func differences(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] - b[i]
	}
	return out
}

func nonzero(xs []float64) []float64 {
	return slices.DeleteFunc(xs, func(x float64) bool { return x == 0 })
}

func absoluteSum(xs []float64) float64 {
	var a Accumulator
	for _, x := range xs {
		a.Add(math.Abs(x))
	}
	return a.Sum()
}

func matrix(rows, columns int) [][]float64 {
	cells := make([]float64, rows*columns)
	out := make([][]float64, rows)
	for i := range out {
		out[i] = cells[i*columns : (i+1)*columns : (i+1)*columns]
	}
	return out
}

// mustBeComplete returns the number of questions.
func mustBeComplete(systems [][]float64) int {
	if len(systems) == 0 || len(systems[0]) == 0 {
		panic("stats: nothing to resample")
	}
	for s, row := range systems {
		if len(row) != len(systems[0]) {
			panic(fmt.Sprintf("stats: system %d has %d values, the first has %d", s, len(row), len(systems[0])))
		}
		if slices.ContainsFunc(row, math.IsNaN) {
			panic(fmt.Sprintf("stats: system %d has unmeasured values", s))
		}
	}
	return len(systems[0])
}
