package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"raglab/engine"
	"raglab/internal/jsonscan"
	"raglab/internal/report"
	"raglab/internal/stats"
)

// asking maps the kinds of stage that a question passes through to the part of its
// latency that they are.
var asking = map[string]string{"embed_questions": "embed", "search": "search", "fuse": "fuse", "rerank": "rerank"}

// times are milliseconds by question.
type times map[string]float64

// latency sums, for each scored question, the time it spent in each stage, and in
// each sort of them.
func (c *collector) latency(row Row, scores *Scores) *report.Latency {
	var whole []times
	parts, composed := map[string][]times{}, 0.0
	for _, s := range row.Ask {
		m := c.measure(s)
		if m == nil {
			return nil
		}
		ms, ok := m.share(s, parts)
		if !ok {
			return nil
		}
		whole = append(whole, ms)
		n, _ := m.number("composed_questions")
		composed += n
	}
	sums := summed(whole, scores.Questions)
	if len(sums) == 0 {
		return nil
	}
	out := &report.Latency{Percentiles: percentiles(sums), Parts: map[string]report.Percentiles{}, Composed: composed > 0}
	for name, stages := range parts {
		out.Parts[name] = percentiles(summed(stages, scores.Questions))
	}
	return out
}

// share gives each part the stage's times, and returns the whole of them.
func (m *measurement) share(s *engine.Stage, parts map[string][]times) (times, bool) {
	m.readTimes(s)
	for name, ms := range m.parts {
		parts[name] = append(parts[name], ms)
	}
	return m.whole, m.whole != nil
}

// readTimes reads how long the questions took in the stage, once. Text handling, where
// it was measured, is a part of its own and none of the search.
func (m *measurement) readTimes(s *engine.Stage) {
	m.reading.Do(func() {
		whole := parseTimes(m.values["latency_ms"])
		if whole == nil {
			return
		}
		own := whole
		m.whole, m.parts = whole, map[string]times{}
		if text := parseTimes(m.values["text_ms"]); text != nil {
			m.parts["text"] = text
			own = make(times, len(whole))
			for q, ms := range whole {
				own[q] = ms - text[q]
			}
		}
		m.parts[asking[s.Kind.Name]] = own
	})
}

// parseTimes reads milliseconds by question; nil where there are none.
func parseTimes(raw json.RawMessage) times {
	if raw == nil {
		return nil
	}
	in, ms := jsonscan.New(raw), make(times, 1+bytes.Count(raw, []byte{','}))
	in.Object(func(question []byte) { ms[string(question)] = in.Number() })
	if in.Done() != nil {
		return nil
	}
	return ms
}

// summed adds up each question's times; nil when one was not measured.
func summed(stages []times, questions []QuestionScore) []float64 {
	sums := make([]float64, len(questions))
	for i, q := range questions {
		for _, ms := range stages {
			v, ok := ms[q.ID]
			if !ok {
				return nil
			}
			sums[i] += v
		}
	}
	return sums
}

// percentiles are of at least one value.
func percentiles(ms []float64) report.Percentiles {
	p := stats.NearestRanks(ms, 50, 95)
	return report.Percentiles{P50: p[0], P95: p[1]}
}

// termless counts the questions that a row's searches found no term in; of several
// the most.
func (c *collector) termless(row Row) int {
	most := 0
	for _, s := range row.Ask {
		if m := c.measure(s); m != nil {
			n, _ := m.number("empty_questions")
			most = max(most, int(n))
		}
	}
	return most
}

// termlessNotes says which searches were asked questions without a term.
func (c *collector) termlessNotes(r *report.Report) {
	var said []*engine.Stage
	for _, row := range c.p.Rows {
		for _, s := range row.Ask {
			m := c.measure(s)
			if m == nil || slices.Contains(said, s) {
				continue
			}
			if n, _ := m.number("empty_questions"); n > 0 {
				said = append(said, s)
				r.Notes = append(r.Notes, fmt.Sprintf("%s: text handling leaves no term of %d of all questions, which find nothing there.", s.Address, int(n)))
			}
		}
	}
}

// annRecall reads what checks of approximate indexes came to; of several the worst
// at each rank and the greatest difference of a score, and nothing when one is
// unmeasured.
func (c *collector) annRecall(checks []*engine.Stage) (worst []report.ANNRecall, difference *float64, err error) {
	for i, s := range checks {
		raw, err := c.read(s, "ann_recall")
		if err != nil || raw == nil {
			return nil, nil, err
		}
		found, err := ReadANNRecall(raw)
		if err != nil {
			return nil, nil, err
		}
		if d := found.ScoreDifference; d != nil && (difference == nil || *d > *difference) {
			difference = d
		}
		at := make([]report.ANNRecall, len(found.At))
		for j, a := range found.At {
			at[j] = report.ANNRecall(a)
		}
		if i == 0 {
			worst = at
			continue
		}
		if len(at) != len(worst) {
			return nil, nil, nil
		}
		for j := range worst {
			worst[j].Mean, worst[j].P5 = min(worst[j].Mean, at[j].Mean), min(worst[j].P5, at[j].P5)
		}
	}
	return worst, difference, nil
}
