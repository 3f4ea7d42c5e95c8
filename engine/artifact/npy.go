package artifact

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"unsafe"
)

// Matrix is rows × Dim numbers, row by row.
type Matrix struct {
	Rows, Dim int
	Data      []float32
}

// Row is the i-th row; it shares the matrix's memory.
func (m Matrix) Row(i int) []float32 { return m.Data[i*m.Dim : (i+1)*m.Dim : (i+1)*m.Dim] }

const npyMagic = "\x93NUMPY\x01\x00"

// WriteMatrix writes a matrix in NumPy's format, version 1.0: float32,
// little-endian, row by row.
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html)
func WriteMatrix(w io.Writer, m Matrix) error {
	if m.Rows < 0 || m.Dim < 0 || len(m.Data) != m.Rows*m.Dim {
		return fmt.Errorf("write matrix: %d numbers are not %d × %d", len(m.Data), m.Rows, m.Dim)
	}
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", m.Rows, m.Dim)
	// The data begins at a multiple of 64 bytes, as the format asks.
	pad := 63 - (len(npyMagic)+2+len(header))%64
	buf := bufio.NewWriterSize(w, 1<<16)
	buf.WriteString(npyMagic)
	_ = binary.Write(buf, binary.LittleEndian, uint16(len(header)+pad+1))
	fmt.Fprintf(buf, "%s%*s\n", header, pad, "")
	writeFloats(buf, m.Data)
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("write matrix: %w", err)
	}
	return nil
}

var npyHeader = regexp.MustCompile(`^\{'descr': '<f4', 'fortran_order': False, 'shape': \((\d+), (\d+)\), \}\s*\n$`)

// ReadMatrix reads what [WriteMatrix] wrote, of the given size in bytes, to the
// end. A file whose header and length do not agree is an error.
func ReadMatrix(r io.Reader, size int64) (Matrix, error) {
	var head [10]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Matrix{}, fmt.Errorf("read matrix: %w", err)
	}
	if string(head[:8]) != npyMagic {
		return Matrix{}, fmt.Errorf("read matrix: not a NumPy file of version 1.0")
	}
	text := make([]byte, binary.LittleEndian.Uint16(head[8:]))
	if _, err := io.ReadFull(r, text); err != nil {
		return Matrix{}, fmt.Errorf("read matrix header: %w", err)
	}
	shape := npyHeader.FindSubmatch(text)
	if shape == nil {
		return Matrix{}, fmt.Errorf("read matrix: header %q is not that of a float32 matrix", text)
	}
	rows, err1 := strconv.ParseInt(string(shape[1]), 10, 40)
	dim, err2 := strconv.ParseInt(string(shape[2]), 10, 20)
	if err1 != nil || err2 != nil || size != int64(len(head)+len(text))+rows*dim*4 {
		return Matrix{}, fmt.Errorf("read matrix: %d bytes do not hold the %s × %s numbers of its header", size, shape[1], shape[2])
	}
	m := Matrix{Rows: int(rows), Dim: int(dim), Data: make([]float32, rows*dim)}
	if err := readFloats(r, m.Data); err != nil {
		return Matrix{}, fmt.Errorf("read matrix: %w", err)
	}
	n, err := io.Copy(io.Discard, r)
	if err == nil && n > 0 {
		err = fmt.Errorf("%d bytes follow the last row", n)
	}
	if err != nil {
		return Matrix{}, fmt.Errorf("read matrix: %w", err)
	}
	return m, nil
}

// ParseMatrix is [ReadMatrix] for bytes.
func ParseMatrix(b []byte) (Matrix, error) { return ReadMatrix(bytes.NewReader(b), int64(len(b))) }

// writeFloats writes little-endian bytes. The writer keeps its error.
func writeFloats(w *bufio.Writer, src []float32) {
	if len(src) == 0 {
		return
	}
	if littleEndian {
		_, _ = w.Write(unsafe.Slice((*byte)(unsafe.Pointer(&src[0])), len(src)*4))
		return
	}
	var b [4]byte
	for _, x := range src {
		binary.LittleEndian.PutUint32(b[:], math.Float32bits(x))
		_, _ = w.Write(b[:])
	}
}

// readFloats fills dst from little-endian bytes.
func readFloats(r io.Reader, dst []float32) error {
	if len(dst) == 0 {
		return nil
	}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&dst[0])), len(dst)*4)
	if _, err := io.ReadFull(r, raw); err != nil {
		return err
	}
	if littleEndian {
		return nil
	}
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[i*4:]))
	}
	return nil
}

var littleEndian = func() bool {
	x := uint16(1)
	return *(*byte)(unsafe.Pointer(&x)) == 1
}()
