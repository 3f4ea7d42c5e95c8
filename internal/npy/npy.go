// Package npy reads and writes matrices in NumPy's file format, version 1.0, as
// numpy.save and numpy.load do: row by row, little-endian, in single or in half
// precision.
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html)
package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"raglab/internal/half"
)

// Type is the type of a file's numbers, in NumPy's notation.
type Type string

// The types: IEEE 754 binary32 and binary16.
const (
	Float32 Type = "<f4"
	Float16 Type = "<f2"
)

// bytes is what a number takes.
func (t Type) bytes() int64 {
	if t == Float16 {
		return 2
	}
	return 4
}

// Header says what a file holds: Rows × Dim numbers.
type Header struct {
	Type      Type
	Rows, Dim int
}

// Array is a file's content.
type Array struct {
	Header
	// Floats are the numbers of a file in single precision, Halves the bits of those
	// in half precision; the other one is nil.
	Floats []float32
	Halves []uint16
}

// Wide returns the numbers in single precision, which is exact. It shares the array's
// memory where that has them so.
func (a Array) Wide() []float32 {
	if a.Type == Float32 {
		return a.Floats
	}
	wide := make([]float32, len(a.Halves))
	half.Decode(wide, a.Halves)
	return wide
}

const (
	magic = "\x93NUMPY\x01\x00"
	// The numbers begin at a multiple of so many bytes, as the format asks.
	align = 64
)

// append appends the bytes that stand before the numbers.
func (h Header) append(b []byte) []byte {
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }", h.Type, h.Rows, h.Dim)
	pad := align - 1 - (len(magic)+2+len(dict))%align
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(dict)+pad+1))
	return fmt.Appendf(b, "%s%*s\n", dict, pad, "")
}

// Write writes rows of dim numbers each, row by row, in a precision; half precision
// rounds them to the nearest half.
func Write(w io.Writer, t Type, rows, dim int, data []float32) error {
	if rows < 0 || dim < 0 || len(data) != rows*dim {
		return fmt.Errorf("%d numbers are not %d × %d", len(data), rows, dim)
	}
	if _, err := w.Write(Header{t, rows, dim}.append(nil)); err != nil {
		return err
	}
	if t == Float32 {
		return writeFloats(w, data)
	}
	halves := make([]uint16, min(len(data), 1<<14))
	for len(data) > 0 {
		n := min(len(data), len(halves))
		half.Encode(halves[:n], data[:n])
		if err := writeHalves(w, halves[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

var (
	errNotNPY = errors.New("not a NumPy file of version 1.0")
	dictForm  = regexp.MustCompile(`^\{'descr': '(<f4|<f2)', 'fortran_order': False, 'shape': \((\d+), (\d+)\), \}\s*\n$`)
)

// readHeader reads what stands before the numbers of a file of the given size.
func readHeader(r io.Reader, size int64) (Header, error) {
	var head [len(magic) + 2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Header{}, fmt.Errorf("%w: %w", errNotNPY, err)
	}
	if string(head[:len(magic)]) != magic {
		return Header{}, errNotNPY
	}
	text := make([]byte, binary.LittleEndian.Uint16(head[len(magic):]))
	if _, err := io.ReadFull(r, text); err != nil {
		return Header{}, fmt.Errorf("header: %w", err)
	}
	parts := dictForm.FindSubmatch(text)
	if parts == nil {
		return Header{}, fmt.Errorf("header %q is not that of a matrix of float32 or float16, row by row", text)
	}
	h := Header{Type: Type(parts[1])}
	rows, err1 := strconv.ParseInt(string(parts[2]), 10, 40)
	dim, err2 := strconv.ParseInt(string(parts[3]), 10, 20)
	if err1 != nil || err2 != nil || size != int64(len(head)+len(text))+rows*dim*h.Type.bytes() {
		return Header{}, fmt.Errorf("%d bytes do not hold the %s × %s numbers of the header", size, parts[2], parts[3])
	}
	h.Rows, h.Dim = int(rows), int(dim)
	return h, nil
}

// Read reads a file of the given size in bytes, to the end. One whose header and
// length do not agree is an error.
func Read(r io.Reader, size int64) (Array, error) {
	h, err := readHeader(r, size)
	if err != nil {
		return Array{}, err
	}
	a := Array{Header: h}
	if h.Type == Float32 {
		a.Floats = make([]float32, h.Rows*h.Dim)
		err = readFloats(r, a.Floats)
	} else {
		a.Halves = make([]uint16, h.Rows*h.Dim)
		err = readHalves(r, a.Halves)
	}
	if err != nil {
		return Array{}, err
	}
	n, err := io.Copy(io.Discard, r)
	if err == nil && n > 0 {
		err = fmt.Errorf("%d bytes follow the last row", n)
	}
	if err != nil {
		return Array{}, err
	}
	return a, nil
}

// Parse reads a file's bytes, as of one that is mapped into memory. The array's
// numbers lie in b, which must not change, where the machine can read them there:
// where it is little-endian and b begins at a multiple of 4.
func Parse(b []byte) (Array, error) {
	r := bytes.NewReader(b)
	h, err := readHeader(r, int64(len(b)))
	if err != nil {
		return Array{}, err
	}
	a, body := Array{Header: h}, b[len(b)-r.Len():]
	inPlace := false
	if h.Type == Float32 {
		a.Floats, inPlace = in[float32](body)
	} else {
		a.Halves, inPlace = in[uint16](body)
	}
	if inPlace {
		return a, nil
	}
	return Read(bytes.NewReader(b), int64(len(b)))
}
