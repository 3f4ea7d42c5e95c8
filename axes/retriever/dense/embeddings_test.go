package dense

import (
	"math"
	"math/rand/v2"
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
