package param

import (
	"fmt"
	"strconv"
	"strings"
)

// sizeUnits are powers of 1000, the largest first.
var sizeUnits = []struct {
	name  string
	bytes float64
}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}}

// ParseSize reads a number of bytes, such as 20GB or 1.5 MB.
func ParseSize(s string) (int64, error) {
	for _, u := range sizeUnits {
		number, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		if v, err := strconv.ParseFloat(strings.TrimSpace(number), 64); err == nil && v >= 0 && v*u.bytes < 1<<63 {
			return int64(v * u.bytes), nil
		}
	}
	return 0, fmt.Errorf("%q is not a size such as 20GB", s)
}

// SizeText writes a number of bytes for people, to a tenth of its unit: what
// [ParseSize] reads.
func SizeText(n int64) string {
	for _, u := range sizeUnits {
		if u.bytes > 1 && float64(n) >= u.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}
