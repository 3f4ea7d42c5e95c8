package dense

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
)

// The file is NumPy's format 1.0 with a C-ordered array of little-endian
// float32, as numpy.save writes it.
const (
	npyMagic = "\x93NUMPY\x01\x00"
	npyAlign = 64
	// maxDim bounds the dimensions, so that sums of products fit 32 bits.
	maxDim = 1 << 16
)

var (
	errNotNPY = errors.New("not a .npy file of float32 rows")
	npyDict   = regexp.MustCompile(`^\{'descr': '<f4', 'fortran_order': False, 'shape': \((\d{1,18}), (\d{1,9})\), \} *\n$`)
)

// Write writes rows of dim numbers each. A number that is not finite is an error
// that names its row.
func Write(w io.Writer, rows []float32, dim int) error {
	n := 0
	if dim > 0 {
		n = len(rows) / dim
	}
	if err := check(rows, n, dim); err != nil {
		return err
	}
	dict := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", n, dim)
	used := len(npyMagic) + 2 + len(dict) + 1
	pad := (npyAlign - used%npyAlign) % npyAlign
	header := binary.LittleEndian.AppendUint16([]byte(npyMagic), uint16(len(dict)+pad+1))
	header = fmt.Appendf(header, "%s%*s\n", dict, pad, "")
	out := bufio.NewWriterSize(w, 1<<16)
	out.Write(header) // errors stay until Flush
	var buf [4]byte
	for _, x := range rows {
		binary.LittleEndian.PutUint32(buf[:], math.Float32bits(x))
		out.Write(buf[:])
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write vectors: %w", err)
	}
	return nil
}

// check reports rows that are cut off or hold what no search can use.
func check(rows []float32, n, dim int) error {
	switch {
	case dim > maxDim || dim < 0:
		return fmt.Errorf("vectors of %d dimensions, at most %d can be searched", dim, maxDim)
	case len(rows) != n*dim:
		return fmt.Errorf("%d numbers are not %d rows of %d: row %d is cut off", len(rows), n, dim, n)
	}
	for i := range n {
		row := rows[i*dim : (i+1)*dim]
		if sum := squares(row); math.IsNaN(sum) || math.IsInf(sum, 0) {
			return fmt.Errorf("vector of row %d: %w", i, finite(row))
		}
	}
	return nil
}

// finite names the first number that is not finite.
func finite(v []float32) error {
	for i, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return fmt.Errorf("number %d is %v", i, x)
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

// Read reads what Write wrote, of the given size in bytes.
func Read(r io.Reader, size int64) (rows []float32, dim int, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	head := make([]byte, len(npyMagic)+2)
	if _, err := io.ReadFull(in, head); err != nil || string(head[:len(npyMagic)]) != npyMagic {
		return nil, 0, errNotNPY
	}
	dict := make([]byte, binary.LittleEndian.Uint16(head[len(npyMagic):]))
	if _, err := io.ReadFull(in, dict); err != nil {
		return nil, 0, errNotNPY
	}
	shape := npyDict.FindSubmatch(dict)
	if shape == nil {
		return nil, 0, errNotNPY
	}
	n, _ := strconv.ParseInt(string(shape[1]), 10, 64)
	d, _ := strconv.ParseInt(string(shape[2]), 10, 64)
	body := size - int64(len(head)+len(dict))
	switch {
	case d > maxDim:
		return nil, 0, fmt.Errorf("vectors of %d dimensions, at most %d can be searched", d, maxDim)
	case body < 0 || n > math.MaxUint32 || n*d*4 != body:
		return nil, 0, fmt.Errorf("%w: %d rows of %d in %d bytes", errNotNPY, n, d, body)
	}
	rows = make([]float32, n*d)
	if err := readFloats(in, rows); err != nil {
		return nil, 0, fmt.Errorf("read vectors: %w", err)
	}
	return rows, int(d), check(rows, int(n), int(d))
}

func readFloats(r io.Reader, into []float32) error {
	buf := make([]byte, 1<<16)
	for len(into) > 0 {
		n := min(len(into), len(buf)/4)
		if _, err := io.ReadFull(r, buf[:4*n]); err != nil {
			return err
		}
		for i := range into[:n] {
			into[i] = math.Float32frombits(binary.LittleEndian.Uint32(buf[4*i:]))
		}
		into = into[n:]
	}
	return nil
}
