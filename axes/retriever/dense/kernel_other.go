//go:build !amd64

package dense

func multiply(panel, group []int16, limits *[groupSize]int32, out *tile) {
	multiplyPortable(panel, group, limits, out)
}

func multiplyOne(panel, question []int16, limit int32, out *tile) {
	multiplyOnePortable(panel, question, limit, out)
}

func addProducts(x, y []float32, sums *[lanes]float64) {
	addProductsPortable(x, y, sums)
}
