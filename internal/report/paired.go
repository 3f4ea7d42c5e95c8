package report

import (
	"math"
	"slices"

	"raglab/internal/stats"
)

// alpha is the chance of calling a difference real that is not.
const alpha = 0.05

// block is how many systems are resampled together. The draws are the same for
// each block; what is kept of them takes 160 kB a system.
const block = 64

// tested is a comparison before correction, with the places of the questions that
// decide it among the systems' values.
type tested struct {
	Comparison
	Places []int `json:"places,omitempty"`
}

// againstFirst compares every system but the first with the first, which is
// subtracted, and corrects over these comparisons. What was compared is remembered.
func (m *Memory) againstFirst(systems [][]float64) []Comparison {
	return correct(m.versusFirst(systems))
}

// versusFirst is the function of that name, remembered.
func (m *Memory) versusFirst(systems [][]float64) []tested {
	return remembered(m, "first", systems, func(d *stats.Draws) []tested { return versusFirst(d, systems) })
}

// versusFirst compares without correction. Each pair is compared on the questions
// that both are measured on.
func versusFirst(d *stats.Draws, systems [][]float64) []tested {
	out := make([]tested, len(systems)-1)
	for _, group := range measuredAlike(systems[1:]) {
		for others := range slices.Chunk(group, block) {
			rows := [][]float64{systems[0]}
			for _, i := range others {
				rows = append(rows, systems[i+1])
			}
			kept, places := common(rows)
			for k, c := range compareBlock(d, kept) {
				for p := range c.Places {
					c.Places[p] = places[c.Places[p]]
				}
				out[others[k]] = c
			}
		}
	}
	return out
}

// measuredAlike groups the places of systems that are measured on the same questions.
func measuredAlike(systems [][]float64) [][]int {
	var groups [][]int
	at := map[string]int{}
	for i, values := range systems {
		pattern := make([]byte, len(values))
		for q, v := range values {
			if math.IsNaN(v) {
				pattern[q] = 1
			}
		}
		g, ok := at[string(pattern)]
		if !ok {
			g = len(groups)
			at[string(pattern)], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// common returns the values for the questions that all are measured on, and the
// places of these.
func common(systems [][]float64) (kept [][]float64, places []int) {
	for q := range systems[0] {
		if !slices.ContainsFunc(systems, func(values []float64) bool { return math.IsNaN(values[q]) }) {
			places = append(places, q)
		}
	}
	kept = make([][]float64, len(systems))
	for i, values := range systems {
		kept[i] = pick(values, places)
	}
	return kept, places
}

func pick(values []float64, places []int) []float64 {
	out := make([]float64, len(places))
	for i, p := range places {
		out[i] = values[p]
	}
	return out
}

// compareBlock compares systems with the first, without correction.
func compareBlock(d *stats.Draws, systems [][]float64) []tested {
	out := make([]tested, len(systems)-1)
	if len(systems[0]) == 0 {
		for i := range out {
			out[i].Verdict = NotTested
		}
		return out
	}
	o := stats.DefaultOptions()
	bootstrap := d.Bootstrap(systems, o.Resamples)
	random := d.Randomisation(systems, o.Permutations)
	stats.Parallel(len(out), func(i int) {
		out[i] = described(differences(systems[i+1], systems[0]))
		out[i].Difference = stats.Mean(systems[i+1]) - stats.Mean(systems[0])
		out[i].Low, out[i].High = bootstrap.Difference(i+1, 0, o.Level)
		out[i].P = random.P(i+1, 0)
	})
	return out
}

// described is what differences say without resampling.
func described(diffs []float64) tested {
	o := stats.DefaultOptions()
	t := tested{Comparison: Comparison{Difference: stats.Mean(diffs)}, Places: stats.Decisive(diffs, o.Equal)}
	t.Wins, t.Ties, t.Losses = stats.Count(diffs, o.Equal)
	if p := stats.Wilcoxon(diffs, o.Equal); !math.IsNaN(p) {
		t.Wilcoxon = p
	}
	if d := stats.SmallestDetectable(diffs, alpha, o.Power); !math.IsNaN(d) {
		t.Detectable = d
	}
	return t
}

func differences(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

// correct corrects over comparisons that are looked at together, and gives each its
// word.
func correct(family []tested) []Comparison {
	var ps []float64
	for _, t := range family {
		if t.Verdict != NotTested {
			ps = append(ps, t.P)
		}
	}
	ps = stats.Holm(ps)
	out := make([]Comparison, len(family))
	for i, t := range family {
		out[i] = t.Comparison
		if t.Verdict == NotTested {
			continue
		}
		out[i].P, ps = ps[0], ps[1:]
		out[i].Tell, out[i].Verdict = out[i].P < alpha, Level
		if out[i].Tell {
			out[i].Verdict = Separated
		}
	}
	return out
}
