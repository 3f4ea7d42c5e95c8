package half

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// value is what the bits of a half stand for, by the standard's definition; NaN and
// infinity are left to the caller.
func value(h uint16) float64 {
	exponent, fraction := int(h>>10&0x1F), float64(h&0x3FF)
	v := math.Ldexp(fraction, -24)
	if exponent > 0 {
		v = math.Ldexp(1024+fraction, exponent-25)
	}
	return math.Copysign(v, map[bool]float64{false: 1, true: -1}[h&0x8000 != 0])
}

func isNaN(h uint16) bool { return h&0x7FFF > 0x7C00 }

func TestTo_everyHalf(t *testing.T) {
	t.Parallel()
	halves := make([]uint16, 1<<16)
	for i := range halves {
		halves[i] = uint16(i)
	}
	decoded, again := make([]float32, len(halves)), make([]uint16, len(halves))
	Decode(decoded, halves)
	Encode(again, decoded)
	for i, h := range halves {
		got := To(h)
		switch {
		case math.Float32bits(decoded[i]) != math.Float32bits(got):
			t.Fatalf("%#04x: Decode gives %#08x, To %#08x", h, math.Float32bits(decoded[i]), math.Float32bits(got))
		case isNaN(h):
			// Quiet, with the sign and the payload.
			if want := uint32(h&0x8000)<<16 | 0x7FC00000 | uint32(h&0x3FF)<<13; math.Float32bits(got) != want {
				t.Fatalf("%#04x: NaN %#08x, want %#08x", h, math.Float32bits(got), want)
			}
			if again[i] != h|0x200 {
				t.Fatalf("NaN %#04x comes back as %#04x", h, again[i])
			}
			continue
		case h&0x7FFF == 0x7C00:
			if !math.IsInf(float64(got), map[bool]int{false: 1, true: -1}[h&0x8000 != 0]) {
				t.Fatalf("%#04x: %v, want infinity", h, got)
			}
		case float64(got) != value(h) || math.Signbit(float64(got)) != (h&0x8000 != 0):
			t.Fatalf("%#04x: %v, want %v", h, got, value(h))
		}
		if again[i] != h || From(got) != h {
			t.Fatalf("%#04x comes back as %#04x and %#04x", h, again[i], From(got))
		}
	}
}

// nearest is the definition of rounding: of all finite halves and the number 2^16
// that stands for infinity, the nearest, and of two the one with an even fraction.
func nearest(x float32) uint16 {
	sign := uint16(math.Float32bits(x)>>16) & 0x8000
	exact := new(big.Float).SetFloat64(math.Abs(float64(x)))
	low, high := uint16(0), uint16(0x7C00) // value(0x7C00) is 2^16
	for high-low > 1 {
		if mid := (low + high) / 2; exact.Cmp(big.NewFloat(value(mid))) >= 0 {
			low = mid
		} else {
			high = mid
		}
	}
	below := new(big.Float).Sub(exact, big.NewFloat(value(low)))
	above := new(big.Float).Sub(big.NewFloat(value(high)), exact)
	if c := below.Cmp(above); c > 0 || c == 0 && low%2 == 1 {
		low = high
	}
	return sign | low
}

// floats draws all sorts of float32: any bits, and those around the halves and the
// middles between two.
func floats() *rapid.Generator[float32] {
	return rapid.Custom(func(t *rapid.T) float32 {
		if rapid.Bool().Draw(t, "any") {
			return math.Float32frombits(rapid.Uint32().Draw(t, "bits"))
		}
		h := rapid.Uint16Range(0, 0x7BFF).Draw(t, "half")
		v := float32((value(h) + value(h+1)) / 2)
		if rapid.Bool().Draw(t, "on a half") {
			v = float32(value(h))
		}
		v = math.Float32frombits(uint32(int64(math.Float32bits(v)) + max(rapid.Int64Range(-2, 2).Draw(t, "steps"), -int64(math.Float32bits(v)))))
		if rapid.Bool().Draw(t, "negative") {
			v = -v
		}
		return v
	})
}

func TestFrom_nearestToEven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.SliceOfN(floats(), 0, 40).Draw(t, "numbers")
		got := make([]uint16, len(src))
		Encode(got, src)
		for i, x := range src {
			if x != x {
				bits := math.Float32bits(x)
				if want := uint16(bits>>16&0x8000|bits>>13&0x3FF) | 0x7E00; got[i] != want || From(x) != want {
					t.Fatalf("NaN %#08x: %#04x and %#04x, want %#04x", bits, got[i], From(x), want)
				}
				continue
			}
			want := nearest(x)
			if math.IsInf(float64(x), 0) {
				want = want&0x8000 | 0x7C00
			}
			if got[i] != want || From(x) != want {
				t.Fatalf("%v (%#08x): %#04x and %#04x, want %#04x", x, math.Float32bits(x), got[i], From(x), want)
			}
		}
	})
}

func TestFrom_bounds(t *testing.T) {
	t.Parallel()
	for x, want := range map[float32]uint16{
		0: 0, 1: 0x3C00, -2: 0xC000, Max: 0x7BFF, 65519.996: 0x7BFF, 65520: 0x7C00, math.MaxFloat32: 0x7C00, -65520: 0xFC00,
		0x1p-14: 0x0400, 0x1p-24: 1, 0x1p-25: 0, 0x1.000002p-25: 1, 0x1.8p-24: 2, 0x1.7ffffep-24: 1, math.SmallestNonzeroFloat32: 0,
	} {
		if got := From(x); got != want {
			t.Errorf("%v: %#04x, want %#04x", x, got, want)
		}
	}
}

// TestDecode_lengths has the processor's path end at any place, and touches nothing
// after it.
func TestDecode_lengths(t *testing.T) {
	t.Parallel()
	for n := range 40 {
		src, dst := make([]float32, n), make([]uint16, n+1)
		for i := range src {
			src[i] = float32(i) + 0.5
		}
		back := make([]float32, n+1)
		dst[n], back[n] = 7, 7
		Encode(dst, src)
		Decode(back, dst[:n])
		for i := range src {
			if back[i] != src[i] {
				t.Fatalf("%d of %d: %v", i, n, back[i])
			}
		}
		if dst[n] != 7 || back[n] != 7 {
			t.Fatalf("%d numbers: what follows was written to", n)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	src, dst := make([]uint16, 384), make([]float32, 384)
	for i := range src {
		src[i] = From(float32(i) / 384)
	}
	b.Run("portable", func(b *testing.B) {
		b.SetBytes(int64(2 * len(src)))
		for b.Loop() {
			toPortable(dst, src)
		}
	})
	b.Run("best", func(b *testing.B) {
		b.SetBytes(int64(2 * len(src)))
		for b.Loop() {
			Decode(dst, src)
		}
	})
}
