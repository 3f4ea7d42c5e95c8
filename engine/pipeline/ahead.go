package pipeline

import (
	"raglab/engine"
	"raglab/internal/stats"
)

// ahead are results that were read on all cores before a report is put together, which
// goes by its rows one after the other. What is not here is read when it is asked for:
// a failure to read is told by whoever needs the result.
type ahead struct {
	scores   map[*engine.Stage]*Scores
	measured map[*engine.Stage]*measurement
}

// readAhead reads all scores and measurements.
func (c *collector) readAhead() {
	scored := map[*engine.Stage]bool{}
	for _, row := range c.p.Rows {
		scored[row.Score] = true
	}
	stages := c.p.Graph.Stages
	scores, measured := make([]*Scores, len(stages)), make([]*measurement, len(stages))
	stats.Parallel(len(stages), func(i int) {
		s := stages[i]
		if scored[s] {
			scores[i], _ = c.readScores(s)
			return
		}
		measured[i] = c.readMeasurement(s)
		if m := measured[i]; m != nil && asking[s.Kind.Name] != "" {
			m.readTimes(s)
		}
	})
	c.ahead = ahead{map[*engine.Stage]*Scores{}, map[*engine.Stage]*measurement{}}
	for i, s := range stages {
		if scores[i] != nil {
			c.ahead.scores[s] = scores[i]
		}
		if measured[i] != nil {
			c.ahead.measured[s] = measured[i]
		}
	}
}
