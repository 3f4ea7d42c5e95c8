package metric_test

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"

	"raglab/axes/metric"
	"raglab/internal/testdata"
)

func TestMargin(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		scores []float64
		want   float64
	}{
		{[]float64{4, 3, 1}, 0.25},
		{[]float64{0.5, 0.5}, 0},
		{[]float64{3}, 1},
		{[]float64{0, 0}, 0},
		{[]float64{-1, -4}, 0},
	} {
		if got := metric.Margin(tc.scores); got != tc.want {
			t.Errorf("%v: margin %v, want %v", tc.scores, got, tc.want)
		}
	}
	if got := metric.Margin(nil); !math.IsNaN(got) {
		t.Errorf("margin of nothing is %v", got)
	}
	if got := metric.TopScore(nil); !math.IsNaN(got) {
		t.Errorf("top score of nothing is %v", got)
	}
}

// The curves of turkish-rag-eval come out of its records.
func TestTurkish_publishedAbstentionCurves(t *testing.T) {
	t.Parallel()
	var records []struct {
		Margin, Score float64
		Correct       bool
	}
	readJSON(t, testdata.Shared(t, "data/turkish-rag-eval/results/abstain_records.json"), &records)
	for _, signal := range []string{"margin", "score"} {
		var want []metric.AbstainPoint
		readJSON(t, testdata.Shared(t, "data/turkish-rag-eval/results/abstain_curve_"+signal+".json"), &want)
		attempts := make([]metric.Attempt, len(records))
		for i, r := range records {
			attempts[i] = metric.Attempt{Signal: r.Score, Correct: r.Correct}
			if signal == "margin" {
				attempts[i].Signal = r.Margin
			}
		}
		got := metric.Curve(attempts, metric.AbstainThresholds())
		if len(got) != len(want) || len(got) != 21 {
			t.Fatalf("%s: %d points, published %d", signal, len(got), len(want))
		}
		for i, p := range got {
			if !samePoint(p, want[i]) {
				t.Errorf("%s: %+v, published %+v", signal, p, want[i])
			}
		}
	}
}

func samePoint(a, b metric.AbstainPoint) bool {
	near := func(x, y float64) bool { return math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 1e-9 }
	return near(a.Threshold, b.Threshold) && near(a.Coverage, b.Coverage) && near(a.Accuracy, b.Accuracy) &&
		a.Answered == b.Answered && a.Escalated == b.Escalated
}

func TestPickThreshold(t *testing.T) {
	t.Parallel()
	point := func(threshold, accuracy float64, answered int) metric.AbstainPoint {
		return metric.AbstainPoint{Threshold: threshold, Coverage: float64(answered) / 10, Accuracy: accuracy, Answered: answered, Escalated: 10 - answered}
	}
	curve := []metric.AbstainPoint{
		point(0, 0.5, 10), point(0.1, 0.7, 8), point(0.2, 0.7, 8), point(0.3, 0.8, 6), point(0.4, 1, 4), point(0.5, math.NaN(), 0),
	}
	for _, tc := range []struct {
		floor float64
		least int
		want  int // -1: none qualifies
	}{
		{0, 5, 0}, {0.6, 5, 1}, {0.75, 5, 3}, {0.9, 5, -1}, {0.9, 4, 4}, {0, 0, 0}, {0.5, 11, -1},
	} {
		got, ok := metric.PickThreshold(curve, tc.floor, tc.least)
		if ok != (tc.want >= 0) || ok && got != tc.want {
			t.Errorf("floor %v, at least %d: picked %d, %v; want %d", tc.floor, tc.least, got, ok, tc.want)
		}
	}
}

// A higher threshold never answers more; nothing without a result is answered.
func TestCurve_coverageFalls(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		attempts := rapid.SliceOf(rapid.Custom(func(t *rapid.T) metric.Attempt {
			signal := rapid.Float64Range(-0.2, 1.2).Draw(t, "signal")
			if rapid.Bool().Draw(t, "no result") {
				signal = math.NaN()
			}
			return metric.Attempt{Signal: signal, Correct: rapid.Bool().Draw(t, "correct")}
		})).Draw(t, "attempts")
		found := 0
		for _, a := range attempts {
			if !math.IsNaN(a.Signal) {
				found++
			}
		}
		last := found
		for _, p := range metric.Curve(attempts, metric.AbstainThresholds()) {
			if p.Answered > last || p.Answered+p.Escalated != len(attempts) {
				t.Fatalf("%+v after %d answered of %d", p, last, len(attempts))
			}
			if math.IsNaN(p.Accuracy) != (p.Answered == 0) || p.Accuracy < 0 || p.Accuracy > 1 {
				t.Fatalf("accuracy %v of %d answered", p.Accuracy, p.Answered)
			}
			last = p.Answered
		}
	})
}

func TestAbstainPoint_json(t *testing.T) {
	t.Parallel()
	none := metric.AbstainPoint{Threshold: 1, Coverage: 0, Accuracy: math.NaN(), Escalated: 3}
	raw, err := json.Marshal(none)
	if want := `{"threshold":1,"coverage":0,"selective_accuracy":null,"answered":0,"escalated":3}`; err != nil || string(raw) != want {
		t.Fatalf("%s, %v; want %s", raw, err, want)
	}
	var back metric.AbstainPoint
	if err := json.Unmarshal(raw, &back); err != nil || !samePoint(back, none) {
		t.Errorf("read back as %+v, %v", back, err)
	}
}
