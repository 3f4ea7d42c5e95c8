package report

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"raglab/axes/metric"
)

func points(n int, thresholds []float64, answered, correct []int) []AbstainPoint {
	out := make([]AbstainPoint, len(thresholds))
	for i, t := range thresholds {
		coverage := float64(answered[i]) / float64(n)
		out[i] = AbstainPoint{Threshold: t, Coverage: &coverage, Answered: answered[i], Escalated: n - answered[i]}
		if answered[i] > 0 {
			accuracy := float64(correct[i]) / float64(answered[i])
			out[i].Accuracy = &accuracy
		}
	}
	return out
}

// curved is the sample with the curves of two rows, over a split and without, and
// what two chunkers made of the spans.
func curved() *Report {
	r := sample()
	thresholds, high := []float64{0, 0.25, 0.5, 0.75, 1}, 0.9
	split := Abstention{
		Row: r.Configurations[0].Name, Signal: "score", Leg: "dense", PickedOn: "dev", MinAnswered: 2, Questions: 6, Unanswerable: 1, High: &high,
		Curve: points(6, thresholds, []int{6, 5, 5, 2, 0}, []int{3, 3, 3, 2, 0}),
		Dev:   points(4, thresholds, []int{4, 4, 4, 3, 0}, []int{2, 2, 2, 3, 0}),
	}
	split.Picks = []AbstainPick{
		{0.5, &split.Curve[0].Threshold, &split.Dev[0], &split.Curve[0]},
		{0.9, &split.Curve[3].Threshold, &split.Dev[3], &split.Curve[3]},
	}
	far := 12.5
	whole := Abstention{
		Row: r.Configurations[1].Name, Signal: "margin", PickedOn: "test", MinAnswered: 5, Questions: 6, High: &far, Block: 1,
		Curve: points(6, thresholds, []int{6, 6, 6, 6, 6}, []int{4, 4, 4, 4, 4}),
	}
	whole.Picks = []AbstainPick{{0.6, &whole.Curve[0].Threshold, nil, &whole.Curve[0]}, {0.9, nil, nil, nil}}
	r.Abstentions = []Abstention{split, whole}
	r.AddSpans(Spans{"a", 0.5, metric.SpanCounts{Spans: 8, Whole: 8, Reached: 8, Share: 1}})
	r.AddSpans(Spans{"b(tokens=4)", 0.5, metric.SpanCounts{Spans: 8, Whole: 2, Cut: 5, Dropped: 1, Reached: 6, Share: 0.7125, CutIn: []string{"q1", "q2", "q3", "q5"}, DroppedIn: []string{"q4"}}})
	return r
}

func TestTables_spansAndAbstention(t *testing.T) {
	t.Parallel()
	tables := Pick(curved().Tables(), []string{"spans", "abstention"})
	if len(tables) != 5 {
		t.Fatalf("%d tables, want the spans' and two for each abstain block", len(tables))
	}
	var text strings.Builder
	if err := WriteText(&text, tables, Style{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "abstention.txt", text.String())
	golden(t, "abstention.md", Markdown(tables))
}

func TestAddSpans_onceForEachChunker(t *testing.T) {
	t.Parallel()
	r := curved()
	r.AddSpans(r.Spans[1])
	if len(r.Spans) != 2 {
		t.Errorf("%d chunkers, want 2", len(r.Spans))
	}
}

func TestJSON_spansAndAbstention(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(curved())
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Spans) != 2 || !slices.Equal(back.Spans[1].CutIn, []string{"q1", "q2", "q3", "q5"}) {
		t.Errorf("spans %+v", back.Spans)
	}
	if len(back.Abstentions) != 2 || len(back.Abstentions[0].Curve) != 5 || back.Abstentions[0].Curve[4].Accuracy != nil {
		t.Errorf("abstentions %+v", back.Abstentions)
	}
	if p := back.Abstentions[1].Picks[1]; p.Threshold != nil || p.Test != nil {
		t.Errorf("what does not qualify is picked: %+v", p)
	}
	plain, err := json.Marshal(sample())
	if err != nil || strings.Contains(string(plain), `"abstention"`) || strings.Contains(string(plain), `"spans"`) {
		t.Errorf("a report without them names them, %v", err)
	}
}
