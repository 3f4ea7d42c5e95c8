package stats

import "golang.org/x/sys/cpu"

// tile computes the lanes of eight inner products; see tilePortable.
func tile(two [2][]float64, four [4][]float64, sums *[8][lanes]float64) {
	blocks := len(two[0]) / lanes
	if !cpu.X86.HasAVX2 || blocks == 0 {
		tilePortable(two, four, sums)
		return
	}
	tileAVX2(&[2]*float64{&two[0][0], &two[1][0]}, &[4]*float64{&four[0][0], &four[1][0], &four[2][0], &four[3][0]}, blocks, sums)
}

//go:noescape
func tileAVX2(two *[2]*float64, four *[4]*float64, blocks int, sums *[8][lanes]float64)
