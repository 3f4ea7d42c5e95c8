//go:build !amd64

package stats

// tile computes the lanes of eight inner products; see tilePortable.
func tile(two [2][]float64, four [4][]float64, sums *[8][lanes]float64) {
	tilePortable(two, four, sums)
}
