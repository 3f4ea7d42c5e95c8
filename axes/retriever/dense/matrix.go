// Package dense finds the vectors with the largest inner product, exactly.
//
// It looks twice. First all inner products are computed over 16-bit integers,
// which a processor multiplies about twice as fast as floats; how far such a
// product may be from the true one is bounded, so those that cannot be among the
// best drop out. What is left, hardly more than is asked for, is computed in
// double precision. Results are the same as if everything had been, on every
// machine and for one question or many.
//
// Rows may be kept in half precision, in half of the memory. They are searched by
// what they then are, just as exactly; what rounding them changed is not known here.
package dense

import (
	"math"

	"raglab/internal/half"
)

const (
	// panelRows is how many rows lie together: for each pair of dimensions the
	// pair of the first row, of the second and so on.
	panelRows = 16
	// maxWhole is the largest integer and maxLength the largest length of a
	// vector of integers: no sum of products of two leaves 32 bits.
	maxWhole  = 32700
	maxLength = 46000
)

// Matrix holds the vectors to search. It does not change and is safe for
// concurrent use.
type Matrix struct {
	rows   []float32 // nil for rows in half precision
	halves []uint16  // their bits
	n, dim int
	pairs  int     // of dimensions, the last one filled up with 0
	panels []int16 // the rows times scale, rounded, panel by panel
	scale  float64
	off    float64 // no row is further than this from its rounded form over scale
	length float64 // no rounded form over scale is longer
}

// New prepares rows of dim numbers for search. It keeps rows.
func New(rows []float32, dim int) (*Matrix, error) {
	m := &Matrix{rows: rows, dim: dim}
	if dim > 0 {
		m.n = len(rows) / dim
	}
	if err := m.prepare(); err != nil {
		return nil, err
	}
	return m, nil
}

// prepare checks the rows, and packs them.
func (m *Matrix) prepare() error {
	if err := checkShape(len(m.rows)+len(m.halves), m.n, m.dim); err != nil {
		return err
	}
	m.pairs = (m.dim + 1) / 2
	buf := m.buffer()
	var most, longest float64
	for i := range m.n {
		row := m.row(i, buf)
		length := squares(row)
		if math.IsNaN(length) || math.IsInf(length, 0) {
			return rowError(i, finite(row))
		}
		most, longest = max(most, largest(row)), max(longest, length)
	}
	m.scale = scaleFor(most, math.Sqrt(longest))
	m.pack(buf)
	return nil
}

// Len returns the number of rows and Dim their dimensions.
func (m *Matrix) Len() int { return m.n }

// Dim returns the number of dimensions.
func (m *Matrix) Dim() int { return m.dim }

// Half reports whether the rows are in half precision.
func (m *Matrix) Half() bool { return m.halves != nil }

// buffer is room for a row, where rows need any.
func (m *Matrix) buffer() []float32 {
	if !m.Half() {
		return nil
	}
	return make([]float32, m.dim)
}

// row returns a row, which may lie in buf until the next call.
func (m *Matrix) row(i int, buf []float32) []float32 {
	if !m.Half() {
		return m.rows[i*m.dim : (i+1)*m.dim]
	}
	half.Decode(buf, m.halves[i*m.dim:(i+1)*m.dim])
	return buf
}

// largest returns the largest magnitude in v.
func largest(v []float32) float64 {
	most := uint32(0)
	for _, x := range v {
		most = max(most, math.Float32bits(x)&^(1<<31)) // the bits of positive floats are ordered as they are
	}
	return float64(math.Float32frombits(most))
}

// scaleFor returns by what to multiply vectors so that rounding them to integers
// keeps as much as possible. It is a float32.
func scaleFor(most, longest float64) float64 {
	if longest == 0 {
		return 1
	}
	return float64(float32(min(maxWhole/most, maxLength/longest, 1e30)))
}

// pack fills the panels and measures what rounding loses.
func (m *Matrix) pack(buf []float32) {
	count := (m.n + panelRows - 1) / panelRows
	m.panels = make([]int16, count*m.pairs*2*panelRows)
	whole := make([]int16, 2*m.pairs)
	for i := range m.n {
		off, length := quantise(whole, m.row(i, buf), m.scale)
		m.off, m.length = max(m.off, off), max(m.length, length)
		panel := m.panels[i/panelRows*m.pairs*2*panelRows+i%panelRows*2:]
		for p := range m.pairs {
			panel[p*2*panelRows] = whole[2*p]
			panel[p*2*panelRows+1] = whole[2*p+1]
		}
	}
}

// quantise rounds v times scale to integers. It returns bounds of the distance
// between v and the integers over scale, and of the length of the latter.
func quantise(whole []int16, v []float32, scale float64) (off, length float64) {
	const round = 3 << 22 // floats around it are integers: adding it rounds
	var lost, kept float64
	by := float32(scale)
	for i, x := range v {
		scaled := float32(x * by)
		w := float32(scaled+round) - round
		whole[i] = int16(w)
		lost += float64(scaled-w) * float64(scaled-w)
		kept += float64(w) * float64(w)
	}
	// x·by is rounded to a float32: by less than 2^-24 of itself.
	slip := math.Sqrt(kept) * (1.0 / (1 << 23))
	return (math.Sqrt(lost)*(1+1e-9) + slip) / scale, math.Sqrt(kept) * (1 + 1e-9) / scale
}
