package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sort"
)

// A Value is what a field of a definition may hold: nil, bool, int64, float64,
// string, []Value or map[string]Value. [Canonical] brings the Go types that
// parameter structs use into this form.
type Value any

// The type bytes of the encoding. Their order is part of every key.
const (
	tagNil    = 'n'
	tagFalse  = 'f'
	tagTrue   = 't'
	tagInt    = 'i'
	tagFloat  = 'd'
	tagString = 's'
	tagList   = 'l'
	tagMap    = 'm'
)

// Canonical converts a parameter's value. Whole numbers stay apart from floats:
// a parameter's type is fixed by its struct, so 1 and 1.0 cannot meet there.
func Canonical(v any) Value {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, []Value, map[string]Value:
		return v
	case int:
		return int64(v)
	case []string:
		return list(v)
	case []int:
		return list(v)
	case []float64:
		return list(v)
	case map[string]string:
		m := make(map[string]Value, len(v))
		for k, s := range v {
			m[k] = s
		}
		return m
	}
	panic(fmt.Sprintf("engine: %T has no canonical form", v))
}

func list[T any](items []T) []Value {
	out := make([]Value, len(items))
	for i, e := range items {
		out[i] = Canonical(e)
	}
	return out
}

// AppendValue appends the canonical encoding of v: a type byte, then for
// strings, lists and maps the length as eight bytes, big-endian. Maps are in
// byte order of their keys. Distinct values never share an encoding: floats are
// encoded by their bits, with -0 as 0 and every NaN as one.
func AppendValue(dst []byte, v Value) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, tagNil)
	case bool:
		if v {
			return append(dst, tagTrue)
		}
		return append(dst, tagFalse)
	case int64:
		return binary.BigEndian.AppendUint64(append(dst, tagInt), uint64(v))
	case float64:
		return binary.BigEndian.AppendUint64(append(dst, tagFloat), floatBits(v))
	case string:
		return appendString(append(dst, tagString), v)
	case []Value:
		dst = appendLength(append(dst, tagList), len(v))
		for _, e := range v {
			dst = AppendValue(dst, e)
		}
		return dst
	case map[string]Value:
		return appendMap(dst, v)
	}
	panic(fmt.Sprintf("engine: %T has no canonical encoding", v))
}

func appendMap(dst []byte, m map[string]Value) []byte {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	dst = appendLength(append(dst, tagMap), len(m))
	for _, k := range keys {
		dst = AppendValue(appendString(dst, k), m[k])
	}
	return dst
}

func floatBits(f float64) uint64 {
	switch {
	case f == 0:
		return 0
	case math.IsNaN(f):
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(f)
}

func appendString(dst []byte, s string) []byte { return append(appendLength(dst, len(s)), s...) }

func appendLength(dst []byte, n int) []byte { return binary.BigEndian.AppendUint64(dst, uint64(n)) }

var errEncoding = errors.New("not a canonical encoding")

// maxDepth bounds how deep lists and maps may nest in an encoding that is read.
const maxDepth = 64

// DecodeValue reads one value and returns what follows it. It accepts just the
// encodings that [AppendValue] makes.
func DecodeValue(b []byte) (Value, []byte, error) { return decode(b, maxDepth) }

func decode(b []byte, depth int) (Value, []byte, error) {
	if len(b) == 0 || depth == 0 {
		return nil, nil, errEncoding
	}
	tag, b := b[0], b[1:]
	switch tag {
	case tagNil:
		return nil, b, nil
	case tagFalse, tagTrue:
		return tag == tagTrue, b, nil
	}
	if len(b) < 8 {
		return nil, nil, errEncoding
	}
	n := binary.BigEndian.Uint64(b)
	switch tag {
	case tagInt:
		return int64(n), b[8:], nil
	case tagFloat:
		f := math.Float64frombits(n)
		if floatBits(f) != n {
			return nil, nil, errEncoding
		}
		return f, b[8:], nil
	case tagString:
		s, rest, err := decodeString(b)
		return s, rest, err
	case tagList:
		return decodeList(b[8:], n, depth)
	case tagMap:
		return decodeMap(b[8:], n, depth)
	}
	return nil, nil, errEncoding
}

func decodeString(b []byte) (string, []byte, error) {
	if len(b) < 8 {
		return "", nil, errEncoding
	}
	n := binary.BigEndian.Uint64(b)
	if n > uint64(len(b)-8) {
		return "", nil, errEncoding
	}
	return string(b[8 : 8+n]), b[8+n:], nil
}

func decodeList(b []byte, n uint64, depth int) (Value, []byte, error) {
	if n > uint64(len(b)) {
		return nil, nil, errEncoding
	}
	out := make([]Value, n)
	for i := range out {
		var err error
		if out[i], b, err = decode(b, depth-1); err != nil {
			return nil, nil, err
		}
	}
	return out, b, nil
}

func decodeMap(b []byte, n uint64, depth int) (Value, []byte, error) {
	if n > uint64(len(b)) {
		return nil, nil, errEncoding
	}
	out := make(map[string]Value, n)
	last := ""
	for i := range n {
		k, rest, err := decodeString(b)
		if err != nil || i > 0 && k <= last {
			return nil, nil, errEncoding
		}
		last = k
		if out[k], b, err = decode(rest, depth-1); err != nil {
			return nil, nil, err
		}
	}
	return out, b, nil
}
