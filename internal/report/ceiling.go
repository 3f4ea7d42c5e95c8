package report

import "math"

// perfect is the highest value that a metric has, less what rounding may take.
const perfect = 1 - 1e-12

// ceiling counts the questions that all rows solve, or none, each measurement once.
// A question that some rows are not measured on is judged by the others.
func (r *Report) ceiling() {
	r.Ceiling = nil
	rows := r.measurements()
	if len(rows) == 0 {
		return
	}
	var c Ceiling
	scored, all, none, best := 0, 0, 0, 0
	for q, id := range r.Order {
		measured, solved, full := 0, 0, 0
		for _, row := range rows {
			v := row.Values[q]
			if math.IsNaN(v) {
				continue
			}
			measured++
			if v > 0 {
				solved++
			}
			if v >= perfect {
				full++
			}
		}
		if measured == 0 {
			continue
		}
		scored++
		if solved == measured {
			all++
		}
		if full == measured {
			best++
		}
		if solved == 0 {
			none++
			c.Unsolved = append(c.Unsolved, id)
		}
	}
	if scored == 0 {
		return
	}
	share := func(n int) float64 { return float64(n) / float64(scored) }
	c.All, c.None, c.Perfect = share(all), share(none), share(best)
	r.Ceiling = &c
}
