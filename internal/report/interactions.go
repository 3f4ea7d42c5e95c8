package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"raglab/internal/stats"
)

// interactions says of each pair of axes how much the worth of one's options depends
// on the other, the largest first, and corrects over the pairs. Pairs that were not
// crossed with each other are left out, and those whose worths just add up.
func (r *Report) interactions(memory *Memory) {
	r.Interactions = nil
	var family []tested
	for i, a := range r.Factors {
		for _, b := range r.Factors[i+1:] {
			if !a.Axis || !b.Axis {
				continue
			}
			g := r.grid(a, b)
			if g == nil {
				continue
			}
			if found, t := g.interaction(r, memory); found.Size > rounded {
				r.Interactions, family = append(r.Interactions, found), append(family, t)
			}
		}
	}
	for i, c := range correct(family) {
		if c.Verdict == NotTested {
			continue
		}
		for _, q := range family[i].Places {
			c.Decisive = append(c.Decisive, r.Order[q])
		}
		r.Interactions[i].Tested = &c
	}
	slices.SortStableFunc(r.Interactions, func(a, b Interaction) int { return cmp.Compare(b.Size, a.Size) })
}

// rounded is below what a difference of means can be but for rounding.
const rounded = 1e-12

// grid are the rows in which two axes are crossed: for each choice of everything else
// a row for each option of A with each of B.
type grid struct {
	a, b    string
	labelsA []string
	labelsB []string
	rows    [][][]*Configuration // A's option, B's option, everything else
	means   [][]float64          // A's option, B's option
	values  [][]float64          // A's options, each with all of B's: by question
}

// grid returns nil where no two options of each are crossed with everything else the
// same. Rows to which one of the two makes no difference are left out, and options
// that are not crossed with all of the other's.
func (r *Report) grid(a, b Factor) *grid {
	cells := map[string]map[[2]string]*Configuration{}
	var order []string
	for i := range r.Configurations {
		c := &r.Configurations[i]
		if len(c.Values) == 0 || c.Metrics[r.Primary] == nil || slices.Contains(c.Inert, a.Name) || slices.Contains(c.Inert, b.Name) {
			continue
		}
		others := r.otherOptions(c, a.Name, b.Name)
		if cells[others] == nil {
			cells[others] = map[[2]string]*Configuration{}
			order = append(order, others)
		}
		cells[others][[2]string{c.Options[a.Name], c.Options[b.Name]}] = c
	}
	whole := func(as, bs []string) func(others string) bool {
		return func(others string) bool {
			for _, x := range as {
				for _, y := range bs {
					if cells[others][[2]string{x, y}] == nil {
						return false
					}
				}
			}
			return true
		}
	}
	// Either side may have the options that are not crossed with all of the other's.
	withAll := func(labels []string, crossed func(l string) func(string) bool) []string {
		return keep(labels, func(l string) bool { return slices.ContainsFunc(order, crossed(l)) })
	}
	ofA := func(bs []string) []string {
		return withAll(a.Labels, func(l string) func(string) bool { return whole([]string{l}, bs) })
	}
	ofB := func(as []string) []string {
		return withAll(b.Labels, func(l string) func(string) bool { return whole(as, []string{l}) })
	}
	labelsA := ofA(b.Labels)
	labelsB := ofB(labelsA)
	if otherB := ofB(a.Labels); len(labelsA) < 2 || len(otherB) > 1 && len(a.Labels)*len(otherB) > len(labelsA)*len(labelsB) {
		labelsA, labelsB = ofA(otherB), otherB
	}
	order = keep(order, whole(labelsA, labelsB))
	if len(labelsA) < 2 || len(labelsB) < 2 || len(order) == 0 {
		return nil
	}
	g := &grid{a: a.Name, b: b.Name, labelsA: labelsA, labelsB: labelsB}
	for _, x := range labelsA {
		var line [][]*Configuration
		for _, y := range labelsB {
			var rows []*Configuration
			for _, others := range order {
				rows = append(rows, cells[others][[2]string{x, y}])
			}
			line = append(line, rows)
		}
		g.rows = append(g.rows, line)
	}
	g.average(r)
	return g
}

func keep(labels []string, ok func(string) bool) []string {
	var out []string
	for _, l := range labels {
		if ok(l) {
			out = append(out, l)
		}
	}
	return out
}

// average fills in the cells' means and values.
func (g *grid) average(r *Report) {
	for _, line := range g.rows {
		var means []float64
		for _, rows := range line {
			o, per := r.option("", rows)
			means, g.values = append(means, *o.Means[r.Primary]), append(g.values, per)
		}
		g.means = append(g.means, means)
	}
}

// contrast is what two options of A differ by with one option of B, less what they
// differ by with another.
type contrast struct{ a1, a2, b1, b2 int }

func (c contrast) of(at func(a, b int) float64) float64 {
	return (at(c.a1, c.b1) - at(c.a2, c.b1)) - (at(c.a1, c.b2) - at(c.a2, c.b2))
}

// largest finds the largest contrast of cells. For two options of A the best and the
// worst option of B are looked for, which is all that can be the largest.
func largest(as, bs int, at func(a, b int) float64) (best contrast, size float64) {
	size = math.Inf(-1)
	for a1 := range as {
		for a2 := a1 + 1; a2 < as; a2++ {
			high, low := 0, 0
			for b := 1; b < bs; b++ {
				d := at(a1, b) - at(a2, b)
				if d > at(a1, high)-at(a2, high) {
					high = b
				}
				if d < at(a1, low)-at(a2, low) {
					low = b
				}
			}
			c := contrast{a1, a2, high, low}
			if s := c.of(at); s > size {
				best, size = c, s
			}
		}
	}
	return best, size
}

func (g *grid) interaction(r *Report, memory *Memory) (Interaction, tested) {
	as, bs := len(g.labelsA), len(g.labelsB)
	c, size := largest(as, bs, func(a, b int) float64 { return g.means[a][b] })
	found := Interaction{
		A: g.a, B: g.b, Size: size, Explained: g.explained(r.Primary),
		OptionA: [2]string{g.labelsA[c.a1], g.labelsA[c.a2]}, OptionB: [2]string{g.labelsB[c.b1], g.labelsB[c.b2]},
	}
	if !testable(as, bs) {
		return found, tested{Comparison: Comparison{Verdict: NotTested}}
	}
	name := fmt.Sprintf("interaction %d %d %v", as, bs, c)
	t := remembered(memory, name, g.values, func(d *stats.Draws) tested { return compareContrast(d, g.values, as, bs, c) })
	return found, t
}

// testable reports whether testing a grid is a matter of a second: free axes of many
// values make grids in which the largest contrast takes long to look for.
func testable(as, bs int) bool { return as*bs <= 400 && as*as*bs <= 20_000 }

// compareContrast tests a contrast that was picked for being the largest of its grid:
// under each choice of signs the largest is looked for again.
func compareContrast(d *stats.Draws, values [][]float64, as, bs int, c contrast) tested {
	kept, places := common(values)
	if len(places) < 2 {
		return tested{Comparison: Comparison{Verdict: NotTested}}
	}
	o := stats.DefaultOptions()
	diffs := make([]float64, len(places))
	for q := range diffs {
		diffs[q] = c.of(func(a, b int) float64 { return kept[a*bs+b][q] })
	}
	t := described(diffs)
	t.Low, t.High = d.Bootstrap([][]float64{diffs}, o.Resamples).Mean(0, o.Level)
	all := make([]int, len(kept))
	for i := range all {
		all[i] = i
	}
	t.P = d.Randomisation(kept, o.Permutations).Test(all, func(sums []float64) float64 {
		_, size := largest(as, bs, func(a, b int) float64 { return sums[a*bs+b] })
		return size
	})
	for i, p := range t.Places {
		t.Places[i] = places[p]
	}
	return t
}

// explained is the share of the rows' spread that the cells' means have beyond the sum
// of their two options' worths: the sum of squares of the interaction in a balanced
// two-way analysis of variance (Fisher, as in [Report.explained]).
func (g *grid) explained(metric string) float64 {
	var all []float64
	for _, line := range g.rows {
		for _, rows := range line {
			for _, c := range rows {
				all = append(all, *c.Metrics[metric])
			}
		}
	}
	grand := stats.Mean(all)
	ofB := make([]float64, len(g.labelsB))
	for b := range ofB {
		for _, line := range g.means {
			ofB[b] += line[b] / float64(len(g.means))
		}
	}
	var beyond stats.Accumulator
	for _, line := range g.means {
		ofA := stats.Mean(line)
		for b, m := range line {
			d := m - ofA - ofB[b] + grand
			beyond.Add(float64(d * d))
		}
	}
	share := shareOf(beyond.Sum()*float64(len(g.rows[0][0])), squares(all, grand))
	if share == nil {
		return 0
	}
	return *share
}

// otherOptions names all options of a row but those of some factors.
func (r *Report) otherOptions(c *Configuration, factors ...string) string {
	var b strings.Builder
	for _, f := range r.Factors {
		if !slices.Contains(factors, f.Name) {
			b.WriteString(c.Options[f.Name])
			b.WriteByte(0)
		}
	}
	return b.String()
}
