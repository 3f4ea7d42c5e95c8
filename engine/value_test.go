package engine

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// values draws any canonical value.
func values() *rapid.Generator[Value] {
	leaf := rapid.OneOf(
		rapid.Just[Value](nil),
		rapid.Map(rapid.Bool(), func(b bool) Value { return b }),
		rapid.Map(rapid.Int64(), func(n int64) Value { return n }),
		rapid.Map(rapid.Float64(), func(f float64) Value { return f }),
		rapid.Map(rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1)}), func(f float64) Value { return f }),
		rapid.Map(rapid.String(), func(s string) Value { return s }),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 12), func(b []byte) Value { return string(b) }),
	)
	level := leaf
	for range 3 {
		inner := level
		level = rapid.OneOf(
			leaf,
			rapid.Map(rapid.SliceOfN(inner, 0, 4), func(l []Value) Value { return append([]Value{}, l...) }),
			rapid.Map(rapid.MapOfN(rapid.StringN(0, 4, 8), inner, 0, 4), func(m map[string]Value) Value { return m }),
		)
	}
	return level
}

// equalValues is equality as keys see it: -0 is 0, and every NaN the same.
func equalValues(a, b Value) bool {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return ok && (a == b || math.IsNaN(a) && math.IsNaN(b))
	case []Value:
		b, ok := b.([]Value)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equalValues(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]Value:
		b, ok := b.(map[string]Value)
		if !ok || len(a) != len(b) {
			return false
		}
		for k := range a {
			if e, ok := b[k]; !ok || !equalValues(a[k], e) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

func TestAppendValue_roundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := values().Draw(t, "v")
		tail := rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "tail")
		got, rest, err := DecodeValue(append(AppendValue(nil, v), tail...))
		if err != nil || !equalValues(got, v) || !bytes.Equal(rest, tail) {
			t.Fatalf("DecodeValue(AppendValue(%#v)) = %#v, %q, %v", v, got, rest, err)
		}
	})
}

// Distinct values have distinct encodings, none the beginning of another's.
func TestAppendValue_injective(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := values().Draw(t, "a"), values().Draw(t, "b")
		ea, eb := AppendValue(nil, a), AppendValue(nil, b)
		if bytes.HasPrefix(ea, eb) != equalValues(a, b) {
			t.Fatalf("%#v and %#v are encoded as %q and %q", a, b, ea, eb)
		}
	})
}

// Values that a concatenation would confuse.
func TestAppendValue_neighbours(t *testing.T) {
	t.Parallel()
	all := []Value{
		nil, false, true, "", "n", "false", int64(0), int64(1), 0.0, 1.0, "0", "1",
		[]Value{},
		[]Value{nil},
		[]Value{[]Value{}},
		[]Value{"a", "b"},
		[]Value{"ab", ""},
		[]Value{"", "ab"},
		[]Value{"ab"},
		[]Value{[]Value{"a"}, "b"},
		[]Value{[]Value{"a", "b"}},
		map[string]Value{},
		map[string]Value{"a": "b"},
		map[string]Value{"ab": ""},
		map[string]Value{"": "ab"},
		map[string]Value{"a": map[string]Value{"b": nil}},
		map[string]Value{"a": nil, "b": nil},
	}
	for i, a := range all {
		for j, b := range all {
			if same := bytes.Equal(AppendValue(nil, a), AppendValue(nil, b)); same != (i == j) {
				t.Errorf("%#v and %#v: same encoding %v", a, b, same)
			}
		}
	}
}

func TestAppendValue_mapOrder(t *testing.T) {
	t.Parallel()
	want := AppendValue(nil, map[string]Value{"a": int64(1), "b": int64(2), "c": int64(3), "d": map[string]Value{"x": nil, "y": nil}})
	for range 100 {
		m := map[string]Value{}
		for _, k := range []string{"c", "a", "b"} {
			m[k] = int64(k[0]-'a') + 1
		}
		m["d"] = map[string]Value{"y": nil, "x": nil}
		if got := AppendValue(nil, m); !bytes.Equal(got, want) {
			t.Fatalf("a map is encoded as %q and as %q", got, want)
		}
	}
}

func TestAppendValue_zeroAndNaN(t *testing.T) {
	t.Parallel()
	if !bytes.Equal(AppendValue(nil, 0.0), AppendValue(nil, math.Copysign(0, -1))) {
		t.Error("-0 is not 0")
	}
	other := math.Float64frombits(math.Float64bits(math.NaN()) ^ 1)
	if !bytes.Equal(AppendValue(nil, math.NaN()), AppendValue(nil, other)) {
		t.Error("two NaNs differ")
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   any
		want Value
	}{
		{nil, nil},
		{7, int64(7)},
		{7.0, 7.0},
		{true, true},
		{"x", "x"},
		{[]string{"a"}, []Value{"a"}},
		{[]string(nil), []Value{}},
		{[]int{1, 2}, []Value{int64(1), int64(2)}},
		{[]float64{0.5}, []Value{0.5}},
		{map[string]string{"k": "v"}, map[string]Value{"k": "v"}},
	}
	for _, tt := range tests {
		got := Canonical(tt.in)
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("Canonical(%#v) = %#v, want %#v", tt.in, got, tt.want)
		}
		if len(AppendValue(nil, got)) == 0 {
			t.Errorf("Canonical(%#v) has no encoding", tt.in)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Canonical of a channel did not panic")
		}
	}()
	Canonical(make(chan int))
}

// Whatever decodes is encoded as it was: there is one encoding for each value.
func FuzzDecodeValue(f *testing.F) {
	for _, v := range []Value{
		nil, true, int64(-1), 1.5, math.NaN(), "text", []Value{"a", nil}, map[string]Value{"a": []Value{}, "b": 2.0},
	} {
		f.Add(AppendValue(nil, v))
	}
	f.Add([]byte("l\x00\x00\x00\x00\x00\x00\x00\x02n"))
	f.Add([]byte("d\x80\x00\x00\x00\x00\x00\x00\x00")) // -0
	f.Add([]byte("s\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add(append(bytes.Repeat([]byte("l\x00\x00\x00\x00\x00\x00\x00\x01"), 70), 'n'))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, rest, err := DecodeValue(b)
		if err != nil {
			return
		}
		if again := append(AppendValue(nil, v), rest...); !bytes.Equal(again, b) {
			t.Fatalf("%q decodes to %#v, which is encoded as %q", b, v, again)
		}
	})
}
