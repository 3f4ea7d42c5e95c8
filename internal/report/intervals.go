package report

import (
	"maps"
	"math"
	"slices"

	"raglab/internal/stats"
)

// align fills in the order of the questions and the rows' values in that order, from
// the values by question, where whoever made the report did not: one that was read
// from a file has neither. Rows without values stay without.
func (r *Report) align() {
	if len(r.Order) > 0 {
		return
	}
	asked := map[string]bool{}
	for _, c := range r.Configurations {
		for id := range c.PerQuestion {
			asked[id] = true
		}
	}
	for _, q := range r.Golden {
		if asked[q.ID] {
			r.Order = append(r.Order, q.ID)
			delete(asked, q.ID)
		}
	}
	r.Order = append(r.Order, slices.Sorted(maps.Keys(asked))...)
	for i := range r.Configurations {
		c := &r.Configurations[i]
		c.Values, c.Columns = nil, nil
		if c.Metrics[r.Primary] != nil {
			c.Values = r.valuesOf(c, r.Primary)
		}
	}
}

// valuesOf are a row's values of a metric in the order of the questions, NaN where it
// is not measured.
func (r *Report) valuesOf(c *Configuration, metric string) []float64 {
	if known := c.Columns[metric]; len(known) == len(r.Order) {
		return known
	}
	values := make([]float64, len(r.Order))
	for i, id := range r.Order {
		values[i] = math.NaN()
		if v := c.PerQuestion[id][metric]; v != nil {
			values[i] = *v
		}
	}
	return values
}

// measurements are the rows that have values, each measurement once, in the order of
// the cross.
func (r *Report) measurements() []*Configuration {
	var out []*Configuration
	seen := map[string]bool{}
	for i := range r.Configurations {
		c := &r.Configurations[i]
		if len(c.Values) == 0 || c.Key != "" && seen[c.Key] {
			continue
		}
		seen[c.Key] = true
		out = append(out, c)
	}
	return out
}

// intervals bounds every mean of every row.
func (r *Report) intervals(memory *Memory) {
	rows := r.measurements()
	var systems [][]float64
	for _, metric := range r.Metrics {
		for _, c := range rows {
			systems = append(systems, r.valuesOf(c, metric))
		}
	}
	if len(systems) == 0 {
		return
	}
	bounds := remembered(memory, "means", systems, func(d *stats.Draws) []*Interval { return boundMeans(d, systems) })
	byKey := map[string]map[string]*Interval{}
	for i, c := range rows {
		c.Intervals = map[string]*Interval{}
		for m, metric := range r.Metrics {
			if b := bounds[m*len(rows)+i]; b != nil && c.Metrics[metric] != nil {
				c.Intervals[metric] = b
			}
		}
		byKey[c.Key] = c.Intervals
	}
	for i := range r.Configurations {
		if c := &r.Configurations[i]; c.Key != "" {
			c.Intervals = byKey[c.Key]
		}
	}
}

// boundMeans returns an interval for each system, nil for one that is not measured.
func boundMeans(d *stats.Draws, systems [][]float64) []*Interval {
	o := stats.DefaultOptions()
	out := make([]*Interval, len(systems))
	for _, group := range measuredAlike(systems) {
		for members := range slices.Chunk(group, block) {
			var rows [][]float64
			for _, i := range members {
				rows = append(rows, systems[i])
			}
			kept, _ := common(rows)
			if len(kept[0]) == 0 {
				continue
			}
			bootstrap := d.Bootstrap(kept, o.Resamples)
			stats.Parallel(len(members), func(k int) {
				low, high := bootstrap.Mean(k, o.Level)
				out[members[k]] = &Interval{low, high}
			})
		}
	}
	return out
}
