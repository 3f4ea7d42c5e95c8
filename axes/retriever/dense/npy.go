package dense

import (
	"fmt"
	"io"
	"math"

	"raglab/internal/half"
	"raglab/internal/npy"
)

// maxDim bounds the dimensions, so that sums of products fit 32 bits.
const maxDim = 1 << 16

// Write writes rows of dim numbers each as a .npy file, in single precision. A number
// that is not finite is an error that names its row.
func Write(w io.Writer, rows []float32, dim int) error {
	return write(w, npy.Float32, rows, dim, finite)
}

// WriteHalf is [Write] in half precision, to the nearest: numbers must be finite there
// too.
func WriteHalf(w io.Writer, rows []float32, dim int) error {
	return write(w, npy.Float16, rows, dim, FitsHalf)
}

func write(w io.Writer, t npy.Type, rows []float32, dim int, fits func(row []float32) error) error {
	n := 0
	if dim > 0 {
		n = len(rows) / dim
	}
	if err := checkShape(len(rows), n, dim); err != nil {
		return err
	}
	for i := range n {
		if err := fits(rows[i*dim : (i+1)*dim]); err != nil {
			return rowError(i, err)
		}
	}
	if err := npy.Write(w, t, n, dim, rows); err != nil {
		return fmt.Errorf("write vectors: %w", err)
	}
	return nil
}

// checkShape reports rows that are cut off, or too many or too long to be searched.
func checkShape(numbers, n, dim int) error {
	switch {
	case dim > maxDim || dim < 0:
		return fmt.Errorf("vectors of %d dimensions, at most %d can be searched", dim, maxDim)
	case dim == 0 && n > 0:
		return fmt.Errorf("%d rows without numbers", n)
	case numbers != n*dim:
		return fmt.Errorf("%d numbers are not %d rows of %d: row %d is cut off", numbers, n, dim, n)
	case uint64(n) > math.MaxUint32:
		return fmt.Errorf("%d rows, at most 2^32-1 can be searched", n)
	}
	return nil
}

func rowError(i int, err error) error { return fmt.Errorf("vector of row %d: %w", i, err) }

// finite names the first number that is not finite.
func finite(v []float32) error {
	if sum := squares(v); !math.IsNaN(sum) && !math.IsInf(sum, 0) {
		return nil // sums of squares of finite numbers are
	}
	for i, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return fmt.Errorf("number %d is %v", i, x)
		}
	}
	return nil
}

// FitsHalf names the first number that is not finite in half precision: all of 65520
// or more are infinite there.
func FitsHalf(v []float32) error {
	for i, x := range v {
		if h := half.From(x); h&0x7C00 == 0x7C00 {
			return fmt.Errorf("number %d is %v, and half precision goes up to %d", i, x, half.Max)
		}
	}
	return nil
}

// squares returns the sum of the squares of v.
func squares(v []float32) float64 {
	var a, b float64
	for len(v) >= 2 {
		a += float64(v[0]) * float64(v[0])
		b += float64(v[1]) * float64(v[1])
		v = v[2:]
	}
	if len(v) == 1 {
		a += float64(v[0]) * float64(v[0])
	}
	return a + b
}

// Read reads what [Write] or [WriteHalf] wrote, of the given size in bytes, and
// prepares it for search.
func Read(r io.Reader, size int64) (*Matrix, error) {
	a, err := npy.Read(r, size)
	if err != nil {
		return nil, fmt.Errorf("read vectors: %w", err)
	}
	m := &Matrix{rows: a.Floats, halves: a.Halves, n: a.Rows, dim: a.Dim}
	if err := m.prepare(); err != nil {
		return nil, err
	}
	return m, nil
}
