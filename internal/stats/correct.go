package stats

import (
	"cmp"
	"math"
	"slices"
)

// Holm returns the p-values corrected for being looked at together, in the
// order given (Holm, Scandinavian Journal of Statistics 6, 1979): the smallest
// of m times m, the next times m - 1, and so on, never falling and never above
// 1. Those below alpha may all be called significant with a chance of at most
// alpha that any one is so by luck.
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	out := make([]float64, len(ps))
	floor := 0.0
	for place, i := range order {
		floor = max(floor, min(1, ps[i]*float64(len(ps)-place)))
		out[i] = floor
	}
	return out
}

// SmallestDetectable returns the true mean of paired differences that a
// two-sided test at level alpha would detect with the given power, were their
// spread and number those of diffs: (z(1-α/2) + z(power)) · sd / √n, by the
// normal approximation (Cohen, Statistical Power Analysis, 1988). It is NaN for
// fewer than two differences.
func SmallestDetectable(diffs []float64, alpha, power float64) float64 {
	z := normalQuantile(1-alpha/2) + normalQuantile(power)
	return z * Deviation(diffs) / math.Sqrt(float64(len(diffs)))
}

func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
