package pipeline

import (
	"math"
	"strings"
	"testing"

	"raglab/axes"
	"raglab/axes/metric"
	"raglab/engine/artifact"
	"raglab/golden"
)

// scored is a run of several questions: for each its chunks with their scores.
func scored(t *testing.T, questions map[string]map[string]float64, order ...string) []byte {
	t.Helper()
	var run artifact.Run
	for _, q := range order {
		var hits []axes.Hit
		var chunks []string
		for _, name := range []string{"a#0", "b#0"} {
			if score, ok := questions[q][name]; ok {
				hits, chunks = append(hits, axes.Hit{Ordinal: uint32(len(hits)), Score: score}), append(chunks, name)
			}
		}
		run.Questions, run.Hits, run.Chunks = append(run.Questions, q), append(run.Hits, hits), append(run.Chunks, chunks)
	}
	var b strings.Builder
	if err := artifact.WriteRun(&b, run); err != nil {
		t.Fatal(err)
	}
	return []byte(b.String())
}

// Five questions whose right answer is document a, one without an answer and one
// without a result.
func abstainInputs(t *testing.T) map[string][]byte {
	t.Helper()
	run := map[string]map[string]float64{
		"q1": {"a#0": 1, "b#0": 0.2}, // margin 0.8
		"q2": {"a#0": 1, "b#0": 0.5}, // margin 0.5
		"q3": {"b#0": 1},             // margin 1, and wrong
		"q4": {"a#0": 1, "b#0": 1},   // margin 0
		"q5": {"a#0": 2, "b#0": 1},   // margin 0.5, and not to be answered
	}
	to := func(id string, docs ...string) golden.Question {
		q := golden.Question{ID: id, Relevant: []golden.Relevant{}}
		for _, d := range docs {
			q.Relevant = append(q.Relevant, golden.Relevant{Doc: d, Grade: 1})
		}
		return q
	}
	return map[string][]byte{
		"run":        scored(t, run, "q1", "q2", "q3", "q4", "q5"),
		"judgements": plainLines(t, to("q1", "a"), to("q2", "a"), to("q3", "a"), to("q4", "a"), to("q5"), to("q6", "a")),
	}
}

func (l *lab) abstain(t *testing.T, w abstainWork, inputs map[string][]byte) *Abstention {
	t.Helper()
	w.judging = judging{relevance: "document", unreachable: metric.UnreachableZero, coverage: 1, shards: 1}
	out, err := l.run(t, abstainKind, w, inputs)
	if err != nil {
		t.Fatal(err)
	}
	a, err := ReadAbstention(out["abstention"])
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAbstain_marginOfTheRunItself(t *testing.T) {
	t.Parallel()
	a := newLab(t).abstain(t, abstainWork{signal: "margin", thresholds: []float64{0, 0.4, 0.6, 0.9}, floors: []float64{0.5, 0.65, 0.9}, minAnswered: 2}, abstainInputs(t))
	if a.Dev != nil || a.Test.Questions != 6 || a.Test.Unanswerable != 1 || a.Test.Empty != 1 || *a.Test.Low != 0 || *a.Test.High != 1 {
		t.Errorf("got %+v", a.Test)
	}
	for i, want := range []struct {
		answered int
		accuracy float64
	}{{5, 0.6}, {4, 0.5}, {2, 0.5}, {1, 0}} {
		p := a.Test.Curve[i]
		if p.Answered != want.answered || math.Abs(p.Accuracy-want.accuracy) > 1e-12 || p.Escalated != 6-want.answered {
			t.Errorf("point %+v, want %+v", p, want)
		}
	}
	if got := []int{a.Picks[0].At, a.Picks[1].At, a.Picks[2].At}; got[0] != 0 || got[1] != -1 || got[2] != -1 {
		t.Errorf("picks %v, want the first threshold, and none twice", got)
	}
}

// The signal of a leg is held against the judgements of the row's own ranking.
func TestAbstain_scoreOfALeg(t *testing.T) {
	t.Parallel()
	inputs := abstainInputs(t)
	inputs["signal"] = scored(t, map[string]map[string]float64{
		"q1": {"b#0": 0.9}, "q2": {"b#0": 0.8}, "q3": {"b#0": 0.3}, "q6": {"a#0": 0.99},
	}, "q1", "q2", "q3", "q6")
	a := newLab(t).abstain(t, abstainWork{signal: "score", leg: true, thresholds: []float64{0, 0.5, 0.95}, floors: []float64{1}, minAnswered: 1}, inputs)
	for i, answered := range []int{3, 2, 0} {
		if p := a.Test.Curve[i]; p.Answered != answered {
			t.Errorf("%+v, want %d answered: q6 has a signal and no result, q4 and q5 a result and no signal", p, answered)
		}
	}
	if a.Picks[0].At != 1 || a.Test.Curve[1].Accuracy != 1 {
		t.Errorf("picked %d of %+v", a.Picks[0].At, a.Test.Curve)
	}
}

// With a split the threshold is picked on dev questions, whatever the test
// questions say.
func TestAbstain_picksOnDev(t *testing.T) {
	t.Parallel()
	is := func(ids ...string) func(golden.Question) bool {
		return func(q golden.Question) bool {
			for _, id := range ids {
				if q.ID == id {
					return true
				}
			}
			return false
		}
	}
	w := abstainWork{
		signal: "margin", thresholds: []float64{0, 0.4, 0.9}, floors: []float64{0.9}, minAnswered: 1,
		dev: is("q3", "q4"), test: is("q1", "q2", "q5"),
	}
	a := newLab(t).abstain(t, w, abstainInputs(t))
	if a.Dev == nil || a.Dev.Questions != 2 || a.Test.Questions != 3 {
		t.Fatalf("got %+v", a)
	}
	if a.Picks[0].At != -1 {
		t.Errorf("picked %d: on dev no threshold is accurate enough", a.Picks[0].At)
	}
	w.floors = []float64{0.5}
	a = newLab(t).abstain(t, w, abstainInputs(t))
	r := a.report()
	if p := r.Picks[0]; r.PickedOn != "dev" || p.Threshold == nil || *p.Threshold != 0 || p.Dev.Answered != 2 || p.Test.Answered != 3 {
		t.Errorf("got %+v on %s", p, r.PickedOn)
	}
}

func TestReadAbstention_refusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{``, `{}`, `{"version":2}`, `{"version":1,"test":{"curve":[]},"picks":[{"floor":1,"at":0}]}`} {
		if _, err := ReadAbstention([]byte(raw)); err == nil {
			t.Errorf("%s was read", raw)
		}
	}
}
