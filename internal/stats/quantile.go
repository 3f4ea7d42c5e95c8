package stats

import (
	"math"
	"slices"
)

// NearestRank returns the percentile of values by nearest rank: the smallest
// value such that at least percent of a hundred values are no larger, that is
// the ⌈percent/100 · n⌉-th in ascending order. It is always one of the values.
// Percent is above 0 and at most 100; the result for no values is NaN. The
// argument is left as it is.
func NearestRank(values []float64, percent float64) float64 {
	return NearestRanks(values, percent)[0]
}

// NearestRanks is [NearestRank] for several percentages with one sort.
func NearestRanks(values []float64, percents ...float64) []float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	out := make([]float64, len(percents))
	for i, p := range percents {
		out[i] = nearestRank(sorted, p)
	}
	return out
}

func nearestRank(sorted []float64, percent float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	// The product may come out a hair above the whole number that it is.
	const hair = 1e-9
	rank := int(math.Ceil(percent*float64(len(sorted))/100 - hair))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Quantile returns the q-th quantile of ascending values, q from 0 to 1, by
// linear interpolation between the two nearest (definition 7 of Hyndman and
// Fan, The American Statistician 50, 1996; the default of numpy and R). It is
// NaN for no values.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	low, part := quantilePlace(len(sorted), q)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + float64(part*(sorted[high]-sorted[low]))
}

// quantilePlace is the place of the value below the quantile, and how far the
// quantile is from it towards the next.
func quantilePlace(n int, q float64) (low int, part float64) {
	at := q * float64(n-1)
	low = min(max(int(math.Floor(at)), 0), n-1)
	return low, at - float64(low)
}

// quantileOf is [Quantile] of values in any order, none of them NaN, which it
// reorders; it takes time in proportion to their number.
func quantileOf(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	low, part := quantilePlace(len(values), q)
	sink(values, low)
	v := values[low]
	if low+1 == len(values) {
		return v
	}
	return v + float64(part*(slices.Min(values[low+1:])-v))
}

// sink reorders the values so that the one at place k is that of the sorted values,
// with none larger before it and none smaller behind (Hoare, Algorithm 65: FIND,
// Communications of the ACM 4, 1961).
func sink(values []float64, k int) {
	for left, right := 0, len(values)-1; left < right; {
		pivot := middle(values[left], values[(left+right)/2], values[right])
		i, j := left, right
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			right = j
		case k >= i:
			left = i
		default:
			return
		}
	}
}

// middle is the second largest of three.
func middle(a, b, c float64) float64 { return max(min(a, b), min(max(a, b), c)) }
