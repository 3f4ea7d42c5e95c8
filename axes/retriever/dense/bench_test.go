package dense

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// embeddings makes unit vectors that lie as sentence embeddings do: around a
// common direction, in clusters, with a spectrum that falls.
func embeddings(n, dim int, seed uint64) []float32 {
	shape, r := rand.New(rand.NewPCG(7, 7)), rand.New(rand.NewPCG(seed, 0))
	normal := func(by float64) []float64 {
		v := make([]float64, dim)
		for i := range v {
			v[i] = by * shape.NormFloat64()
		}
		return v
	}
	shared := normal(2)
	centres, directions := make([][]float64, 200), make([][]float64, 16)
	for i := range centres {
		centres[i] = normal(0.4)
	}
	for i := range directions {
		directions[i] = normal(0.5 / math.Pow(float64(i+1), 0.6))
	}
	rows, row := make([]float32, 0, n*dim), make([]float64, dim)
	for range n {
		copy(row, shared)
		u := r.Float64()
		addTo(row, centres[int(u*u*float64(len(centres)))], 1)
		for _, d := range directions {
			addTo(row, d, r.NormFloat64())
		}
		length := 0.0
		for i := range row {
			row[i] += 0.1 * r.NormFloat64()
			length += row[i] * row[i]
		}
		for _, x := range row {
			rows = append(rows, float32(x/math.Sqrt(length)))
		}
	}
	return rows
}

func addTo(to, v []float64, by float64) {
	for i, x := range v {
		to[i] += by * x
	}
}

func split(rows []float32, dim int) [][]float32 {
	var vs [][]float32
	for ; len(rows) > 0; rows = rows[dim:] {
		vs = append(vs, rows[:dim:dim])
	}
	return vs
}

func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func BenchmarkSearch(b *testing.B) {
	const n, dim, questions, depth = 100_000, 384, 1000, 100
	m, err := New(embeddings(n, dim, 1), dim)
	if err != nil {
		b.Fatal(err)
	}
	qs := split(embeddings(questions, dim, 2), dim)
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("batch/threads=%d", threads), func(b *testing.B) {
			start := cpuSeconds(b)
			for b.Loop() {
				if _, err := m.Search(b.Context(), qs, depth, threads); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*questions)/b.Elapsed().Seconds(), "queries/s")
			b.ReportMetric(float64(b.N*questions)/(cpuSeconds(b)-start), "queries/cpu-s")
		})
	}
	b.Run("one", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := m.Search(b.Context(), qs[i%questions:][:1], depth, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	const n, dim = 100_000, 384
	rows := embeddings(n, dim, 1)
	var file bytes.Buffer
	if err := Write(&file, rows, dim); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(file.Len()))
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(file.Len()))
		for b.Loop() {
			if _, _, err := Read(bytes.NewReader(file.Bytes()), int64(file.Len())); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("prepare", func(b *testing.B) {
		b.SetBytes(int64(file.Len()))
		for b.Loop() {
			if _, err := New(rows, dim); err != nil {
				b.Fatal(err)
			}
		}
	})
}
