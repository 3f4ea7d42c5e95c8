package npy

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"raglab/internal/half"
)

func file(t testing.TB, of Type, rows, dim int, data []float32) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, of, rows, dim, data); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestArray_roundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		rows, dim := rapid.IntRange(0, 300).Draw(rt, "rows"), rapid.IntRange(0, 70).Draw(rt, "dim")
		seed, data := rapid.Uint32().Draw(rt, "seed"), make([]float32, rows*dim)
		for i := range data {
			seed = seed*1664525 + 1013904223
			data[i] = math.Float32frombits(seed)
		}
		for _, of := range []Type{Float32, Float16} {
			b := file(t, of, rows, dim, data)
			if body := len(b) - int(of.bytes())*len(data); body%align != 0 {
				rt.Fatalf("%s: the numbers begin at %d", of, body)
			}
			read, err := Read(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				rt.Fatal(err)
			}
			for shift := range 4 { // in place, and not
				shifted := append(make([]byte, shift, shift+len(b)), b...)[shift:]
				parsed, err := Parse(shifted)
				if err != nil {
					rt.Fatal(err)
				}
				for _, a := range []Array{read, parsed} {
					check(rt, a, Header{of, rows, dim}, data)
				}
			}
		}
	})
}

// check compares an array with the numbers that were written, bit by bit.
func check(t *rapid.T, a Array, h Header, data []float32) {
	wide := a.Wide()
	if a.Header != h || len(wide) != len(data) {
		t.Fatalf("%+v with %d numbers, want %+v", a.Header, len(wide), h)
	}
	for i, x := range data {
		if h.Type == Float16 {
			x = half.To(half.From(x))
		}
		if math.Float32bits(wide[i]) != math.Float32bits(x) {
			t.Fatalf("number %d is %v, want %v", i, wide[i], x)
		}
	}
}

// TestWrite_isNumPys pins the bytes down that numpy.save writes.
func TestWrite_isNumPys(t *testing.T) {
	t.Parallel()
	for of, body := range map[Type]string{
		Float32: "\x00\x00\x80\x3f\x00\x00\x00\xc0\x00\x00\x00\x3f\x00\x00\x40\x40\x00\x00\x80\x40\x00\x00\x80\x7f",
		Float16: "\x00\x3c\x00\xc0\x00\x38\x00\x42\x00\x44\x00\x7c",
	} {
		got := file(t, of, 2, 3, []float32{1, -2, 0.5, 3, 4, float32(math.Inf(1))})
		header := fmt.Sprintf("\x93NUMPY\x01\x00\x76\x00{'descr': '%s', 'fortran_order': False, 'shape': (2, 3), }", of)
		if want := header + strings.Repeat(" ", 127-len(header)) + "\n" + body; string(got) != want {
			t.Errorf("got\n%q\nwant\n%q", got, want)
		}
	}
}

// TestParse_copiesNothing: the numbers of a mapped file stay where they are.
func TestParse_copiesNothing(t *testing.T) {
	t.Parallel()
	for _, of := range []Type{Float32, Float16} {
		b := file(t, of, 1, 2, []float32{1, 2})
		a, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		at := unsafe.Pointer(&b[128])
		if of == Float32 && unsafe.Pointer(&a.Floats[0]) != at || of == Float16 && unsafe.Pointer(&a.Halves[0]) != at {
			t.Errorf("%s: the numbers lie elsewhere", of)
		}
	}
}

func TestRead_truncated(t *testing.T) {
	t.Parallel()
	for _, of := range []Type{Float32, Float16} {
		b := file(t, of, 3, 2, []float32{1, 2, 3, 4, 5, 6})
		for n := range b {
			if _, err := Parse(b[:n]); err == nil {
				t.Errorf("%s: %d of %d bytes were parsed", of, n, len(b))
			}
			// The size is right, but the file ends early.
			if _, err := Read(bytes.NewReader(b[:n]), int64(len(b))); err == nil {
				t.Errorf("%s: %d of %d bytes were read", of, n, len(b))
			}
		}
		if _, err := Read(bytes.NewReader(append(bytes.Clone(b), 0)), int64(len(b))); err == nil {
			t.Errorf("%s: a byte too many was read", of)
		}
	}
}

func TestWrite_refuses(t *testing.T) {
	t.Parallel()
	for _, shape := range [][2]int{{2, 2}, {-1, -3}, {3, 0}} {
		if err := Write(&bytes.Buffer{}, Float16, shape[0], shape[1], make([]float32, 3)); err == nil {
			t.Errorf("3 numbers were written as %v", shape)
		}
	}
	full := errors.New("disk full")
	for left := range 3 {
		w := &failing{left, full}
		if err := Write(w, Float16, 1, 1<<15, make([]float32, 1<<15)); !errors.Is(err, full) {
			t.Errorf("disk full at write %d: %v", left, err)
		}
	}
}

// failing fails after some writes.
type failing struct {
	left int
	err  error
}

func (f *failing) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, f.err
	}
	return len(p), nil
}

func FuzzParse(f *testing.F) {
	f.Add(file(f, Float32, 2, 2, []float32{1, 2, 3, 4}))
	f.Add(file(f, Float16, 2, 2, []float32{1, 2, 3, 4}))
	f.Add(file(f, Float16, 0, 7, nil))
	f.Add([]byte(magic + "\x10\x00{'descr': '<f4'}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := Parse(b)
		if err != nil {
			return
		}
		read, err := Read(bytes.NewReader(b), int64(len(b)))
		if err != nil || read.Header != a.Header || len(read.Wide()) != a.Rows*a.Dim {
			t.Fatalf("parsed as %+v, read as %+v, %v", a.Header, read.Header, err)
		}
	})
}
