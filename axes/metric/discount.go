package metric

import (
	"math"
	"sync/atomic"
)

// discounts is a table of log2(rank + 1) that grows with the longest ranking
// seen. The values are correctly rounded: [math.Log2] differs in the last digit
// between platforms and from what other tools use.
type discounts struct{ table atomic.Pointer[[]float64] }

// upTo returns a table of at least n entries, of which the first is for rank 1.
func (d *discounts) upTo(n int) []float64 {
	if t := d.table.Load(); t != nil && len(*t) >= n {
		return *t
	}
	t := logarithms(max(n, 2*d.size()))
	d.table.Store(&t)
	return t
}

func (d *discounts) size() int {
	if t := d.table.Load(); t != nil {
		return len(*t)
	}
	return 0
}

// logarithms returns log2(2), log2(3) and so on, n of them, from
// ln(m+1) = ln(m) + 2 artanh(1/(2m+1)) in twice the precision of float64.
func logarithms(n int) []float64 {
	// twoOverLn2 split in two: the leading 53 bits and the rest.
	const high = 0x1.71547652b82fep+1
	factor := double{high, 2*math.Log2E - high}
	out := make([]float64, n)
	var sum double
	for i := range out {
		sum = sum.plus(artanhOfInverse(float64(2*i + 3)).times(factor))
		out[i] = sum.high
	}
	return out
}

// artanhOfInverse returns artanh(1/x) = 1/x + 1/3x³ + 1/5x⁵ + … for x of 3 or more.
func artanhOfInverse(x float64) double {
	power := inverse(x)
	square := power.times(power)
	sum := power
	for odd := 3.0; ; odd += 2 {
		power = power.times(square)
		term := power.times(inverse(odd))
		if term.high < sum.high*0x1p-110 {
			return sum
		}
		sum = sum.plus(term)
	}
}

// double is an unevaluated sum of two float64 with about 106 bits (Dekker, 1971).
type double struct{ high, low float64 }

func (a double) plus(b double) double {
	s := a.high + b.high
	v := s - a.high
	lost := (a.high - (s - v)) + (b.high - v)
	return normal(s, lost+(a.low+b.low))
}

func (a double) times(b double) double {
	p := float64(a.high * b.high)
	lost := math.FMA(a.high, b.high, -p)
	return normal(p, lost+(float64(a.high*b.low)+float64(a.low*b.high)))
}

// inverse returns 1/x.
func inverse(x float64) double {
	q := 1 / x
	return normal(q, math.FMA(-q, x, 1)/x)
}

func normal(high, low float64) double {
	s := high + low
	return double{s, low - (s - high)}
}
