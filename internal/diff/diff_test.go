package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"raglab/internal/report"
)

// results has a row for each label of a chunker, with the values of its questions.
func results(rows ...[]float64) *report.Report {
	r := &report.Report{
		Version: report.Version, Experiment: "e", Primary: "ndcg@10", Metrics: []string{"ndcg@10"}, Depth: 10, Machines: []string{"one"},
		Factors: []report.Factor{{Name: "chunker"}},
		Options: []report.OptionDetail{{Factor: "chunker", Label: "a", Kind: "fixed", Settings: []report.Setting{{Name: "tokens", Value: "256"}}}},
		Tuning:  []report.Tuning{{Names: []string{"k"}, Chosen: []string{"10"}}},
	}
	for i, values := range rows {
		label := string(rune('a' + i))
		r.Factors[0].Labels = append(r.Factors[0].Labels, label)
		c := report.Configuration{Name: label, Options: map[string]string{"chunker": label}, Metrics: map[string]*float64{}, PerQuestion: map[string]map[string]*float64{}}
		mean := 0.0
		for q, v := range values {
			c.PerQuestion[fmt.Sprintf("q%d", q+1)] = map[string]*float64{"ndcg@10": &v}
			mean += v / float64(len(values))
		}
		c.Metrics["ndcg@10"], c.Key = &mean, fmt.Sprint(label, values)
		r.Configurations = append(r.Configurations, c)
	}
	r.Questions.Scored = len(rows[0])
	return r
}

func TestOf_theSame(t *testing.T) {
	t.Parallel()
	a, b := results([]float64{1, 0, 0.5}), results([]float64{1, 0, 0.5})
	b.Configurations[0].Latency = &report.Latency{} // times are measured anew
	d := Of("a", a, "b", b)
	if !d.Same || len(d.Tables()) != 0 {
		t.Errorf("got %+v", d)
	}
}

func TestOf_settings(t *testing.T) {
	t.Parallel()
	old, new := results([]float64{1, 0}), results([]float64{1, 0})
	old.Provenance = &report.Provenance{Spec: strings.Repeat("a", 64)}
	new.Provenance = &report.Provenance{Spec: strings.Repeat("b", 64), Corpus: "c"}
	new.Options[0].Settings[0].Value = "512"
	new.Tuning[0].Chosen[0] = "60"
	new.Machines = []string{"one", "two"}
	old.Title = "A title"
	d := Of("old", old, "new", new)
	want := []Setting{
		{"spec", strings.Repeat("a", 64), strings.Repeat("b", 64)},
		{"corpus", "", "c"},
		{"machines", "one", "one, two"},
		{"chunker a: tokens", "256", "512"},
		{"tuned k", "10", "60"},
		{"title", "A title", ""},
	}
	if d.Same || !slices.Equal(d.Settings, want) {
		t.Errorf("got %+v", d.Settings)
	}
	var text strings.Builder
	if err := report.WriteText(&text, d.Tables(), report.Style{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "aaaaaaaaaaaa  bbbbbbbbbbbb\n") || !strings.Contains(text.String(), "chunker a: tokens  256           512") {
		t.Errorf("got\n%s", &text)
	}
}

func TestOf_rowsAndQuestions(t *testing.T) {
	t.Parallel()
	old := results([]float64{1, 1, 0, 0.5}, []float64{1, 1, 1, 1}, []float64{0, 0, 0, 0})
	new := results([]float64{0, 1, 0.5, 0.5}, []float64{1, 0.5, 1, 1}, []float64{0, 0, 0, 0})
	new.Configurations = append(new.Configurations[:2:2], results([]float64{0}, []float64{0}, []float64{0}, []float64{0}).Configurations[3])
	d := Of("old", old, "new", new)
	if !slices.Equal(d.OnlyOld, []string{"c"}) || !slices.Equal(d.OnlyNew, []string{"d"}) || len(d.Rows) != 2 || d.Same {
		t.Errorf("got %+v", d)
	}
	a := d.Rows[0]
	if len(a.Won) != 1 || a.Won[0].Question != "q3" || len(a.Lost) != 1 || a.Lost[0].Question != "q1" || a.Comparison.Difference != -0.125 {
		t.Errorf("row a: %+v, %+v", a, a.Comparison)
	}
	// Over the two rows: q1 lost 1 in one, q2 half in the other, q3 won half in one.
	if !slices.Equal(d.Lost, []Question{{"q1", -0.5, 1}, {"q2", -0.25, 1}}) || !slices.Equal(d.Won, []Question{{"q3", 0.25, 1}}) {
		t.Errorf("lost %v, won %v", d.Lost, d.Won)
	}
	var text strings.Builder
	if err := report.WriteText(&text, d.Tables(), report.Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0.625 → 0.500", "Only in old: c. Only in new: d.", "Questions won", "Questions lost", "q1        -0.500     1"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, &text)
		}
	}
}

func TestOf_otherMetricsAndQuestions(t *testing.T) {
	t.Parallel()
	old, new := results([]float64{1, 1}), results([]float64{1, 1, 0})
	old.Metrics, old.Primary = []string{"mrr"}, "mrr"
	d := Of("old", old, "new", new)
	if d.Rows[0].Comparison != nil || len(d.Rows[0].Metrics) != 2 || d.Rows[0].Metrics[1].New != nil || !strings.Contains(strings.Join(d.Notes, " "), "The old results lack ndcg@10") {
		t.Errorf("got %+v", d)
	}
	old = results([]float64{1, 1})
	d = Of("old", old, "new", new)
	if d.Rows[0].Comparison.Questions != 2 || !strings.Contains(strings.Join(d.Notes, " "), "the 2 that both have; 0 are in the old results alone and 1 in the new ones alone") {
		t.Errorf("got %+v", d)
	}
}

// Rows that are one measurement under several labels count once in a question's change.
func TestOf_inertRowsCountOnce(t *testing.T) {
	t.Parallel()
	old, new := results([]float64{1, 1}, []float64{1, 1}), results([]float64{0, 1}, []float64{0, 1})
	for _, r := range []*report.Report{old, new} {
		r.Configurations[1].Key = r.Configurations[0].Key
	}
	if d := Of("old", old, "new", new); len(d.Lost) != 1 || d.Lost[0] != (Question{"q1", -1, 1}) {
		t.Errorf("got %+v", d.Lost)
	}
}
