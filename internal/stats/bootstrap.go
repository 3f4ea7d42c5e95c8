package stats

// Bootstrap holds the means of several systems over the same resamples of the
// questions. Because every system is measured on the same resample, the
// difference of two columns is the paired bootstrap of their difference. Safe for
// concurrent use.
type Bootstrap struct {
	means [][]float64 // system × resample
}

// NewBootstrap draws questions with replacement, as many as there are, the given
// number of times, and takes each system's mean over them. The rows are the
// systems' values for the same questions in the same order, all measured.
func NewBootstrap(systems [][]float64, resamples int, seed uint64) *Bootstrap {
	return NewDraws(seed, 0).Bootstrap(systems, resamples)
}

// Bootstrap is [NewBootstrap] with these draws.
func (d *Draws) Bootstrap(systems [][]float64, resamples int) *Bootstrap {
	n := mustBeComplete(systems)
	means := d.weighed(systems, drawing{stream: bootstrapStream, times: resamples, questions: n})
	for _, row := range means {
		for r := range row {
			row[r] /= float64(n)
		}
	}
	return &Bootstrap{means}
}

// Mean returns the percentile interval of a system's mean at a confidence
// level such as 0.95.
func (b *Bootstrap) Mean(system int, level float64) (low, high float64) {
	means := make([]float64, len(b.means[system]))
	copy(means, b.means[system])
	return interval(means, level)
}

// Difference returns the percentile interval of the paired difference of means,
// a minus b, at a confidence level (Efron and Tibshirani, An Introduction to the
// Bootstrap, 1993, ch. 13).
func (b *Bootstrap) Difference(a, other int, level float64) (low, high float64) {
	return interval(differences(b.means[a], b.means[other]), level)
}

// interval reorders the means.
func interval(means []float64, level float64) (low, high float64) {
	tail := (1 - level) / 2
	return quantileOf(means, tail), quantileOf(means, 1-tail)
}
