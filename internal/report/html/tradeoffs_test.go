package html

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"raglab/internal/report"
)

// TestParetoFront_isWhatNoOtherBeats compares the front with its definition.
func TestParetoFront_isWhatNoOtherBeats(t *testing.T) {
	t.Parallel()
	const metric = "m"
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.IntRange(0, 5)
		pairs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]float64 {
			return [2]float64{float64(small.Draw(t, "cost")), float64(small.Draw(t, "quality"))}
		}), 1, 20).Draw(t, "rows")
		rows := make([]*report.Configuration, len(pairs))
		for i, p := range pairs {
			rows[i] = &report.Configuration{IngestSeconds: &p[0], Metrics: map[string]*float64{metric: &p[1]}}
		}
		front := paretoFront(rows, func(c *report.Configuration) *float64 { return c.IngestSeconds }, metric)
		for _, c := range rows {
			beaten := slices.ContainsFunc(rows, func(o *report.Configuration) bool {
				cost, quality := *o.IngestSeconds-*c.IngestSeconds, *o.Metrics[metric]-*c.Metrics[metric]
				return cost <= 0 && quality >= 0 && (cost < 0 || quality > 0)
			})
			stands := slices.ContainsFunc(front, func(o *report.Configuration) bool {
				return *o.IngestSeconds == *c.IngestSeconds && *o.Metrics[metric] == *c.Metrics[metric]
			})
			if beaten == stands {
				t.Fatalf("cost %g, quality %g: beaten %t, on the front %t", *c.IngestSeconds, *c.Metrics[metric], beaten, stands)
			}
		}
	})
}
