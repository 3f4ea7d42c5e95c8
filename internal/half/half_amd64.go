package half

import "golang.org/x/sys/cpu"

// f16c reports whether the processor converts by itself. That the system keeps the
// registers for it is what AVX says.
var f16c = cpu.X86.HasF16C && cpu.X86.HasAVX

// Encode rounds src into dst, which must be as long.
func Encode(dst []uint16, src []float32) {
	_ = dst[:len(src)]
	whole := 0
	if f16c {
		if whole = len(src) &^ 7; whole > 0 {
			encodeF16C(&dst[0], &src[0], whole/8)
		}
	}
	fromPortable(dst[whole:], src[whole:])
}

// Decode converts src into dst, which must be as long.
func Decode(dst []float32, src []uint16) {
	_ = dst[:len(src)]
	whole := 0
	if f16c {
		if whole = len(src) &^ 7; whole > 0 {
			decodeF16C(&dst[0], &src[0], whole/8)
		}
	}
	toPortable(dst[whole:], src[whole:])
}

//go:noescape
func encodeF16C(dst *uint16, src *float32, eights int)

//go:noescape
func decodeF16C(dst *float32, src *uint16, eights int)
