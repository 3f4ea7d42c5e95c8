package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"raglab/internal/stats"
)

// effects says what each axis is worth, the one worth most first, and corrects over
// the axes.
func (r *Report) effects(memory *Memory) {
	r.Effects = nil
	var family []tested
	var at []int
	for _, f := range r.Factors {
		if !f.Axis {
			continue
		}
		e, values := r.effect(f)
		if t, ok := e.test(f.Labels, values, memory); ok {
			at, family = append(at, len(r.Effects)), append(family, t)
		}
		r.Effects = append(r.Effects, e)
	}
	for i, c := range correct(family) {
		for _, q := range family[i].Places {
			c.Decisive = append(c.Decisive, r.Order[q])
		}
		r.Effects[at[i]].Comparison = &c
	}
	slices.SortStableFunc(r.Effects, func(a, b Effect) int { return cmp.Compare(b.Worth, a.Worth) })
}

// effect averages each option of an axis over the rows that the axis makes a
// difference to and that can be compared. It returns the options' values by question
// too, averaged the same way.
func (r *Report) effect(f Factor) (Effect, map[string][]float64) {
	e := Effect{Axis: f.Name}
	rows, balanced := r.comparable(f)
	e.Unbalanced = !balanced
	values := map[string][]float64{}
	for _, label := range f.Labels {
		o, per := r.option(label, rows[label])
		e.Options = append(e.Options, o)
		if len(per) > 0 && o.Means[r.Primary] != nil {
			values[label] = per
		}
	}
	e.extremes(r.Primary)
	if balanced {
		e.Explained = r.explained(f, rows)
	}
	return e, values
}

// extremes finds the best and the worst option.
func (e *Effect) extremes(metric string) {
	best, worst := math.Inf(-1), math.Inf(1)
	for _, o := range e.Options {
		m := o.Means[metric]
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
	if e.Best != "" && e.Best != e.Worst {
		e.Worth = best - worst
	}
}

// test compares the best option with the worst. That they are the extremes of all
// options is taken into account, so that an axis with many options is not worth
// something by their number alone.
func (e *Effect) test(labels []string, values map[string][]float64, memory *Memory) (tested, bool) {
	if e.Best == "" || e.Best == e.Worst {
		return tested{}, false
	}
	var systems [][]float64
	best, worst := -1, -1
	for _, l := range labels {
		if values[l] == nil {
			continue
		}
		switch l {
		case e.Best:
			best = len(systems)
		case e.Worst:
			worst = len(systems)
		}
		systems = append(systems, values[l])
	}
	if best < 0 || worst < 0 {
		return tested{}, false
	}
	name := "extremes " + strconv.Itoa(best) + " " + strconv.Itoa(worst)
	t := remembered(memory, name, systems, func(d *stats.Draws) tested { return compareExtremes(d, systems, best, worst) })
	return t, t.Verdict != NotTested
}

// compareExtremes compares two systems that were picked for being the best and the
// worst of all, on the questions that all are measured on.
func compareExtremes(d *stats.Draws, systems [][]float64, best, worst int) tested {
	kept, places := common(systems)
	if len(places) < 2 {
		return tested{Comparison: Comparison{Verdict: NotTested}}
	}
	o := stats.DefaultOptions()
	a, b := kept[best], kept[worst]
	t := described(differences(a, b))
	t.Low, t.High = d.Bootstrap([][]float64{a, b}, o.Resamples).Difference(0, 1, o.Level)
	all := make([]int, len(kept))
	for i := range all {
		all[i] = i
	}
	t.P = d.Randomisation(kept, o.Permutations).Range(all)
	for i, p := range t.Places {
		t.Places[i] = places[p]
	}
	return t
}

// explained is the share of the rows' spread that an axis explains: the sum of squares
// between its options over that of all rows, the η² of an analysis of variance (Fisher,
// Statistical Methods for Research Workers, 1925, ch. 7). Every option has the same
// number of rows here, over the same choices of everything else. It is nil where that is
// one row, so that nothing else could explain anything, and where rows are not measured
// or score the same.
func (r *Report) explained(f Factor, rows map[string][]*Configuration) *float64 {
	var all []float64
	groups := make([][]float64, 0, len(f.Labels))
	for _, label := range f.Labels {
		var group []float64
		for _, c := range rows[label] {
			m := c.Metrics[r.Primary]
			if m == nil {
				return nil
			}
			group = append(group, *m)
		}
		groups, all = append(groups, group), append(all, group...)
	}
	if len(all) <= len(groups) {
		return nil
	}
	grand := stats.Mean(all)
	var between stats.Accumulator
	for _, g := range groups {
		d := stats.Mean(g) - grand
		between.Add(float64(len(g)) * float64(d*d))
	}
	return shareOf(between.Sum(), squares(all, grand))
}

// squares is the sum of squared distances.
func squares(values []float64, from float64) float64 {
	var sum stats.Accumulator
	for _, v := range values {
		sum.Add(float64((v - from) * (v - from)))
	}
	return sum.Sum()
}

// shareOf is a part of a sum of squares, nil of one that is nothing but rounding.
func shareOf(part, total float64) *float64 {
	const rounding = 1e-24
	if total <= rounding {
		return nil
	}
	share := min(1, max(0, part/total))
	return &share
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

// option averages rows of one option, and returns the primary metric by
// question, averaged the same way; NaN where some row is not measured.
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
