package gate

import (
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"raglab/internal/report"
)

// results has rows of one axis, retriever, with values for their questions.
func results(rows map[string][]float64) *report.Report {
	r := &report.Report{
		Version: report.Version, Experiment: "e", Primary: "ndcg@10", Metrics: []string{"ndcg@10", "recall@5"}, Depth: 10,
		Factors: []report.Factor{{Name: "retriever", Axis: true}},
	}
	for _, name := range []string{"dense", "lexical", "rrf"} {
		values, ok := rows[name]
		if !ok {
			continue
		}
		r.Factors[0].Labels = append(r.Factors[0].Labels, name)
		c := report.Configuration{
			Name: name, Key: fmt.Sprint(name, values), Options: map[string]string{"retriever": name},
			Metrics: map[string]*float64{}, PerQuestion: map[string]map[string]*float64{},
		}
		mean := 0.0
		for i, v := range values {
			mean += v / float64(len(values))
			c.PerQuestion[fmt.Sprintf("q%02d", i)] = map[string]*float64{"ndcg@10": &v, "recall@5": &v}
		}
		c.Metrics["ndcg@10"], c.Metrics["recall@5"] = &mean, nil
		r.Configurations = append(r.Configurations, c)
	}
	return r
}

func constant(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

func run(t *testing.T, q Request) *Outcome {
	t.Helper()
	o, err := Run(q)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestRun_limits(t *testing.T) {
	t.Parallel()
	r := results(map[string][]float64{"dense": constant(4, 0.5), "lexical": constant(4, 0.25)})
	bytes, seconds := int64(2_500_000), 3.0
	for i := range r.Configurations {
		r.Configurations[i].Latency = &report.Latency{Percentiles: report.Percentiles{P50: 5, P95: 20}}
		r.Configurations[i].IndexBytes, r.Configurations[i].IngestSeconds = &bytes, &seconds
	}
	r.Configurations[1].Latency = nil
	lexical := map[string]string{"retriever": "lexical"}
	for name, tc := range map[string]struct {
		rule   report.GateRule
		passed []bool
		text   string
	}{
		"floor of the best":     {report.GateRule{Floors: map[string]float64{"ndcg@10": 0.5}}, []bool{true}, "ndcg@10 of dense is 0.5, not below the floor of 0.5."},
		"floor above the best":  {report.GateRule{Floors: map[string]float64{"ndcg@10": 0.6}}, []bool{false}, "ndcg@10 of dense is 0.5, below the floor of 0.6."},
		"floor of a row":        {report.GateRule{Where: lexical, Floors: map[string]float64{"ndcg@10": 0.3}}, []bool{false}, "ndcg@10 of lexical is 0.25, below"},
		"unmeasured is no pass": {report.GateRule{Floors: map[string]float64{"recall@5": 0}}, []bool{false}, "recall@5 of dense is unmeasured; its floor is 0."},
		"no row is no pass":     {report.GateRule{Where: map[string]string{"retriever": "bm25"}, Floors: map[string]float64{"ndcg@10": 0}}, []bool{false}, "No row has retriever = bm25"},
		"costs":                 {report.GateRule{Max: map[string]float64{"p50": 5, "p95": 19, "index": 2.5, "ingest": 3}}, []bool{true, true, true, false}, "p95 of dense is 20 ms, above the bound of 19 ms."},
		"cost unmeasured":       {report.GateRule{Where: lexical, Max: map[string]float64{"p95": 100}}, []bool{false}, "p95 of lexical is unmeasured; its bound is 100 ms."},
	} {
		o := run(t, Request{Results: r, Rules: []report.GateRule{tc.rule}})
		var passed []bool
		var texts []string
		for _, c := range o.Checks {
			passed, texts = append(passed, c.Passed), append(texts, c.Text)
		}
		if !slices.Equal(passed, tc.passed) || !strings.Contains(strings.Join(texts, "\n"), tc.text) || o.Passed != !slices.Contains(passed, false) {
			t.Errorf("%s: %v, %q", name, passed, texts)
		}
	}
}

func TestRun_expectations(t *testing.T) {
	t.Parallel()
	r, v := results(map[string][]float64{"dense": constant(4, 0.5)}), 0.5
	r.Expectations = []report.Expectation{
		{Row: "dense", Metric: "ndcg@10", Value: 0.5, Measured: &v, Verdict: "OK"},
		{Row: "dense", Metric: "ndcg@10", Value: 0.7, Measured: &v, Within: 0.01, Source: "a paper", Verdict: "off by -0.2"},
		{Metric: "ndcg@10", Value: 0.7, Verdict: "missing: no row is meant"},
	}
	o := run(t, Request{Results: r})
	if o.Passed || o.Failed != 2 || !o.Checks[0].Passed || o.Checks[1].Passed || o.Checks[2].Passed {
		t.Errorf("got %+v", o.Checks)
	}
	if want := "ndcg@10 of dense is expected to be 0.7 ± 0.01, as a paper has it: off by -0.2."; o.Checks[1].Text != want {
		t.Errorf("got %q", o.Checks[1].Text)
	}
}

// lost has 20 of 60 questions at a lower value.
func lost(by float64) []float64 {
	values := constant(60, 0.8)
	for i := range 20 {
		values[i*3] -= by
	}
	return values
}

func TestRun_drops(t *testing.T) {
	t.Parallel()
	base := results(map[string][]float64{"dense": constant(60, 0.8), "lexical": constant(60, 0.5)})
	for name, tc := range map[string]struct {
		dense  []float64
		allow  float64
		passed bool
		text   string
	}{
		"nothing changed":        {constant(60, 0.8), 0, true, "ndcg@10 of dense is what it was, 0.8, on every question."},
		"a clear drop":           {lost(0.3), 0, false, "fell from 0.8 to 0.7, which is not noise"},
		"a clear drop, allowed":  {lost(0.3), 0.11, true, "by no more than the 0.11 allowed"},
		"more than allowed":      {lost(0.3), 0.05, false, "by more than the 0.05 allowed, which is not noise"},
		"better":                 {constant(60, 0.9), 0, true, "went from 0.8 to 0.9"},
		"one question of sixty":  {append(constant(59, 0.8), 0), 0, true, "which the data cannot tell from noise"},
		"noise is never failure": {append(constant(58, 0.8), 0, 0.1), 0, true, "cannot tell"},
	} {
		now := results(map[string][]float64{"dense": tc.dense, "lexical": constant(60, 0.5)})
		q := Request{Results: now, Baseline: base, BaselineName: "main", Rules: []report.GateRule{{Allow: map[string]float64{"ndcg@10": tc.allow}}}}
		o := run(t, q)
		if len(o.Checks) != 2 || o.Passed != tc.passed || !strings.Contains(o.Checks[0].Text, tc.text) {
			t.Errorf("%s: passed %v, %q", name, o.Passed, o.Checks[0].Text)
		}
	}
}

func TestRun_regressedQuestionsLargestFirst(t *testing.T) {
	t.Parallel()
	worse := lost(0.3)
	worse[33] = 0
	o := run(t, Request{
		Results:  results(map[string][]float64{"dense": worse}),
		Baseline: results(map[string][]float64{"dense": constant(60, 0.8)}), BaselineName: "main",
	})
	got := o.Checks[0].Regressed
	if len(got) != mostRegressed || got[0].Question != "q33" || got[1].Question != "q00" || got[0].New != 0 {
		t.Errorf("got %+v", got)
	}
	var text strings.Builder
	if err := o.WriteText(&text, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"e: failed, 1 of 1 check\n", "held against main, on 60 questions\n", "FAIL  drop    ndcg@10 of dense fell", "        q33: 0.8 → 0\n", "        and 10 more\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, &text)
		}
	}
}

func TestRun_otherQuestionsAndRows(t *testing.T) {
	t.Parallel()
	base := results(map[string][]float64{"dense": constant(10, 0.8), "lexical": constant(10, 0.8)})
	base.Experiment, base.Depth = "old", 5
	o := run(t, Request{Results: results(map[string][]float64{"dense": constant(14, 0.8), "rrf": constant(14, 0.8)}), Baseline: base, BaselineName: "main"})
	if len(o.Checks) != 1 || o.Checks[0].Comparison.Questions != 10 || o.Questions.Both != 10 {
		t.Errorf("got %+v", o)
	}
	notes := strings.Join(o.Notes, "\n")
	for _, want := range []string{"of the experiment old", "the 10 that both have; 0 are in the baseline alone and 4 in the results alone", "5 deep in the baseline and are 10", "in the baseline alone: lexical", "in the results alone: rrf"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q:\n%s", want, notes)
		}
	}
}

// Rules and rows decide what is compared, and how far it may fall.
func TestRun_whichRows(t *testing.T) {
	t.Parallel()
	base := results(map[string][]float64{"dense": constant(60, 0.8), "lexical": constant(60, 0.8)})
	now := results(map[string][]float64{"dense": lost(0.3), "lexical": lost(0.2)})
	dense := map[string]string{"retriever": "dense"}
	all := report.GateRule{Allow: map[string]float64{"ndcg@10": 0.07}}
	for name, tc := range map[string]struct {
		rules []report.GateRule
		rows  []map[string]string
		want  map[string]bool
	}{
		"no rule":                       {nil, nil, map[string]bool{"dense": false, "lexical": false}},
		"one for all":                   {[]report.GateRule{all}, nil, map[string]bool{"dense": false, "lexical": true}},
		"one of its own":                {[]report.GateRule{all, {Where: dense, Allow: map[string]float64{"ndcg@10": 0.2}}}, nil, map[string]bool{"dense": true, "lexical": true}},
		"only rows that one is about":   {[]report.GateRule{{Where: dense, Floors: map[string]float64{"ndcg@10": 0}}}, nil, map[string]bool{"dense": false}},
		"rows that are asked for alone": {[]report.GateRule{all}, []map[string]string{{"retriever": "lexical"}}, map[string]bool{"lexical": true}},
	} {
		o := run(t, Request{Results: now, Baseline: base, Rules: tc.rules, Rows: tc.rows})
		got := map[string]bool{}
		for _, c := range o.Checks {
			if c.Kind == Drop {
				got[c.Row] = c.Passed
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	o := run(t, Request{Results: now, Baseline: base, Rules: []report.GateRule{{Allow: map[string]float64{"recall@5": 0}}}})
	if o.Failed != 4 {
		t.Errorf("with recall@5 named %d fail, want both rows by both metrics", o.Failed)
	}
}

func TestRun_couldNotCheck(t *testing.T) {
	t.Parallel()
	r := results(map[string][]float64{"dense": constant(4, 0.5)})
	other := results(map[string][]float64{"lexical": constant(4, 0.5)})
	metric := results(map[string][]float64{"dense": constant(4, 0.5)})
	metric.Metrics = []string{"mrr"}
	strange := results(map[string][]float64{"dense": constant(4, 0.5)})
	strange.Configurations[0].PerQuestion = map[string]map[string]*float64{"x": strange.Configurations[0].PerQuestion["q00"]}
	for want, q := range map[string]Request{
		"there is nothing to check": {Results: r},
		`no metric "hit@1"`:         {Results: r, Rules: []report.GateRule{{Floors: map[string]float64{"hit@1": 1}}}},
		`no cost "p99"`:             {Results: r, Rules: []report.GateRule{{Max: map[string]float64{"p99": 1}}}},
		"no row of the results has": {Results: r, Rows: []map[string]string{{"retriever": "bm25"}}},
		"no row of the results has the options of a row of the baseline": {Results: r, Baseline: other},
		"the baseline has no metric ndcg@10":                             {Results: r, Baseline: metric},
		"have no question in common":                                     {Results: r, Baseline: strange},
	} {
		if _, err := Run(q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := Run(Request{Results: r}); !errors.Is(err, ErrNothing) {
		t.Errorf("error %v", err)
	}
}

// A comparison that could not fail says so.
func TestRun_tooFewQuestions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		questions int
		rows      []string
		powerless bool
	}{{5, []string{"dense"}, true}, {6, []string{"dense"}, false}, {6, []string{"dense", "lexical"}, true}, {7, []string{"dense", "lexical"}, false}} {
		old, new := map[string][]float64{}, map[string][]float64{}
		for i, name := range tc.rows {
			old[name] = constant(tc.questions, 1)
			new[name] = constant(tc.questions, 0.1*float64(i)) // as far down as can be
		}
		o := run(t, Request{Results: results(new), Baseline: results(old)})
		if said := strings.Contains(strings.Join(o.Notes, " "), "this comparison fails nothing"); said != tc.powerless || o.Passed != tc.powerless {
			t.Errorf("%d questions, %d rows: passed %v, notes %q", tc.questions, len(tc.rows), o.Passed, o.Notes)
		}
	}
}

// Whatever the values: a drop fails exactly when it is told from noise and larger than
// allowed, and results pass against themselves.
func TestRun_dropsByRule(t *testing.T) {
	t.Parallel()
	value := rapid.SampledFrom([]float64{0, 0.2, 0.5, 0.6, 1})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 30).Draw(t, "n")
		old, new := rapid.SliceOfN(value, n, n).Draw(t, "old"), rapid.SliceOfN(value, n, n).Draw(t, "new")
		allow := rapid.Float64Range(0, 0.3).Draw(t, "allow")
		rules := []report.GateRule{{Allow: map[string]float64{"ndcg@10": allow}}}
		a, b := results(map[string][]float64{"dense": old}), results(map[string][]float64{"dense": new})
		o, err := Run(Request{Results: b, Baseline: a, Rules: rules})
		if err != nil {
			t.Fatal(err)
		}
		c := o.Checks[0].Comparison
		if fails := c.Tell && c.Difference < -allow; o.Passed == fails {
			t.Fatalf("passed %v with %+v", o.Passed, c)
		}
		if o, err := Run(Request{Results: b, Baseline: b, Rules: rules}); err != nil || !o.Passed {
			t.Fatalf("results fail against themselves: %+v, %v", o, err)
		}
	})
}

// TestJUnit holds the report against what CI servers read: suites of cases with the
// attributes that they ask for, failures with a message, and counts that are right.
func TestJUnit(t *testing.T) {
	t.Parallel()
	r := results(map[string][]float64{"dense": lost(0.3)})
	r.Configurations[0].Name = `dense "<&>" ` + "\x01"
	o := run(t, Request{
		Results: r, Baseline: results(map[string][]float64{"dense": constant(60, 0.8)}), BaselineName: "main",
		Rules: []report.GateRule{{Floors: map[string]float64{"ndcg@10": 0.1}}},
	})
	b, err := o.JUnit(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(b), `<?xml version="1.0" encoding="UTF-8"?>`) {
		t.Errorf("it begins %.60q", b)
	}
	// Read without the types that wrote it.
	type element struct {
		XMLName  xml.Name
		Attrs    []xml.Attr `xml:",any,attr"`
		Text     string     `xml:",chardata"`
		Children []element  `xml:",any"`
	}
	var root element
	if err := xml.Unmarshal(b, &root); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	attr := func(e element, name string) string {
		for _, a := range e.Attrs {
			if a.Name.Local == name {
				return a.Value
			}
		}
		t.Errorf("<%s> has no %s", e.XMLName.Local, name)
		return ""
	}
	if root.XMLName.Local != "testsuites" || attr(root, "tests") != "2" || attr(root, "failures") != "1" {
		t.Errorf("root %v", root.Attrs)
	}
	cases, failures := 0, 0
	for _, suite := range root.Children {
		if suite.XMLName.Local != "testsuite" || attr(suite, "name") == "" || attr(suite, "errors") != "0" || attr(suite, "skipped") != "0" || attr(suite, "time") != "0" {
			t.Errorf("suite %v", suite.Attrs)
		}
		if _, err := time.Parse("2006-01-02T15:04:05", attr(suite, "timestamp")); err != nil {
			t.Error(err)
		}
		if attr(suite, "tests") != fmt.Sprint(len(suite.Children)) {
			t.Errorf("suite of %d cases: %v", len(suite.Children), suite.Attrs)
		}
		for _, c := range suite.Children {
			cases++
			if c.XMLName.Local != "testcase" || attr(c, "name") == "" || attr(c, "classname") == "" || attr(c, "time") == "" {
				t.Errorf("case %v", c.Attrs)
			}
			for _, f := range c.Children {
				if f.XMLName.Local == "failure" {
					failures++
					if !strings.Contains(attr(f, "message"), `fell from 0.8 to 0.7`) || attr(f, "type") != Drop || !strings.Contains(f.Text, "q00: 0.8 → 0.5") {
						t.Errorf("failure %v %q", f.Attrs, f.Text)
					}
				}
			}
		}
	}
	if cases != 2 || failures != 1 {
		t.Errorf("%d cases, %d failures:\n%s", cases, failures, b)
	}
}
