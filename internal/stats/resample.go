package stats

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// together is how many resamples are handed on at a time: few enough to stay in a
// core's cache, enough to be worth handing on.
const together = 8

// weighed returns, for each system and draw, the sum of the system's values times the
// weights of the draw. Each sum has an order of its own that depends on nothing but the
// number of questions, so that the result is the same for any number of cores. Where the
// draws are not kept they are made in order by one goroutine and added up by others.
func (d *Draws) weighed(systems [][]float64, what drawing) [][]float64 {
	sums, size := matrix(len(systems), what.times), what.size()
	if rows := d.rows(what); rows != nil {
		batches := (what.times + together - 1) / together
		pool := sync.Pool{New: func() any { weights := matrix(together, what.questions); return &weights }}
		Parallel(batches, func(i int) {
			weights := pool.Get().(*[][]float64)
			defer pool.Put(weights)
			b := batch{first: i * together, rows: rows[i*together*size:]}
			b.n = min(together, what.times-b.first)
			b.weigh(what, *weights, systems, sums)
		})
		return sums
	}
	workers := max(1, min(runtime.GOMAXPROCS(0), what.times/together))
	free, full := make(chan batch, 2*workers), make(chan batch, 2*workers)
	for range 2 * workers {
		free <- batch{rows: make([]byte, together*size)}
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			weights := matrix(together, what.questions)
			for b := range full {
				b.weigh(what, weights, systems, sums)
				free <- b
			}
		})
	}
	draw := d.drawer(what)
	for first := 0; first < what.times; first += together {
		b := <-free
		b.first, b.n = first, min(together, what.times-first)
		for i := range b.n {
			draw(b.rows[i*size : (i+1)*size])
		}
		full <- b
	}
	close(full)
	wg.Wait()
	return sums
}

// batch is a number of draws in a row.
type batch struct {
	first, n int
	rows     []byte
}

// weigh adds up the draws' sums, four draws and two systems at a time. Where there are
// fewer the last stand in for those that lack.
func (b batch) weigh(what drawing, weights, systems, sums [][]float64) {
	size := what.size()
	for i := range b.n {
		what.expand(b.rows[i*size:(i+1)*size], weights[i])
	}
	var out [8]float64
	for i := 0; i < b.n; i += 4 {
		var four [4][]float64
		for j := range four {
			four[j] = weights[min(i+j, b.n-1)]
		}
		for s := 0; s < len(systems); s += 2 {
			second := min(s+1, len(systems)-1)
			products([2][]float64{systems[s], systems[second]}, four, &out)
			for j := range min(4, b.n-i) {
				sums[s][b.first+i+j], sums[second][b.first+i+j] = out[j], out[(second-s)*4+j]
			}
		}
	}
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
