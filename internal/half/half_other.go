//go:build !amd64

package half

// Encode rounds src into dst, which must be as long.
func Encode(dst []uint16, src []float32) {
	_ = dst[:len(src)]
	fromPortable(dst, src)
}

// Decode converts src into dst, which must be as long.
func Decode(dst []float32, src []uint16) {
	_ = dst[:len(src)]
	toPortable(dst, src)
}
