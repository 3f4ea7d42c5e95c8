package stats

import (
	"cmp"
	"math"
	"slices"
)

// Wilcoxon returns the two-sided p-value of the signed-rank test of paired
// differences (Wilcoxon, Biometrics Bulletin 1, 1945). Differences of at most equal
// are dropped, as Wilcoxon does, and sizes within equal of the next share the mean of
// their ranks. The value is exact for up to 50 differences without ties or zeros, and
// for up to 13 with them; otherwise it is that of the normal approximation with the
// variance corrected for ties, n(n+1)(2n+1)/24 − Σ(t³−t)/48, and no correction for
// continuity (Hollander and Wolfe, Nonparametric Statistical Methods, 2nd ed. 1999,
// § 3.1): what scipy's wilcoxon gives by default. It is NaN when nothing differs.
func Wilcoxon(diffs []float64, equal float64) float64 {
	r := signedRanks(diffs, equal)
	n := len(r.doubled)
	switch {
	case n == 0:
		return math.NaN()
	case len(diffs) <= 13, len(diffs) <= 50 && n == len(diffs) && r.ties == 0:
		return r.exact()
	}
	size := float64(n)
	deviation := math.Sqrt(size*(size+1)*(2*size+1)/24 - r.ties/48)
	z := (float64(r.positive)/2 - size*(size+1)/4) / deviation
	return math.Erfc(math.Abs(z) / math.Sqrt2)
}

// ranks are those of the differences' sizes, twice over so that they are whole.
type ranks struct {
	doubled  []int
	positive int     // their sum over the positive differences
	ties     float64 // Σ(t³−t) over the groups of equal sizes
}

func signedRanks(diffs []float64, equal float64) ranks {
	sorted := slices.DeleteFunc(slices.Clone(diffs), func(d float64) bool { return math.Abs(d) <= equal })
	slices.SortFunc(sorted, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	var r ranks
	for first := 0; first < len(sorted); {
		last := first + 1
		for last < len(sorted) && math.Abs(sorted[last])-math.Abs(sorted[last-1]) <= equal {
			last++
		}
		for _, d := range sorted[first:last] {
			r.doubled = append(r.doubled, first+last+1)
			if d > 0 {
				r.positive += first + last + 1
			}
		}
		t := float64(last - first)
		r.ties += float64(t*t*t) - t
		first = last
	}
	return r
}

// exact counts, for every sum of ranks, the sign patterns that give it.
func (r ranks) exact() float64 {
	total := 0
	ways := []float64{1}
	for _, rank := range r.doubled {
		total += rank
		next := make([]float64, total+1)
		copy(next, ways)
		for sum, n := range ways {
			next[sum+rank] += n
		}
		ways = next
	}
	var below, above float64
	for sum, n := range ways {
		if sum <= r.positive {
			below += n
		}
		if sum >= r.positive {
			above += n
		}
	}
	return min(1, 2*min(below, above)/math.Ldexp(1, len(r.doubled)))
}
