package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"raglab/internal/stats"
)

// reversals finds the differences between two options that have one sign on the
// questions of one tag and the other on those of another, the largest first. Tags are
// held against each other when they have the same prefix and no question in common. Of
// each axis and pair of tags the largest reversal is looked at, and the values are
// corrected over all of them. Those that the data cannot tell are listed too, but for
// each axis only the largest.
func (r *Report) reversals(groups []tagGroup, axes []axisValues, memory *Memory) {
	var family []tested
	var found []Reversal
	pairs := 0
	for _, a := range axes {
		for i, g := range groups {
			for _, h := range groups[i+1:] {
				if !g.against(h) {
					continue
				}
				pairs++
				v, t, ok := a.reversal(g, h, memory)
				if ok {
					family, found = append(family, t), append(found, v)
				}
			}
		}
	}
	// Pairs without a reversal were looked at too.
	for len(family) < pairs {
		family = append(family, tested{Comparison: Comparison{P: 1}})
	}
	corrected := correct(family)
	for i := range found {
		found[i].Verdict = corrected[i].Verdict
	}
	slices.SortStableFunc(found, func(a, b Reversal) int { return cmp.Compare(b.size(), a.size()) })
	listed := map[string]bool{}
	for _, v := range found {
		if v.Verdict == Separated || !listed[v.Axis] {
			r.Reversals = append(r.Reversals, v)
		}
		listed[v.Axis] = true
	}
}

func (v Reversal) size() float64 { return v.AheadA + v.AheadB }

// against reports whether two tags can be held against each other.
func (g tagGroup) against(h tagGroup) bool {
	prefix := func(tag string) string {
		p, _, found := strings.Cut(tag, ":")
		if !found {
			return ""
		}
		return p
	}
	return prefix(g.tag) == prefix(h.tag) && !slices.ContainsFunc(g.places, func(p int) bool { return slices.Contains(h.places, p) })
}

// reversal is the largest of an axis between two tags, and false if there is none.
func (a axisValues) reversal(g, h tagGroup, memory *Memory) (Reversal, tested, bool) {
	var labels []string
	var systems [][]float64
	for _, l := range a.labels {
		if a.values[l] != nil {
			labels, systems = append(labels, l), append(systems, pick(a.values[l], append(slices.Clone(g.places), h.places...)))
		}
	}
	first := len(g.places)
	best := Reversal{Axis: a.effect.Axis}
	for i := range systems {
		for j := range systems {
			d := differences(systems[i], systems[j])
			onG, onH := stats.Mean(slices.DeleteFunc(d[:first:first], math.IsNaN)), stats.Mean(slices.DeleteFunc(d[first:], math.IsNaN))
			if onG > rounded && onH < -rounded && onG-onH > best.size() {
				best.A, best.B, best.TagA, best.TagB, best.AheadA, best.AheadB = labels[i], labels[j], g.tag, h.tag, onG, -onH
			}
		}
	}
	if best.A == "" {
		return best, tested{}, false
	}
	name := fmt.Sprintf("reversal %d %g", first, best.size())
	return best, remembered(memory, name, systems, func(d *stats.Draws) tested { return testReversal(d, systems, first, best.size()) }), true
}

// testReversal says how often two groups of questions of these sizes, drawn from all
// of them, would show as large a difference between what two options differ by on the
// one and on the other: a permutation test for two samples (Fisher, The Design of
// Experiments, 1935), in which the largest over all pairs of options is looked for.
func testReversal(d *stats.Draws, systems [][]float64, first int, observed float64) tested {
	kept, places := common(systems)
	n, inFirst := len(places), 0
	for _, p := range places {
		if p < first {
			inFirst++
		}
	}
	if inFirst == 0 || inFirst == n {
		return tested{Comparison: Comparison{P: 1}}
	}
	if !worthTesting(kept, inFirst, observed) {
		return tested{Comparison: Comparison{P: 1}}
	}
	o := stats.DefaultOptions()
	totals := make([]float64, len(kept))
	for s, values := range kept {
		totals[s] = stats.Sum(values)
	}
	asLarge := 1
	sums, shifts := d.Splits(kept, inFirst, o.Permutations), make([]float64, len(kept))
	for p := range o.Permutations {
		for s := range kept {
			sum := sums[s][p]
			shifts[s] = sum/float64(inFirst) - (totals[s]-sum)/float64(n-inFirst)
		}
		if slices.Max(shifts)-slices.Min(shifts) >= observed-rounded {
			asLarge++
		}
	}
	if float64(asLarge) >= alpha*float64(o.Permutations+1) {
		// Only the word is told, and that is settled.
		return tested{Comparison: Comparison{P: 1}}
	}
	return tested{Comparison: Comparison{P: float64(asLarge) / float64(o.Permutations+1)}}
}

// worthTesting reports whether a difference between two groups could be told at all:
// for some two options it is at least 1.9 standard errors (Welch, Biometrika 34, 1947),
// so that even uncorrected it may come to 0.05.
func worthTesting(systems [][]float64, first int, observed float64) bool {
	for i := range systems {
		for j := range i {
			d := differences(systems[i], systems[j])
			a, b := stats.Deviation(d[:first]), stats.Deviation(d[first:])
			gap := math.Abs(stats.Mean(d[:first]) - stats.Mean(d[first:]))
			deviation := math.Sqrt(a*a/float64(first) + b*b/float64(len(d)-first))
			if gap >= observed-rounded && !(gap < 1.9*deviation) {
				return true
			}
		}
	}
	return false
}
