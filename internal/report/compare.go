package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"raglab/internal/stats"
)

// Complete fills in what follows from the rows: which are inert, how each
// compares with the best, and what each axis is worth. Comparisons that the memory
// knows are not made again; it may be nil.
func (r *Report) Complete(memory *Memory) {
	r.markInert()
	r.compareRows(memory)
	r.Effects = nil
	for _, f := range r.Factors {
		if f.Axis {
			r.Effects = append(r.Effects, r.effect(f, memory))
		}
	}
	slices.SortStableFunc(r.Effects, func(a, b Effect) int { return cmp.Compare(b.Worth, a.Worth) })
}

// Ranked returns the rows by the primary metric, best first, ties in the order
// of the cross; unmeasured rows come last.
func (r *Report) Ranked() []*Configuration {
	rows := make([]*Configuration, len(r.Configurations))
	for i := range rows {
		rows[i] = &r.Configurations[i]
	}
	slices.SortStableFunc(rows, func(a, b *Configuration) int {
		return cmp.Compare(valueOr(b.Metrics[r.Primary], math.Inf(-1)), valueOr(a.Metrics[r.Primary], math.Inf(-1)))
	})
	return rows
}

func valueOr(v *float64, other float64) float64 {
	if v == nil {
		return other
	}
	return *v
}

// markInert finds the rows that are one measurement under several labels. An
// axis is inert in a row when all rows that differ from it in that axis alone
// have the same key. Options that only happen to give one row the same result
// are equal there, not inert.
func (r *Report) markInert() {
	same := map[string][]string{}
	for _, c := range r.Configurations {
		same[c.Key] = append(same[c.Key], c.Name)
	}
	for i := range r.Configurations {
		c := &r.Configurations[i]
		c.InertWith, c.Inert = []string{}, nil
		for _, n := range same[c.Key] {
			if n != c.Name && c.Key != "" {
				c.InertWith = append(c.InertWith, n)
			}
		}
	}
	for _, f := range r.Factors {
		if f.Axis {
			r.markInertIn(f.Name)
		}
	}
}

// markInertIn marks the rows in which one axis is inert. Rows that differ in the
// axis alone are looked at together.
func (r *Report) markInertIn(axis string) {
	lines := map[string][]*Configuration{}
	for i := range r.Configurations {
		c := &r.Configurations[i]
		others := r.otherOptions(c, axis)
		lines[others] = append(lines[others], c)
	}
	for _, line := range lines {
		differs := func(c *Configuration) bool { return c.Key != line[0].Key }
		if len(line) < 2 || line[0].Key == "" || slices.ContainsFunc(line, differs) {
			continue
		}
		for _, c := range line {
			c.Inert = append(c.Inert, axis)
		}
	}
}

// compareRows compares each row with the best one, question by question.
func (r *Report) compareRows(memory *Memory) {
	ranked := r.Ranked()
	if len(ranked) < 2 || len(ranked[0].Values) == 0 {
		return
	}
	best := ranked[0]
	systems := [][]float64{best.Values}
	var rows []*Configuration
	seen := map[string]int{best.Key: -1}
	at := map[*Configuration]int{}
	for _, c := range ranked[1:] {
		if len(c.Values) != len(best.Values) {
			continue
		}
		i, ok := seen[c.Key]
		if !ok {
			i = len(systems) - 1
			seen[c.Key] = i
			systems = append(systems, c.Values)
		}
		rows = append(rows, c)
		at[c] = i
	}
	found := memory.againstFirst(systems)
	for _, c := range rows {
		if i := at[c]; i >= 0 {
			c.Against = &found[i]
		}
	}
}

// block is how many systems are resampled together. The draws are the same for
// each block; what is kept of them takes 160 kB a system.
const block = 64

// againstFirst compares every system but the first with the first, which is
// subtracted, and corrects over these comparisons.
func againstFirst(systems [][]float64) []Comparison {
	systems = stats.Complete(systems)
	var out []Comparison
	var ps []float64
	for others := range slices.Chunk(systems[1:], block) {
		found := compareBlock(append([][]float64{systems[0]}, others...))
		for _, c := range found {
			ps = append(ps, c.P)
		}
		out = append(out, found...)
	}
	for i, p := range stats.Holm(ps) {
		out[i].P, out[i].Tell = p, p < alpha
	}
	return out
}

// compareBlock compares systems with the first, without correction.
func compareBlock(systems [][]float64) []Comparison {
	o := stats.DefaultOptions()
	bootstrap := stats.NewBootstrap(systems, o.Resamples, o.Seed)
	random := stats.NewRandomisation(systems, o.Permutations, o.Seed)
	out := make([]Comparison, len(systems)-1)
	for i := range out {
		low, high := bootstrap.Difference(i+1, 0, o.Level)
		out[i] = Comparison{Difference: stats.Mean(systems[i+1]) - stats.Mean(systems[0]), Low: low, High: high, P: random.P(i+1, 0)}
		if d := stats.SmallestDetectable(differences(systems[i+1], systems[0]), alpha, o.Power); !math.IsNaN(d) {
			out[i].Detectable = d
		}
	}
	return out
}

func differences(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

// alpha is the chance of calling a difference real that is not.
const alpha = 0.05

// effect averages each option of an axis over the rows that the axis makes a
// difference to and that can be compared.
func (r *Report) effect(f Factor, memory *Memory) Effect {
	e := Effect{Axis: f.Name}
	rows, balanced := r.comparable(f)
	e.Unbalanced = !balanced
	values := map[string][]float64{}
	for _, label := range f.Labels {
		o, per := r.option(label, rows[label])
		e.Options = append(e.Options, o)
		if per != nil {
			values[label] = per
		}
	}
	best, worst := math.Inf(-1), math.Inf(1)
	for _, o := range e.Options {
		m := o.Means[r.Primary]
		if m == nil {
			continue
		}
		if *m > best {
			best, e.Best = *m, o.Label
		}
		if *m < worst {
			worst, e.Worst = *m, o.Label
		}
	}
	if e.Best == "" || e.Best == e.Worst {
		return e
	}
	e.Worth = best - worst
	a, b := values[e.Best], values[e.Worst]
	if len(a) > 1 && len(a) == len(b) {
		c := memory.againstFirst([][]float64{b, a})[0]
		e.Comparison = &c
	}
	return e
}

// comparable picks the rows over which an axis's options are averaged, by label.
// Rows that differ in the axis alone form a line. Whole lines are taken, so that
// every option is averaged over the same choices of everything else; what was
// excluded, or not crossed at all, must not favour an option. Without a whole
// line all rows are taken, and the averages are not balanced.
func (r *Report) comparable(f Factor) (rows map[string][]*Configuration, balanced bool) {
	lines := map[string][]*Configuration{}
	var order []string
	for i := range r.Configurations {
		c := &r.Configurations[i]
		if slices.Contains(c.Inert, f.Name) {
			continue
		}
		key := r.otherOptions(c, f.Name)
		if lines[key] == nil {
			order = append(order, key)
		}
		lines[key] = append(lines[key], c)
	}
	take := func(whole bool) map[string][]*Configuration {
		rows := map[string][]*Configuration{}
		for _, key := range order {
			if whole && len(lines[key]) < len(f.Labels) {
				continue
			}
			for _, c := range lines[key] {
				rows[c.Options[f.Name]] = append(rows[c.Options[f.Name]], c)
			}
		}
		return rows
	}
	if rows = take(true); len(rows) > 0 {
		return rows, true
	}
	return take(false), false
}

// otherOptions names all options of a row but one factor's.
func (r *Report) otherOptions(c *Configuration, factor string) string {
	var b strings.Builder
	for _, f := range r.Factors {
		if f.Name != factor {
			b.WriteString(c.Options[f.Name])
			b.WriteByte(0)
		}
	}
	return b.String()
}

// option averages rows of one option, and returns the primary metric by
// question, averaged the same way.
func (r *Report) option(label string, rows []*Configuration) (OptionEffect, []float64) {
	o := OptionEffect{Label: label, Means: map[string]*float64{}}
	o.Rows = len(rows)
	for _, m := range r.Metrics {
		o.Means[m] = meanOf(rows, func(c *Configuration) *float64 { return c.Metrics[m] })
	}
	o.P50 = meanOf(rows, func(c *Configuration) *float64 {
		if c.Latency == nil {
			return nil
		}
		return &c.Latency.P50
	})
	o.Index = meanOf(rows, func(c *Configuration) *float64 {
		if c.IndexBytes == nil {
			return nil
		}
		b := float64(*c.IndexBytes)
		return &b
	})
	var per []float64
	for _, c := range rows {
		if v := c.Metrics[r.Primary]; v != nil && (o.Best == nil || *v > *o.Best) {
			o.Best = v
		}
		if per == nil {
			per = make([]float64, len(c.Values))
		}
		for q, v := range c.Values {
			if q < len(per) {
				per[q] += v / float64(len(rows))
			}
		}
	}
	return o, per
}

// meanOf is the mean of what is measured, nil when a row is unmeasured or there
// are none: a mean over some of the rows would not be comparable.
func meanOf(rows []*Configuration, get func(*Configuration) *float64) *float64 {
	var values []float64
	for _, c := range rows {
		v := get(c)
		if v == nil {
			return nil
		}
		values = append(values, *v)
	}
	if len(values) == 0 {
		return nil
	}
	m := stats.Mean(values)
	return &m
}
