package metric

import (
	"encoding/json"
	"fmt"
	"math"

	"raglab/internal/stats"
)

// Summary is the mean of a metric over questions, with what the mean hides.
// Without it a mean over half of the questions looks like one over all.
type Summary struct {
	// Mean is over the scored questions, NaN when there are none.
	Mean float64
	// Scored counts the questions in the mean, Excluded those left out because
	// nothing is relevant to them.
	Scored, Excluded int
	// Empty counts the scored questions for which the run returned nothing,
	// Missing those that the run does not name. Both count 0 in the mean, as
	// with trec_eval's option -c.
	Empty, Missing int
}

// Measured reports whether any question was scored.
func (s Summary) Measured() bool { return s.Scored > 0 }

type summaryJSON struct {
	Mean     *float64 `json:"mean"`
	Scored   int      `json:"scored"`
	Excluded int      `json:"excluded"`
	Empty    int      `json:"empty"`
	Missing  int      `json:"missing"`
}

// MarshalJSON writes a mean that was not measured as null.
func (s Summary) MarshalJSON() ([]byte, error) {
	out := summaryJSON{&s.Mean, s.Scored, s.Excluded, s.Empty, s.Missing}
	if !s.Measured() {
		out.Mean = nil
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what [Summary.MarshalJSON] writes.
func (s *Summary) UnmarshalJSON(data []byte) error {
	var in summaryJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("read summary of a metric: %w", err)
	}
	*s = Summary{math.NaN(), in.Scored, in.Excluded, in.Empty, in.Missing}
	if in.Mean != nil {
		s.Mean = *in.Mean
	}
	return nil
}

// Evaluate returns each metric's value for each question, NaN for the excluded
// ones, and its summary.
func Evaluate(metrics []Metric, questions []Judged) (values [][]float64, summaries []Summary) {
	values, summaries = make([][]float64, len(metrics)), make([]Summary, len(metrics))
	for i, m := range metrics {
		values[i] = make([]float64, len(questions))
		for q, j := range questions {
			values[i][q] = m.Value(j)
		}
		summaries[i] = Summarise(values[i], questions)
	}
	return values, summaries
}

// Summarise summarises one metric's values for the questions. The slices run in
// parallel; a caller that wants a summary of some of the questions passes
// those.
func Summarise(values []float64, questions []Judged) Summary {
	var s Summary
	var sum stats.Accumulator
	for i, j := range questions {
		switch {
		case len(j.Ideal) == 0:
			s.Excluded++
			continue
		case j.Missing:
			s.Missing++
		case len(j.Grades) == 0:
			s.Empty++
		}
		s.Scored++
		sum.Add(values[i])
	}
	s.Mean = sum.Sum() / float64(s.Scored)
	return s
}
