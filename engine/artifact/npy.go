package artifact

import (
	"fmt"
	"io"

	"raglab/internal/npy"
)

// Matrix is rows × Dim numbers, row by row.
type Matrix struct {
	Rows, Dim int
	Data      []float32
}

// Row is the i-th row; it shares the matrix's memory.
func (m Matrix) Row(i int) []float32 { return m.Data[i*m.Dim : (i+1)*m.Dim : (i+1)*m.Dim] }

// WriteMatrix writes a matrix in NumPy's format, version 1.0: float32,
// little-endian, row by row.
func WriteMatrix(w io.Writer, m Matrix) error {
	if err := npy.Write(w, npy.Float32, m.Rows, m.Dim, m.Data); err != nil {
		return fmt.Errorf("write matrix: %w", err)
	}
	return nil
}

// ReadMatrix reads a matrix in NumPy's format, of the given size in bytes, to the
// end: one that [WriteMatrix] wrote, or one in half precision (float16), as which the
// index of the retriever exact may be. A file whose header and length do not agree is
// an error.
func ReadMatrix(r io.Reader, size int64) (Matrix, error) {
	return matrix(npy.Read(r, size))
}

// ParseMatrix is [ReadMatrix] for bytes, as of a file that is mapped into memory: the
// rows lie in b, which must not change, where they are in single precision and the
// machine can read them there.
func ParseMatrix(b []byte) (Matrix, error) { return matrix(npy.Parse(b)) }

func matrix(a npy.Array, err error) (Matrix, error) {
	if err != nil {
		return Matrix{}, fmt.Errorf("read matrix: %w", err)
	}
	return Matrix{Rows: a.Rows, Dim: a.Dim, Data: a.Wide()}, nil
}
