package npy

import (
	"encoding/binary"
	"io"
	"math"
	"unsafe"
)

// number is a type that files hold.
type number interface{ float32 | uint16 }

// inMemory returns the bytes of numbers as they lie in memory.
func inMemory[T number](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0])))
}

// littleEndian reports whether numbers lie in memory as they do in a file.
func littleEndian() bool {
	x := [1]uint16{1}
	return inMemory(x[:])[0] == 1
}

func writeFloats(w io.Writer, src []float32) error {
	return write(w, src, func(b []byte, x float32) []byte { return binary.LittleEndian.AppendUint32(b, math.Float32bits(x)) })
}

func writeHalves(w io.Writer, src []uint16) error {
	return write(w, src, binary.LittleEndian.AppendUint16)
}

// write writes numbers as files hold them, by batches where they have to be turned.
func write[T number](w io.Writer, src []T, put func([]byte, T) []byte) error {
	if littleEndian() {
		_, err := w.Write(inMemory(src))
		return err
	}
	var buf []byte
	for len(src) > 0 {
		n := min(len(src), 1<<14)
		buf = buf[:0]
		for _, x := range src[:n] {
			buf = put(buf, x)
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
		src = src[n:]
	}
	return nil
}

func readFloats(r io.Reader, dst []float32) error {
	return read(r, dst, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) })
}

func readHalves(r io.Reader, dst []uint16) error { return read(r, dst, binary.LittleEndian.Uint16) }

// read fills dst, and turns the numbers where they lie otherwise in memory.
func read[T number](r io.Reader, dst []T, get func([]byte) T) error {
	raw := inMemory(dst)
	if _, err := io.ReadFull(r, raw); err != nil {
		return err
	}
	if littleEndian() {
		return nil
	}
	size := len(raw) / max(len(dst), 1)
	for i := range dst {
		dst[i] = get(raw[i*size:])
	}
	return nil
}

// in returns the numbers that lie in b, and false where they cannot be read there.
func in[T number](b []byte) ([]T, bool) {
	var x T
	size := unsafe.Sizeof(x)
	if len(b) == 0 {
		return []T{}, true
	}
	if !littleEndian() || uintptr(unsafe.Pointer(&b[0]))%size != 0 {
		return nil, false
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(size)), true
}
