package stats

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// together is how many resamples are drawn before they are handed on: few enough
// to stay in a core's cache, enough to be worth handing on.
const together = 8

// weighed returns, for each system and resample, the sum of the system's values
// times the weights of the resample. Weights are drawn in order by one goroutine and
// added up by others; each sum has an order of its own that depends on nothing but
// the number of questions, so that the result is the same for any number of cores.
func weighed(systems [][]float64, resamples int, draw func(weights []float64)) [][]float64 {
	sums := matrix(len(systems), resamples)
	workers := max(1, min(runtime.GOMAXPROCS(0), resamples/together))
	free, full := make(chan batch, 2*workers), make(chan batch, 2*workers)
	for range 2 * workers {
		free <- batch{weights: matrix(together, len(systems[0]))}
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for b := range full {
				b.weigh(systems, sums)
				free <- b
			}
		})
	}
	for first := 0; first < resamples; first += together {
		b := <-free
		b.first, b.n = first, min(together, resamples-first)
		for i := range b.n {
			draw(b.weights[i])
		}
		full <- b
	}
	close(full)
	wg.Wait()
	return sums
}

// batch is a number of resamples in a row.
type batch struct {
	first, n int
	weights  [][]float64
}

func (b batch) weigh(systems, sums [][]float64) {
	for s, values := range systems {
		for i, weights := range b.weights[:b.n] {
			sums[s][b.first+i] = dot(weights, values)
		}
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

// Parallel calls fn for each number below n, on all cores, and returns when all
// calls have. The calls must not mind each other.
func Parallel(n int, fn func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				fn(i)
			}
		})
	}
	wg.Wait()
}

func differences(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] - b[i]
	}
	return out
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
