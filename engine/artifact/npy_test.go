package artifact

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"raglab/internal/half"
	"raglab/internal/npy"
)

func matrices() *rapid.Generator[Matrix] {
	return rapid.Custom(func(t *rapid.T) Matrix {
		m := Matrix{Rows: rapid.IntRange(0, 40).Draw(t, "rows"), Dim: rapid.IntRange(0, 40).Draw(t, "dim")}
		m.Data = make([]float32, m.Rows*m.Dim)
		for i := range m.Data {
			m.Data[i] = math.Float32frombits(rapid.Uint32().Draw(t, "bits"))
		}
		return m
	})
}

func asFile(t testing.TB, m Matrix) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteMatrix(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sameBits compares matrices bit by bit: NaNs too keep theirs.
func sameBits(a, b Matrix) bool {
	if a.Rows != b.Rows || a.Dim != b.Dim || len(a.Data) != len(b.Data) {
		return false
	}
	for i := range a.Data {
		if math.Float32bits(a.Data[i]) != math.Float32bits(b.Data[i]) {
			return false
		}
	}
	return true
}

func TestMatrix_roundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := matrices().Draw(rt, "matrix")
		b := asFile(t, m)
		got, err := ParseMatrix(b)
		if err != nil || !sameBits(got, m) {
			rt.Fatalf("%d × %d: %v", m.Rows, m.Dim, err)
		}
		if data := len(b) - 4*len(m.Data); data%64 != 0 {
			rt.Fatalf("the data begins at %d, which is no multiple of 64", data)
		}
	})
}

// handmade is a file as the specification of the format describes it.
func handmade(shape string, padding int, data ...float32) []byte {
	header := "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }" + strings.Repeat(" ", padding) + "\n"
	b := []byte{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, byte(len(header)), byte(len(header) >> 8)}
	b = append(b, header...)
	for _, x := range data {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// The bytes are those that numpy.save writes.
func TestWriteMatrix_isNumPys(t *testing.T) {
	t.Parallel()
	got := asFile(t, Matrix{Rows: 2, Dim: 3, Data: []float32{1, -2, 0.5, 3, 4, float32(math.Inf(1))}})
	want := handmade("(2, 3)", 58, 1, -2, 0.5, 3, 4, float32(math.Inf(1)))
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	if len(want) != 128+24 {
		t.Errorf("the header has %d bytes, numpy.save's has 128", len(want)-24)
	}
}

// NumPy may leave more room behind the header.
func TestReadMatrix_morePadding(t *testing.T) {
	t.Parallel()
	for _, padding := range []int{0, 58, 122, 500} {
		m, err := ParseMatrix(handmade("(1, 2)", padding, 7, 8))
		if err != nil || !sameBits(m, Matrix{1, 2, []float32{7, 8}}) {
			t.Errorf("padding of %d: %+v, %v", padding, m, err)
		}
	}
}

func TestReadMatrix_truncated(t *testing.T) {
	t.Parallel()
	b := asFile(t, Matrix{Rows: 3, Dim: 2, Data: []float32{1, 2, 3, 4, 5, 6}})
	for n := range b {
		if m, err := ParseMatrix(b[:n]); err == nil {
			t.Errorf("cut to %d of %d bytes: %+v", n, len(b), m)
		}
		// The size is right, but the file ends early.
		if m, err := ReadMatrix(bytes.NewReader(b[:n]), int64(len(b))); err == nil {
			t.Errorf("cut to %d of %d bytes, size known: %+v", n, len(b), m)
		}
	}
	if _, err := ReadMatrix(bytes.NewReader(append(bytes.Clone(b), 0)), int64(len(b))); err == nil {
		t.Error("a byte too many was read")
	}
}

func TestReadMatrix_refuses(t *testing.T) {
	t.Parallel()
	for name, b := range map[string][]byte{
		"another magic":    []byte("\x93NUMPZ\x01\x00" + string(handmade("(1, 1)", 0, 1)[8:])),
		"version 2":        append([]byte("\x93NUMPY\x02\x00\x00\x00"), handmade("(1, 1)", 0, 1)[8:]...),
		"doubles":          bytes.Replace(handmade("(1, 1)", 0, 1, 1), []byte("<f4"), []byte("<f8"), 1),
		"big-endian":       bytes.Replace(handmade("(1, 1)", 0, 1), []byte("<f4"), []byte(">f4"), 1),
		"column by column": bytes.Replace(handmade("(1, 1)", 0, 1), []byte("False"), []byte("True "), 1),
		"one dimension":    handmade("(1,)", 0, 1),
		"three dimensions": handmade("(1, 1, 1)", 0, 1),
		"negative":         handmade("(-1, 1)", 0, 1),
		"huge":             handmade("(999999999999999999999999, 1)", 0, 1),
		"more than memory": handmade("(1099511627775, 1048575)", 0, 1),
		"overflow":         handmade("(4611686018427387904, 4)", 0),
	} {
		if m, err := ParseMatrix(b); err == nil {
			t.Errorf("%s: read as %d × %d", name, m.Rows, m.Dim)
		}
	}
}

// The vectors of an index may be in half precision.
func TestReadMatrix_half(t *testing.T) {
	t.Parallel()
	data := []float32{1, -2, 0.1, 65504, 0, 0x1p-24}
	var b bytes.Buffer
	if err := npy.Write(&b, npy.Float16, 2, 3, data); err != nil {
		t.Fatal(err)
	}
	for i, x := range data {
		data[i] = half.To(half.From(x))
	}
	for name, read := range map[string]func() (Matrix, error){
		"read":  func() (Matrix, error) { return ReadMatrix(bytes.NewReader(b.Bytes()), int64(b.Len())) },
		"parse": func() (Matrix, error) { return ParseMatrix(b.Bytes()) },
	} {
		if m, err := read(); err != nil || !sameBits(m, Matrix{2, 3, data}) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

func TestWriteMatrix_refuses(t *testing.T) {
	t.Parallel()
	for _, m := range []Matrix{{Rows: 2, Dim: 2, Data: make([]float32, 3)}, {Rows: -1, Dim: -1, Data: make([]float32, 1)}} {
		if err := WriteMatrix(&bytes.Buffer{}, m); err == nil {
			t.Errorf("%d numbers were written as %d × %d", len(m.Data), m.Rows, m.Dim)
		}
	}
	full := errors.New("disk full")
	if err := WriteMatrix(failingWriter{full}, Matrix{1, 1, []float32{1}}); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

func TestMatrix_Row(t *testing.T) {
	t.Parallel()
	m := Matrix{Rows: 2, Dim: 3, Data: []float32{1, 2, 3, 4, 5, 6}}
	row := m.Row(1)
	if fmt.Sprint(row) != "[4 5 6]" || cap(m.Row(0)) != 3 {
		t.Errorf("row %v, capacity of the first %d", row, cap(m.Row(0)))
	}
}

func FuzzReadMatrix(f *testing.F) {
	f.Add(asFile(f, Matrix{Rows: 2, Dim: 2, Data: []float32{1, 2, 3, 4}}))
	f.Add(asFile(f, Matrix{}))
	f.Add(handmade("(0, 7)", 3))
	f.Add(handmade("(7, 1)", 0, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ParseMatrix(b)
		if err != nil {
			return
		}
		again, err := ParseMatrix(asFile(t, m))
		if err != nil || !sameBits(again, m) {
			t.Fatalf("%d × %d is not read back: %v", m.Rows, m.Dim, err)
		}
	})
}
