package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"

	"raglab/axes/metric"
	"raglab/engine"
	"raglab/golden"
	"raglab/internal/jsonscan"
)

// scoreWork is the work of a score stage.
type scoreWork struct {
	judging
	metrics []metric.Metric
	// part tells whether a question is scored; nil scores all.
	part func(golden.Question) bool
}

// scoreKind holds a run against the judgements of one part of the questions.
var scoreKind = &engine.Kind{Name: "score", Version: "1", Outputs: []string{"scores"}, Pure: true, Run: runScore}

// Scores is what a score stage writes.
type Scores struct {
	Version int `json:"version"`
	// Metrics are the names, in the order of the spec; Summaries run parallel.
	Metrics   []string         `json:"metrics"`
	Summaries []metric.Summary `json:"summaries"`
	Questions []QuestionScore  `json:"questions"`
	// Lost are questions with an answer span that no chunk holds enough of, and
	// Spans says what the chunker made of all spans. Both are of relevance by span
	// alone.
	Lost  []string           `json:"lost,omitempty"`
	Spans *metric.SpanCounts `json:"spans,omitempty"`
}

// QuestionScore is one question's values, in the order of the metrics; nil for
// a question that is left out.
type QuestionScore struct {
	ID     string    `json:"id"`
	Values []*number `json:"values"`
	// Found is how many documents or chunks the run has for it.
	Found int `json:"found"`
}

// number is a float64 that is written in full.
type number float64

const scoresVersion = 1

func runScore(_ context.Context, t *engine.Task) error {
	w := t.Work.(scoreWork)
	questions, err := readJudgements(t)
	if err != nil {
		return err
	}
	run, err := readRun(t, "run")
	if err != nil {
		return err
	}
	scored := questions[:0:0]
	for _, q := range questions {
		if w.part == nil || w.part(q) {
			scored = append(scored, q)
		}
	}
	v, err := w.judge(t, scored, run)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(scoresOf(w.metrics, scored, v))
	if err != nil {
		return fmt.Errorf("encode scores: %w", err)
	}
	return t.Write("scores", raw)
}

func scoresOf(metrics []metric.Metric, questions []golden.Question, v verdict) Scores {
	values, summaries := metric.Evaluate(metrics, v.judged)
	s := Scores{Version: scoresVersion, Summaries: summaries, Lost: v.lost, Spans: v.spans}
	for _, m := range metrics {
		s.Metrics = append(s.Metrics, m.Name())
	}
	for i, q := range questions {
		qs := QuestionScore{ID: q.ID, Found: len(v.judged[i].Grades), Values: make([]*number, len(metrics))}
		for m := range metrics {
			if v := values[m][i]; !math.IsNaN(v) {
				n := number(v)
				qs.Values[m] = &n
			}
		}
		s.Questions = append(s.Questions, qs)
	}
	return s
}

// Value is the question's value of the metric at that place, and false when it
// is left out.
func (q QuestionScore) Value(metric int) (float64, bool) {
	if q.Values[metric] == nil {
		return 0, false
	}
	return float64(*q.Values[metric]), true
}

// ReadScores reads what a score stage wrote.
func ReadScores(raw []byte) (*Scores, error) {
	s, err := parseScores(raw)
	if err != nil {
		return nil, fmt.Errorf("read scores: %w", err)
	}
	if s.Version != scoresVersion {
		return nil, fmt.Errorf("read scores: version %d, not %d", s.Version, scoresVersion)
	}
	if len(s.Summaries) != len(s.Metrics) {
		return nil, fmt.Errorf("read scores: %d summaries of %d metrics", len(s.Summaries), len(s.Metrics))
	}
	for _, q := range s.Questions {
		if len(q.Values) != len(s.Metrics) {
			return nil, fmt.Errorf("read scores: question %s has %d values of %d metrics", q.ID, len(q.Values), len(s.Metrics))
		}
	}
	return s, nil
}

// parseScores reads a file of scores, of which a report reads as many as it has rows.
func parseScores(raw []byte) (*Scores, error) {
	s, rest, in := &Scores{}, map[string]any{}, jsonscan.New(raw)
	rest["summaries"], rest["lost"], rest["spans"], rest["metrics"] = &s.Summaries, &s.Lost, &s.Spans, &s.Metrics
	var err error
	in.Object(func(name []byte) {
		switch {
		case string(name) == "version":
			s.Version = in.Int()
		case string(name) == "questions":
			s.Questions = parseQuestionScores(in, len(s.Metrics))
		default:
			value := in.Raw()
			if into := rest[string(name)]; into != nil && value != nil && err == nil {
				err = json.Unmarshal(value, into)
			}
		}
	})
	return s, cmp.Or(in.Done(), err)
}

// parseQuestionScores reads the questions, most of which have so many values.
func parseQuestionScores(in *jsonscan.Scanner, metrics int) []QuestionScore {
	if in.Null() {
		return nil
	}
	var out []QuestionScore
	var values []number // of many questions, so that they take one piece of memory
	in.Array(func() {
		var q QuestionScore
		in.Object(func(name []byte) {
			switch string(name) {
			case "id":
				q.ID = string(in.Text())
			case "found":
				q.Found = in.Int()
			case "values":
				q.Values = make([]*number, 0, metrics)
				in.Array(func() {
					if in.Null() {
						q.Values = append(q.Values, nil)
						return
					}
					if len(values) == cap(values) {
						values = make([]number, 0, 1024)
					}
					values = append(values, number(in.Number()))
					q.Values = append(q.Values, &values[len(values)-1])
				})
			default:
				in.Raw()
			}
		})
		out = append(out, q)
	})
	return out
}
