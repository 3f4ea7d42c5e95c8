// Package stats holds the statistics of per-question values: sums and means
// that lose no digits, percentiles, paired resampling tests over several
// systems at once, corrections for many comparisons, and power.
//
// Every result is a function of its arguments alone, on every platform:
// products are rounded before they are added, so that no compiler fuses the
// two, and randomness comes from a PCG generator with a given seed.
package stats

import "math"

// Accumulator adds numbers with a second variable that keeps what rounding
// loses (Neumaier, ZAMM 54, 1974, p. 39-51), as the built-in sum of CPython
// does since 3.12. The zero value is an empty sum.
type Accumulator struct{ sum, lost float64 }

// Add adds x.
func (a *Accumulator) Add(x float64) {
	t := a.sum + x
	if math.Abs(a.sum) >= math.Abs(x) {
		a.lost += (a.sum - t) + x
	} else {
		a.lost += (x - t) + a.sum
	}
	a.sum = t
}

// Sum returns the sum so far. An infinite sum stays infinite.
func (a *Accumulator) Sum() float64 {
	if a.lost == 0 || math.IsInf(a.lost, 0) || math.IsNaN(a.lost) {
		return a.sum
	}
	return a.sum + a.lost
}

// Sum returns the compensated sum of xs.
func Sum(xs []float64) float64 {
	var a Accumulator
	for _, x := range xs {
		a.Add(x)
	}
	return a.Sum()
}

// Mean returns the compensated sum of xs divided by their number, NaN for none.
func Mean(xs []float64) float64 { return Sum(xs) / float64(len(xs)) }

// Deviation returns the sample standard deviation of xs, with n - 1 in the
// denominator. It is NaN for fewer than two values.
func Deviation(xs []float64) float64 {
	if len(xs) < 2 {
		return math.NaN()
	}
	mean := Mean(xs)
	var squares Accumulator
	for _, x := range xs {
		squares.Add(float64((x - mean) * (x - mean)))
	}
	return math.Sqrt(squares.Sum() / float64(len(xs)-1))
}
