package pairing

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"raglab/internal/report"
	"raglab/internal/stats"
)

// Change is a question whose value changed.
type Change struct {
	Question string  `json:"question"`
	Old      float64 `json:"old"`
	New      float64 `json:"new"`
}

// Comparison holds a row's metric against what it was, over the questions that both
// results have a value for.
type Comparison struct {
	Row       string  `json:"configuration"`
	Metric    string  `json:"metric"`
	Questions int     `json:"questions"`
	Old       float64 `json:"old"`
	New       float64 `json:"new"`
	// Family is over how many rows P was corrected.
	Family int `json:"rows_compared"`
	report.Comparison
	// Changes are the questions whose value changed, the largest change first.
	Changes []Change `json:"-"`
}

// Lost are the changes for the worse, largest first, Won those for the better.
func (c *Comparison) Lost() []Change { return c.changed(func(d float64) bool { return d < 0 }) }

// Won are the changes for the better, largest first.
func (c *Comparison) Won() []Change { return c.changed(func(d float64) bool { return d > 0 }) }

func (c *Comparison) changed(is func(difference float64) bool) []Change {
	var out []Change
	for _, x := range c.Changes {
		if is(x.New - x.Old) {
			out = append(out, x)
		}
	}
	return out
}

// Alpha is the chance of calling a difference real that is not.
const Alpha = 0.05

// block is how many rows are resampled together.
const block = 64

// paired is a pair on its way to a comparison.
type paired struct {
	*Comparison
	differences []float64
	questions   string // all ids, which rows that are resampled together share
	p           float64
	same        *paired // the pair of the same two measurements that is tested
}

// Compare compares the pairs by one metric: the new row minus the old one, with a
// 95 % bootstrap interval of the paired difference and a paired randomisation test
// that is corrected by Holm's method over the pairs. Pairs that are one measurement
// under several labels count once in that correction, and those in which no question
// changed do not: their p cannot be other than 1, whatever the data (Tarone,
// Biometrics 46, 1990). Pairs with fewer than two questions in common are not tested.
func Compare(pairs []Pair, metric string) []Comparison {
	out := make([]Comparison, len(pairs))
	byKeys := map[[2]string]*paired{}
	all := make([]*paired, len(pairs))
	var tested []*paired
	for i, pair := range pairs {
		out[i] = Comparison{Row: pair.New.Name, Metric: metric}
		p := &paired{Comparison: &out[i], p: 1}
		all[i] = p
		p.fill(pair, metric)
		keys := [2]string{pair.Old.Key, pair.New.Key}
		switch first, known := byKeys[keys]; {
		case p.Questions < 2:
		case known && keys[0] != "" && keys[1] != "":
			p.same = first
		case len(p.Changes) > 0:
			byKeys[keys] = p
			tested = append(tested, p)
		default:
			byKeys[keys] = p
		}
	}
	test(tested)
	ps := make([]float64, len(tested))
	for i, p := range tested {
		ps[i] = p.p
	}
	for i, p := range stats.Holm(ps) {
		tested[i].p = p
	}
	for _, p := range all {
		p.finish(len(tested))
	}
	return out
}

// fill takes in the questions that both rows have.
func (p *paired) fill(pair Pair, metric string) {
	var ids []string
	for id, values := range pair.New.PerQuestion {
		if values[metric] != nil && pair.Old.PerQuestion[id][metric] != nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids) // resampling depends on their order
	p.Questions, p.questions = len(ids), strings.Join(ids, "\x00")
	var was, is []float64
	for _, id := range ids {
		a, b := *pair.Old.PerQuestion[id][metric], *pair.New.PerQuestion[id][metric]
		was, is = append(was, a), append(is, b)
		p.differences = append(p.differences, b-a)
		switch {
		case math.Abs(b-a) <= stats.DefaultOptions().Equal:
			p.Ties++
			continue
		case b > a:
			p.Wins++
		default:
			p.Losses++
		}
		p.Changes = append(p.Changes, Change{id, a, b})
	}
	if p.Questions == 0 {
		return
	}
	p.Old, p.New = stats.Mean(was), stats.Mean(is)
	p.Difference = p.New - p.Old
	slices.SortStableFunc(p.Changes, func(x, y Change) int {
		return cmp.Compare(math.Abs(y.New-y.Old), math.Abs(x.New-x.Old))
	})
}

// test resamples the differences. Those over the same questions are resampled
// together, each against a row of zeros: what is tested is whether a difference
// is one from nothing.
func test(tested []*paired) {
	groups := map[string][]*paired{}
	for _, p := range tested {
		groups[p.questions] = append(groups[p.questions], p)
	}
	o := stats.DefaultOptions()
	for _, questions := range slices.Sorted(maps.Keys(groups)) {
		for part := range slices.Chunk(groups[questions], block) {
			systems := [][]float64{make([]float64, part[0].Questions)}
			for _, p := range part {
				systems = append(systems, p.differences)
			}
			bootstrap := stats.NewBootstrap(systems, o.Resamples, o.Seed)
			random := stats.NewRandomisation(systems, o.Permutations, o.Seed)
			for i, p := range part {
				p.Low, p.High = bootstrap.Difference(i+1, 0, o.Level)
				p.p = random.P(i+1, 0)
			}
		}
	}
}

// finish writes down what the test came to.
func (p *paired) finish(family int) {
	p.Family = family
	if p.Questions < 2 {
		p.Verdict = report.NotTested
		return
	}
	if p.same != nil {
		p.Low, p.High, p.p = p.same.Low, p.same.High, p.same.p
	}
	o := stats.DefaultOptions()
	if d := stats.SmallestDetectable(p.differences, Alpha, o.Power); !math.IsNaN(d) {
		p.Detectable = d
	}
	p.P, p.Tell, p.Verdict = p.p, p.p < Alpha, report.Level
	if p.Tell {
		p.Verdict = report.Separated
	}
}
