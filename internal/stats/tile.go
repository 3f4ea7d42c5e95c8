package stats

// lanes is how many partial sums an inner product has. Their number and order is fixed,
// so that the result is the same everywhere.
const lanes = 4

// tilePortable is the definition of tile: the products of two vectors with four others,
// all as long, added up in lanes over as many elements as fill these. The products of
// the first vector come first.
func tilePortable(two [2][]float64, four [4][]float64, sums *[8][lanes]float64) {
	for i, x := range two {
		for j, y := range four {
			var a, b, c, d float64
			y = y[:len(x)]
			for k := 0; k+lanes <= len(x); k += lanes {
				a += float64(x[k] * y[k])
				b += float64(x[k+1] * y[k+1])
				c += float64(x[k+2] * y[k+2])
				d += float64(x[k+3] * y[k+3])
			}
			sums[i*4+j] = [lanes]float64{a, b, c, d}
		}
	}
}

// products are the inner products of two vectors with four others. The elements that
// fill no lanes go to the first.
func products(two [2][]float64, four [4][]float64, out *[8]float64) {
	var sums [8][lanes]float64
	tile(two, four, &sums)
	whole := len(two[0]) / lanes * lanes
	for i, x := range two {
		for j, y := range four {
			s := &sums[i*4+j]
			for k := whole; k < len(x); k++ {
				s[0] += float64(x[k] * y[k])
			}
			out[i*4+j] = (s[0] + s[1]) + (s[2] + s[3])
		}
	}
}
