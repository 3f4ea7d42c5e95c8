package stats

import "math"

// Options says how systems are compared.
type Options struct {
	Resamples    int     // of the bootstrap
	Permutations int     // of the randomisation test
	Seed         uint64  // of both
	Level        float64 // of the intervals, such as 0.95
	Power        float64 // for the smallest detectable difference, such as 0.8
	Equal        float64 // values this close count as a tie
}

// DefaultOptions are 10,000 resamples and permutations, 95 % intervals and 80 %
// power; values within 1e-12 are ties.
func DefaultOptions() Options {
	return Options{Resamples: 10_000, Permutations: 10_000, Seed: 1, Level: 0.95, Power: 0.8, Equal: 1e-12}
}

// Comparison is what can be said about two systems, A minus B, from their
// values for the same questions.
type Comparison struct {
	A, B       int // places among the systems
	Questions  int
	Difference float64 // of the means
	Low, High  float64 // percentile bootstrap interval of the difference
	P          float64 // two-sided, by the paired randomisation test
	Adjusted   float64 // P after Holm's correction over the comparisons made together
	// Wins counts the questions on which A has the higher value.
	Wins, Ties, Losses int
	// Wilcoxon is the p-value of the signed-rank test, NaN when nothing differs.
	Wilcoxon float64
	// Detectable is the smallest true difference that this many questions
	// would show, see [SmallestDetectable].
	Detectable float64
}

// Compare makes all pairs of systems, A before B, and corrects over them. The
// rows are the systems' values for the same questions in the same order; a
// question that some system was not measured on, NaN, is left out for all (see
// [Complete]). Without a question left there is no comparison.
func Compare(systems [][]float64, o Options) []Comparison {
	systems = Complete(systems)
	if len(systems) == 0 || len(systems[0]) == 0 {
		return nil
	}
	bootstrap := NewBootstrap(systems, o.Resamples, o.Seed)
	signs := NewRandomisation(systems, o.Permutations, o.Seed)
	var out []Comparison
	for a := range systems {
		for b := a + 1; b < len(systems); b++ {
			out = append(out, Comparison{A: a, B: b})
		}
	}
	Parallel(len(out), func(i int) {
		a, b := out[i].A, out[i].B
		c := pair(systems[a], systems[b], o)
		c.A, c.B = a, b
		c.Low, c.High = bootstrap.Difference(a, b, o.Level)
		c.P = signs.P(a, b)
		out[i] = c
	})
	ps := make([]float64, len(out))
	for i, c := range out {
		ps[i] = c.P
	}
	for i, p := range Holm(ps) {
		out[i].Adjusted = p
	}
	return out
}

func pair(a, b []float64, o Options) Comparison {
	diffs := differences(a, b)
	c := Comparison{
		Questions:  len(diffs),
		Difference: Mean(diffs),
		Wilcoxon:   Wilcoxon(diffs, o.Equal),
		Detectable: SmallestDetectable(diffs, 1-o.Level, o.Power),
	}
	c.Wins, c.Ties, c.Losses = Count(diffs, o.Equal)
	return c
}

// Count counts the differences above, within and below equal.
func Count(diffs []float64, equal float64) (wins, ties, losses int) {
	for _, d := range diffs {
		switch {
		case d > equal:
			wins++
		case d < -equal:
			losses++
		default:
			ties++
		}
	}
	return wins, ties, losses
}

// Decisive returns the places of the differences without any one of which their
// sum would have the other sign or vanish, in order.
func Decisive(diffs []float64, equal float64) []int {
	sum := Sum(diffs)
	if math.Abs(sum) <= equal {
		return nil
	}
	var out []int
	for i, d := range diffs {
		if without := sum - d; without*sum <= 0 || math.Abs(without) <= equal {
			out = append(out, i)
		}
	}
	return out
}

// Complete returns the rows without the columns in which any row is NaN.
func Complete(systems [][]float64) [][]float64 {
	if len(systems) == 0 {
		return nil
	}
	out := make([][]float64, len(systems))
	for i := range systems[0] {
		if unmeasured(systems, i) {
			continue
		}
		for s, row := range systems {
			out[s] = append(out[s], row[i])
		}
	}
	return out
}

func unmeasured(systems [][]float64, question int) bool {
	for _, row := range systems {
		if math.IsNaN(row[question]) {
			return true
		}
	}
	return false
}
