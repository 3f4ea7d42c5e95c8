package dense

// groupSize is how many questions the main kernel takes at a time: with 16 rows
// they fill the registers of AVX2.
const groupSize = 6

// sums are the inner products of a panel's rows with a group's questions, and
// over has a bit for each row whose product is over the question's limit.
type tile struct {
	sums [groupSize][panelRows]int32
	over [groupSize]uint32
}

// multiplyPortable is the definition of multiply: the inner products of a panel
// with a group of questions, packed pair by pair like a panel of six rows.
func multiplyPortable(panel, group []int16, limits *[groupSize]int32, out *tile) {
	out.sums = [groupSize][panelRows]int32{}
	for len(panel) >= 2*panelRows && len(group) >= 2*groupSize {
		for q := range groupSize {
			a, b := int32(group[2*q]), int32(group[2*q+1])
			sums := &out.sums[q]
			for r := range panelRows {
				sums[r] += int32(panel[2*r])*a + int32(panel[2*r+1])*b
			}
		}
		panel, group = panel[2*panelRows:], group[2*groupSize:]
	}
	for q := range groupSize {
		out.over[q] = overLimit(&out.sums[q], limits[q])
	}
}

// multiplyOnePortable is the same for a single question.
func multiplyOnePortable(panel, question []int16, limit int32, out *tile) {
	sums := &out.sums[0]
	*sums = [panelRows]int32{}
	for len(panel) >= 2*panelRows && len(question) >= 2 {
		a, b := int32(question[0]), int32(question[1])
		for r := range panelRows {
			sums[r] += int32(panel[2*r])*a + int32(panel[2*r+1])*b
		}
		panel, question = panel[2*panelRows:], question[2:]
	}
	out.over[0] = overLimit(sums, limit)
}

func overLimit(sums *[panelRows]int32, limit int32) (over uint32) {
	for r, sum := range sums {
		if sum > limit {
			over |= 1 << r
		}
	}
	return over
}

// lanes is how many partial sums an exact inner product has. Their number and
// order is fixed, so that the result is the same everywhere.
const lanes = 16

// dot returns the inner product in double precision. A product of two float32
// is exact in it, so fused multiplication gives the same.
func dot(x, y []float32) float64 {
	var sums [lanes]float64
	whole := len(x) / lanes * lanes
	addProducts(x[:whole], y[:whole], &sums)
	for i := whole; i < len(x); i++ {
		sums[i-whole] += float64(x[i]) * float64(y[i])
	}
	for half := lanes / 2; half > 0; half /= 2 {
		for i := range half {
			sums[i] += sums[i+half]
		}
	}
	return sums[0]
}

// addProductsPortable is the definition of addProducts: it adds the product of
// each element to the sum of its place modulo lanes.
func addProductsPortable(x, y []float32, sums *[lanes]float64) {
	for len(x) >= lanes && len(y) >= lanes {
		for i := range lanes {
			sums[i] += float64(x[i]) * float64(y[i])
		}
		x, y = x[lanes:], y[lanes:]
	}
}
