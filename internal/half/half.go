// Package half converts between float32 and IEEE 754 binary16, the half-precision
// float: a sign, five bits of exponent with an offset of 15, ten of fraction. The
// largest finite number is 65504, the least above 0 is 2^-24, and a number keeps 11
// significant bits, so that it is off by at most 2^-11 of itself down to 2^-14.
//
// Conversions are those of the standard, and the same on every machine: narrowing
// rounds to the nearest, to even between two; infinities stay, what rounds beyond
// 65504 becomes one; a NaN stays one, quiet, with its sign and the upper bits of its
// payload, as the processors' own instructions make it.
package half

import "math"

// Max is the largest finite number.
const Max = 65504

// From rounds a float32 to the nearest half.
func From(x float32) uint16 {
	const (
		leastNormal = 0x38800000 // 2^-14
		overflow    = 0x47800000 // 2^16: no half is so large
		infinity    = 0x7F800000
		exponents   = (127 - 15) << 23 // between the offsets of the exponents
		quiet       = 0x7E00
	)
	all := math.Float32bits(x)
	sign, size := uint16(all>>16)&0x8000, all&0x7FFFFFFF
	switch {
	case size > infinity:
		return sign | quiet | uint16(size>>13)&0x3FF
	case size >= overflow:
		return sign | 0x7C00
	case size >= leastNormal:
		// A carry out of the fraction raises the exponent, up to that of infinity.
		return sign | uint16((size+0xFFF+size>>13&1-exponents)>>13)
	}
	// What is added to 0.5 is rounded to multiples of 2^-24, the least half.
	return sign | uint16(math.Float32bits(math.Float32frombits(size)+0.5)-math.Float32bits(0.5))
}

// To returns a half as a float32, which is exact but for a NaN that is signalling:
// it becomes quiet.
func To(h uint16) float32 {
	const (
		rebase   = 0x1p112    // between the offsets of the exponents
		infinity = 0x47800000 // where the halves' infinity lands before it is moved up
	)
	sign := uint32(h&0x8000) << 16
	// Moved into place, a half is a float32 that is too small by a power of two, a
	// subnormal one too: multiplying by that is exact.
	x := math.Float32bits(math.Float32frombits(uint32(h&0x7FFF)<<13) * rebase)
	if x >= infinity {
		x |= 0x7F800000
		if x&0x7FFFFF != 0 {
			x |= 0x400000
		}
	}
	return math.Float32frombits(sign | x)
}

// fromPortable is the definition of Encode.
func fromPortable(dst []uint16, src []float32) {
	for i, x := range src {
		dst[i] = From(x)
	}
}

// toPortable is the definition of Decode.
func toPortable(dst []float32, src []uint16) {
	for i, h := range src {
		dst[i] = To(h)
	}
}
