package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// study has two retrievers and two fusions of them, crossed with three texts that
// make no difference to the dense one. Nothing in it is computed by [Report.Complete]
// but what the findings read.
func study() *Report {
	r := &Report{
		Version: Version, Experiment: "study", Metrics: []string{"ndcg@10"}, Primary: "ndcg@10", Depth: 30,
		Questions: Questions{Total: 16, Dev: 4, Test: 12, Scored: 12},
		Machines:  []string{"2 × Test", "8 × Other"},
		Factors: []Factor{
			{Name: "chunker", Labels: []string{"whole"}},
			{Name: "text", Axis: true, Labels: []string{"simple", "lemma"}},
			{Name: "embedder", Labels: []string{"onnx"}},
			{Name: "retriever", Axis: true, Labels: []string{"dense", "lexical", "rrf"}},
		},
		Options: []OptionDetail{
			{Factor: "chunker", Label: "whole", Kind: "whole"},
			{Factor: "text", Label: "simple", Kind: "simple"},
			{Factor: "retriever", Label: "rrf", Kind: "rrf", Legs: []string{"dense", "lexical"}},
		},
		NotCrossed: []NotCrossed{{"chunker", []string{"whole"}, []string{"fixed", "sentence"}}, {"text", []string{"simple", "lemma"}, []string{"prefix"}}},
		Accounting: "6 kept",
	}
	base := map[string]float64{"dense": 0.9, "lexical": 0.5, "rrf": 0.9}
	for _, text := range []string{"simple", "lemma"} {
		for _, retriever := range []string{"dense", "lexical", "rrf"} {
			var values []float64
			for q := range 12 {
				v := base[retriever] + 0.01*float64(q%3)
				if text == "lemma" && retriever != "dense" {
					v -= 0.02 * float64(q%2)
				}
				values = append(values, v)
			}
			key := retriever
			if retriever != "dense" {
				key += text
			}
			c := row(map[string]string{"chunker": "whole", "text": text, "embedder": "onnx", "retriever": retriever}, key, values...)
			c.Name = text + " / " + retriever
			ingest, size := 2.0, int64(1_000_000)
			if text == "lemma" {
				ingest = 20
			}
			if retriever != "lexical" {
				ingest, size = ingest+1000, size+8_000_000
			}
			c.IngestSeconds, c.IndexBytes = &ingest, &size
			c.Latency = &Latency{Percentiles: Percentiles{10, 20}}
			if retriever == "rrf" {
				c.Latency = &Latency{Percentiles: Percentiles{50, 80}}
			}
			r.Configurations = append(r.Configurations, c)
		}
	}
	for q := range 12 {
		r.Golden = append(r.Golden, GoldenQuestion{ID: fmt.Sprintf("q%d", q+1), Text: "Що таке Київ?", Tags: []string{"kind:lead"}, Part: "test", Relevant: 1})
	}
	return r
}

// evidence adds by hand what other parts compute.
func evidence(r *Report) {
	dev, test, low, high := 0.81, 0.79, 0.7, 0.75
	r.Ceiling = &Ceiling{All: 0.916, None: 0.083, Perfect: 0.25, Unsolved: []string{"q9"}}
	r.Interactions = []Interaction{{
		A: "retriever", B: "text", Size: 0.01, OptionA: [2]string{"dense", "lexical"}, OptionB: [2]string{"simple", "lemma"},
		Tested: &Comparison{Difference: 0.01, Low: 0.005, High: 0.015, P: 0.01, Tell: true}, Explained: 0.004,
	}}
	r.Tags = []TagEvidence{{Tag: "kind:lead", Questions: 12, Best: "simple / dense", Means: map[string]*float64{"simple / dense": &dev}, Effects: r.Effects}}
	r.Reversals = []Reversal{{Axis: "text", A: "simple", B: "lemma", TagA: "kind:lead", TagB: "kind:lemma", AheadA: 0.03, AheadB: 0.04, Verdict: Level}}
	r.Tuning = []Tuning{
		{Names: []string{"k"}, Chosen: []string{"10"}, Flat: true, Points: []Point{{[]string{"10"}, &low}, {[]string{"20"}, &low}}},
		{Names: []string{"alpha"}, Chosen: []string{"1"}, Edge: []string{"alpha"}, Points: []Point{{[]string{"0"}, &low}, {[]string{"1"}, &high}}, Dev: &dev, Test: &test},
	}
	r.Recommended = &Recommendation{
		Row: "simple / dense", Best: "simple / dense", Order: []string{"p95", "ingest", "index"}, Level: []string{"simple / dense", "simple / rrf"},
		Otherwise: []string{"simple / rrf would be chosen if it took less than 20.0 ms at p95."},
	}
	r.Mattered = nil
	r.findings(nil)
	r.SetProvenance(Provenance{Program: "raglab dev", Spec: "abc", Unpinned: []string{"corpus: nobody pinned it."}})
}

func TestMattered_golden(t *testing.T) {
	t.Parallel()
	r := study()
	r.Complete(nil)
	evidence(r)
	tables := Pick(r.Tables(), []string{"glance", "mattered", "tags", "interactions", "not_measured", "golden", "limits"})
	var text strings.Builder
	if err := WriteText(&text, tables, Style{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "mattered.txt", text.String())
	golden(t, "mattered.md", Markdown(tables))
}

func TestMattered_largestFirstThenCosts(t *testing.T) {
	t.Parallel()
	r := study()
	r.Complete(nil)
	evidence(r)
	costs := false
	last := math.Inf(1)
	for _, f := range r.Mattered {
		if f.Kind == "cost" && !costs {
			costs, last = true, math.Inf(1)
		}
		if costs != (f.Kind == "cost") {
			t.Errorf("%q stands among the costs", f.Text)
		}
		if size := math.Abs(f.Size); size > last {
			t.Errorf("%q is larger than what stands before it", f.Text)
		} else {
			last = size
		}
	}
	if !costs {
		t.Error("no cost is told")
	}
}

// A fusion is held against its best leg; what the axis's own sentence says is not
// said again of its options.
func TestMattered_whatIsHeldAgainstWhat(t *testing.T) {
	t.Parallel()
	r := study()
	r.Complete(nil)
	var options []string
	for _, f := range r.Mattered {
		if f.Kind == "option" {
			options = append(options, f.Axis+": "+f.Text)
		}
	}
	if len(options) != 1 || !strings.HasPrefix(options[0], "retriever: rrf loses 0.005 ndcg@10 against dense (0.905 against 0.910 over 2 rows; ") {
		t.Errorf("sentences about options:\n%s", strings.Join(options, "\n"))
	}
}

// The numbers of every sentence are those of the tables.
func TestMattered_numbersAreTheTables(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		r := study()
		for i := range r.Configurations {
			c := &r.Configurations[i]
			c.Key = c.Name
			mean := 0.0
			for q := range c.Values {
				v := random.Float64()
				c.Values[q], c.PerQuestion[fmt.Sprintf("q%d", q+1)] = v, map[string]*float64{"ndcg@10": &v}
				mean += v / float64(len(c.Values))
			}
			c.Metrics["ndcg@10"] = &mean
		}
		r.Complete(nil)
		for _, e := range r.Effects {
			checkAxis(t, e, r.Mattered[slices.IndexFunc(r.Mattered, func(f Finding) bool { return f.Kind == "axis" && f.Axis == e.Axis })])
		}
		for _, f := range r.Mattered {
			if f.Kind == "option" && f.Interval != nil && (f.Size < f.Interval.Low-1e-9 || f.Size > f.Interval.High+1e-9) {
				t.Errorf("%q: %v is not within %v", f.Text, f.Size, *f.Interval)
			}
		}
	}
}

func checkAxis(t *testing.T, e Effect, f Finding) {
	t.Helper()
	for _, number := range []string{
		fmt.Sprintf("worth %.3f ndcg@10", e.Worth),
		fmt.Sprintf("%s scores %.3f", e.Best, *e.mean(e.Best, "ndcg@10")),
		fmt.Sprintf("%s scores %.3f", e.Worst, *e.mean(e.Worst, "ndcg@10")),
	} {
		if !strings.Contains(f.Text, number) {
			t.Errorf("%q lacks %q", f.Text, number)
		}
	}
	if c := e.Comparison; c == nil || (f.Verdict == Separated) != c.Tell {
		t.Errorf("%q is of the comparison %+v", f.Text, c)
	}
}

func TestMattered_unmeasured(t *testing.T) {
	t.Parallel()
	r := study()
	for i := range r.Configurations {
		c := &r.Configurations[i]
		c.Metrics, c.Values, c.Latency, c.IndexBytes, c.IngestSeconds, c.Key = map[string]*float64{"ndcg@10": nil}, nil, nil, nil, nil, ""
	}
	r.Complete(nil)
	for _, f := range r.Mattered {
		if f.Verdict != NotTested || !strings.Contains(f.Text, "nothing can be told") {
			t.Errorf("%+v is told of what nobody measured", f)
		}
	}
	if text := strings.Join(r.Limits, "\n"); !strings.Contains(text, "quality of 6 rows") {
		t.Errorf("the limits do not count what is unmeasured:\n%s", text)
	}
}

// Figures in sentences are not rounded to what they are not.
func TestFigures(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		share(0): "0 %", share(0.004): "0.4 %", share(0.5): "50 %", share(0.996): "over 99 %", share(1): "100 %",
		signed(-0.0001): "+0.000", signed(-0.02): "-0.020", signed(0.1): "+0.100",
		thousands(7): "7", thousands(999): "999", thousands(2880): "2,880", thousands(1234567): "1,234,567",
		worthOver(-0.0001, "mrr", "x"): "is worth +0.000 mrr over x", worthOver(-0.02, "mrr", "x"): "loses 0.020 mrr against x",
		count(1, "row", "rows"): "1 row", count(0, "row", "rows"): "0 rows",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	r := study()
	for label, want := range map[string]string{"12": "size 12", "-0.5": "size -0.5", "e5_small": "e5_small"} {
		if got := r.called("size", label); got != want {
			t.Errorf("%s is called %q, want %q", label, got, want)
		}
	}
}

// Costs that differ by less than a machine's own variation have no sentence, nor
// have those that differ by much and are next to nothing.
func TestMattered_smallCostsAreNotTold(t *testing.T) {
	t.Parallel()
	r := study()
	for i := range r.Configurations {
		c := &r.Configurations[i]
		ingest, size := 100.0+0.9*float64(i), int64(50_000*(i+1))
		c.IngestSeconds, c.IndexBytes, c.Latency = &ingest, &size, &Latency{Percentiles: Percentiles{0.1 * float64(i+1), 50 + float64(i)/2}}
	}
	r.Complete(nil)
	for _, f := range r.Mattered {
		if f.Kind == "cost" && !strings.Contains(f.Text, "index") {
			t.Errorf("%q is told", f.Text)
		}
	}
}
