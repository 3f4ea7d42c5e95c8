package stats

import (
	"math"
	"slices"
)

// exactBelow is the number of differing questions under which all arrangements
// are counted, exactSums how many sums may be made for it.
const (
	exactBelow = 20
	exactSums  = 1 << 23
)

// Randomisation holds the sums of several systems' values under the same
// random signs, one sign for each question and permutation. Safe for concurrent use.
type Randomisation struct {
	systems [][]float64
	sums    [][]float64 // system × permutation
}

// NewRandomisation draws the signs. The rows are as for [NewBootstrap].
func NewRandomisation(systems [][]float64, permutations int, seed uint64) *Randomisation {
	return NewDraws(seed, 0).Randomisation(systems, permutations)
}

// Randomisation is [NewRandomisation] with these draws.
func (d *Draws) Randomisation(systems [][]float64, permutations int) *Randomisation {
	n := mustBeComplete(systems)
	return &Randomisation{systems, d.weighed(systems, drawing{stream: randomiseStream, times: permutations, questions: n})}
}

// Splits divides the questions at random into two groups, of which the first has so
// many, the given number of times, and returns for each system and split the sum of its
// values over the first group. The rows are as for [NewBootstrap].
func (d *Draws) Splits(systems [][]float64, first, splits int) [][]float64 {
	n := mustBeComplete(systems)
	return d.weighed(systems, drawing{stream: splitStream, times: splits, questions: n, first: first})
}

// P returns the two-sided p-value of the hypothesis that a and b differ by
// chance alone: how often randomly swapping the two systems' values, question by
// question, gives a mean difference at least as large as the one seen. The
// observed arrangement counts as one of the permutations, so that p is never 0
// (Smucker, Allan and Carterette, CIKM 2007; Phipson and Smyth, 2010). Where fewer
// than 20 questions differ all arrangements are counted and the value is exact.
func (t *Randomisation) P(a, b int) float64 {
	rows := [][]float64{t.systems[a], t.systems[b]}
	if differing := whereDifferent(rows); t.exactly(differing) {
		return exactP(differing, spread)
	}
	observed, slack := observe(rows, spread)
	asLarge, others := 1, t.sums[b]
	for p, x := range t.sums[a] {
		if math.Abs(x-others[p]) >= observed-slack {
			asLarge++
		}
	}
	return float64(asLarge) / float64(len(others)+1)
}

func spread(sums []float64) float64 { return slices.Max(sums) - slices.Min(sums) }

// Range returns the p-value of the hypothesis that the given systems differ by
// chance alone, from how far the best and the worst of their means are apart. Since
// the extremes of all are looked at under every permutation, the value holds for
// the best against the worst although they were picked by their means (single-step
// maximum, Westfall and Young, Resampling-Based Multiple Testing, 1993, ch. 2; for
// rankings Carterette, ACM TOIS 30, 2012). For two systems it is [Randomisation.P].
func (t *Randomisation) Range(systems []int) float64 {
	return t.Test(systems, spread)
}

// Test returns the p-value of a statistic of the given systems' sums over
// questions. The hypothesis is that the sign of a question's contribution is chance:
// the statistic must be a function of differences between the sums alone, the same
// when all change their sign, not below 0, and in proportion to them.
func (t *Randomisation) Test(systems []int, statistic func(sums []float64) float64) float64 {
	rows := make([][]float64, len(systems))
	for i, s := range systems {
		rows[i] = t.systems[s]
	}
	if differing := whereDifferent(rows); t.exactly(differing) {
		return exactP(differing, statistic)
	}
	// Sums that are equal on paper may differ in their last digits.
	observed, slack := observe(rows, statistic)
	permutations := len(t.sums[systems[0]])
	asLarge, sums := 1, make([]float64, len(systems))
	for p := range permutations {
		for i, s := range systems {
			sums[i] = t.sums[s][p]
		}
		if statistic(sums) >= observed-slack {
			asLarge++
		}
	}
	return float64(asLarge) / float64(permutations+1)
}

// exactly reports whether all arrangements are counted: where fewer than 20 questions
// differ, unless that takes far more sums than the permutations do.
func (t *Randomisation) exactly(differing [][]float64) bool {
	n := len(differing[0])
	if n >= exactBelow {
		return false
	}
	arrangements := 1 << max(0, n-1)
	return arrangements*len(differing) <= exactSums || arrangements <= len(t.sums[0])
}

// observe returns the statistic as it is, and how much of it may be rounding.
func observe(rows [][]float64, statistic func(sums []float64) float64) (observed, slack float64) {
	sums := make([]float64, len(rows))
	for i, row := range rows {
		sums[i] = Sum(row)
		slack += 1e-12 * absoluteSum(row)
	}
	return statistic(sums), slack
}

// whereDifferent returns the rows, less the first of them, on the questions on which
// they are not all equal: the others contribute nothing to any difference.
func whereDifferent(rows [][]float64) [][]float64 {
	out := matrix(len(rows), len(rows[0]))
	for i := range out {
		out[i] = out[i][:0]
	}
	for q, first := range rows[0] {
		if !slices.ContainsFunc(rows[1:], func(row []float64) bool { return row[q] != first }) {
			continue
		}
		for i, row := range rows {
			out[i] = append(out[i], row[q]-first)
		}
	}
	return out
}

// exactP goes through all sign patterns, of which each stands for its mirror image
// too. The sums of the first ten questions and of the others are made once.
func exactP(rows [][]float64, statistic func(sums []float64) float64) float64 {
	n := len(rows[0])
	if n == 0 {
		return 1
	}
	observed, slack := observe(rows, statistic)
	half := min(n-1, 10)
	low, high := patterns(rows, 0, half), patterns(rows, half, n-1)
	asLarge, sums := 0, make([]float64, len(rows))
	for _, h := range high {
		for _, l := range low {
			for i := range sums {
				sums[i] = l[i] + h[i] + rows[i][n-1]
			}
			if statistic(sums) >= observed-slack {
				asLarge++
			}
		}
	}
	return float64(asLarge) / math.Ldexp(1, n-1)
}

// patterns are the rows' sums over the questions from first to before last, under
// every pattern of signs.
func patterns(rows [][]float64, first, last int) [][]float64 {
	out := matrix(1<<(last-first), len(rows))
	for pattern, sums := range out {
		for i, row := range rows {
			for q := first; q < last; q++ {
				if pattern>>(q-first)&1 == 1 {
					sums[i] -= row[q]
				} else {
					sums[i] += row[q]
				}
			}
		}
	}
	return out
}
