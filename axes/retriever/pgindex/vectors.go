package pgindex

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/pgvector/pgvector-go"

	"raglab/internal/half"
)

// Vectors are rows of equal length on their way to Postgres.
type Vectors struct {
	Rows []float32
	Dim  int
	// Half stores them in half precision.
	Half bool
}

// Len is the number of rows.
func (v Vectors) Len() int {
	if v.Dim == 0 {
		return 0
	}
	return len(v.Rows) / v.Dim
}

// Row returns one row.
func (v Vectors) Row(i int) []float32 { return v.Rows[i*v.Dim : (i+1)*v.Dim] }

// AppendRow appends a row as its type receives it.
func (v Vectors) AppendRow(buf []byte, i int) ([]byte, error) {
	if !v.Half {
		return pgvector.NewVector(v.Row(i)).EncodeBinary(buf)
	}
	buf = binary.BigEndian.AppendUint16(buf, uint16(v.Dim))
	buf = append(buf, 0, 0)
	for _, x := range v.Row(i) {
		buf = binary.BigEndian.AppendUint16(buf, half.From(x))
	}
	return buf, nil
}

// Argument returns a question's vector as the driver takes it.
func (v Vectors) Argument(question []float32) any {
	if v.Half {
		return pgvector.NewHalfVector(question)
	}
	return pgvector.NewVector(question)
}

const (
	// pgvector sums in single precision. Sums of squares below the first have lost
	// digits or are 0, and those of the difference of two vectors of the second
	// length are still finite.
	leastSquares = 0x1p-100
	mostSquares  = math.MaxFloat32 / 4
	// What is not less rounds to infinity in half precision, what is not more to 0.
	mostHalf, leastHalf = 65520, 0x1p-25
)

// Direction checks a vector. It refuses what no distance can be computed of, and
// reports whether the vector has a direction in the precision that it is stored in:
// one that is 0 there has no cosine.
func (v Vectors) Direction(row []float32) (bool, error) {
	squares := 0.0
	for i, x := range row {
		switch y := math.Abs(float64(x)); {
		case y != y || y > math.MaxFloat32:
			return false, fmt.Errorf("its vector has %v in dimension %d", x, i)
		case v.Half && y >= mostHalf:
			return false, fmt.Errorf(`its vector has %v in dimension %d, and type = "halfvec" goes up to 65504`, x, i)
		case v.Half && y <= leastHalf:
		default:
			squares += y * y
		}
	}
	if squares > mostSquares {
		return false, fmt.Errorf("its vector has a length of %.3g, which is beyond single precision when squared", math.Sqrt(squares))
	}
	return squares >= leastSquares, nil
}
