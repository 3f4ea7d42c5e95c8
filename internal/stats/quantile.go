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
	at := q * float64(len(sorted)-1)
	low := min(max(int(math.Floor(at)), 0), len(sorted)-1)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + float64((at-float64(low))*(sorted[high]-sorted[low]))
}
