package dense

import "golang.org/x/sys/cpu"

// multiply computes a tile; see multiplyPortable.
func multiply(panel, group []int16, limits *[groupSize]int32, out *tile) {
	pairs := min(len(panel)/(2*panelRows), len(group)/(2*groupSize))
	if !cpu.X86.HasAVX2 || pairs == 0 {
		multiplyPortable(panel, group, limits, out)
		return
	}
	multiplyAVX2(&panel[0], &group[0], pairs, limits, out)
}

// multiplyOne computes the first question of a tile; see multiplyOnePortable.
func multiplyOne(panel, question []int16, limit int32, out *tile) {
	pairs := min(len(panel)/(2*panelRows), len(question)/2)
	if !cpu.X86.HasAVX2 || pairs == 0 {
		multiplyOnePortable(panel, question, limit, out)
		return
	}
	multiplyOneAVX2(&panel[0], &question[0], pairs, limit, out)
}

// addProducts adds products lane by lane; see addProductsPortable.
func addProducts(x, y []float32, sums *[lanes]float64) {
	blocks := min(len(x), len(y)) / lanes
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA || blocks == 0 {
		addProductsPortable(x, y, sums)
		return
	}
	addProductsAVX2(&x[0], &y[0], blocks, sums)
}

//go:noescape
func multiplyAVX2(panel, group *int16, pairs int, limits *[groupSize]int32, out *tile)

//go:noescape
func multiplyOneAVX2(panel, question *int16, pairs int, limit int32, out *tile)

//go:noescape
func addProductsAVX2(x, y *float32, blocks int, sums *[lanes]float64)
