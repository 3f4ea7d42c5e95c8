package pipeline

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"raglab/axes/metric"
)

// scoresWith is what a score stage with one mean writes.
func scoresWith(t *testing.T, mean float64, scored int) []byte {
	t.Helper()
	raw, err := json.Marshal(Scores{Version: scoresVersion, Metrics: []string{"m"}, Summaries: []metric.Summary{{Mean: mean, Scored: scored}}})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// tuneOver tunes one variable whose candidates have the given means, each in one
// row.
func tuneOver(t *testing.T, scored int, means ...float64) (map[string]int, *Curve, error) {
	t.Helper()
	w := tuneWork{primary: "m", variables: []variable{{Name: "k"}}}
	inputs := map[string][]byte{}
	for i, m := range means {
		name := fmt.Sprintf("s%d", i)
		inputs[name] = scoresWith(t, m, scored)
		w.variables[0].Labels = append(w.variables[0].Labels, fmt.Sprint(i*10))
		w.assignments = append(w.assignments, []int{i})
		w.inputs = append(w.inputs, []string{name})
	}
	out, err := newLab(t).run(t, tuneKind, w, inputs)
	if err != nil {
		return nil, nil, err
	}
	var chosen map[string]int
	if err := json.Unmarshal(out["choice"], &chosen); err != nil {
		t.Fatal(err)
	}
	curve, err := ReadCurve(out["curve"])
	return chosen, curve, err
}

func TestTune_choosesTheBest(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		means []float64
		want  int
		flat  bool
		edge  bool
	}{
		{"in the middle", []float64{0.1, 0.3, 0.2}, 1, false, false},
		{"first of equals", []float64{0.1, 0.3, 0.3, 0.2}, 1, false, false},
		{"at the edge", []float64{0.1, 0.2, 0.3}, 2, false, true},
		{"two candidates have no edge", []float64{0.1, 0.2}, 1, false, false},
		{"flat", []float64{0.2, 0.2, 0.2}, 0, true, false},
		{"one candidate", []float64{0.2}, 0, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			chosen, curve, err := tuneOver(t, 10, tc.means...)
			if err != nil {
				t.Fatal(err)
			}
			if chosen["k"] != tc.want || curve.Chosen != tc.want || curve.Flat != tc.flat || (len(curve.Edge) > 0) != tc.edge {
				t.Errorf("chose %d, flat %v, edge %v", chosen["k"], curve.Flat, curve.Edge)
			}
			if len(curve.Points) != len(tc.means) {
				t.Errorf("%d points of %d candidates", len(curve.Points), len(tc.means))
			}
		})
	}
}

func TestTune_needsADevQuestion(t *testing.T) {
	t.Parallel()
	if _, _, err := tuneOver(t, 0, 0, 0); err == nil {
		t.Error("tuned on no question")
	}
}

func TestAssignments_lastVariesFastest(t *testing.T) {
	t.Parallel()
	var got [][]int
	for places := range assignments([]variable{{Labels: []string{"a", "b"}}, {Labels: []string{"x", "y", "z"}}}) {
		got = append(got, slices.Clone(places))
	}
	want := [][]int{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}
