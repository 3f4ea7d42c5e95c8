package report

import (
	"cmp"
	"math"
	"slices"
)

// Complete fills in what follows from the rows: which are inert, how each
// compares with the best, and what each axis is worth. Comparisons that the memory
// knows are not made again; it may be nil.
func (r *Report) Complete(memory *Memory) {
	if memory == nil {
		memory = ParseMemory(nil)
	}
	defer memory.rest()
	r.markInert()
	r.countLosses()
	r.align()
	r.intervals(memory)
	r.compareRows(memory)
	r.effects(memory)
	r.interactions(memory)
	r.ceiling()
	r.tagged(memory)
	r.recommend()
	r.findings(memory)
	r.limit()
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
	for _, c := range ranked {
		c.Against = nil
	}
	if len(ranked) < 2 || len(ranked[0].Values) == 0 {
		return
	}
	best := ranked[0]
	systems, at := [][]float64{best.Values}, map[*Configuration]int{}
	seen := map[string]int{best.Key: -1}
	for _, c := range ranked[1:] {
		if len(c.Values) == 0 {
			continue
		}
		i, ok := seen[c.Key]
		if !ok {
			i = len(systems) - 1
			seen[c.Key] = i
			systems = append(systems, c.Values)
		}
		at[c] = i
	}
	raw := memory.versusFirst(systems)
	found := correct(raw)
	for i := range found {
		for _, q := range raw[i].Places {
			found[i].Decisive = append(found[i].Decisive, r.Order[q])
		}
	}
	for _, c := range ranked[1:] {
		if i, ok := at[c]; ok && i >= 0 {
			c.Against = &found[i]
		}
	}
}
