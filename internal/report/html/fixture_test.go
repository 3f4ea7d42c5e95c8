package html_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"raglab/internal/report"
)

// markup is what a hostile text holds: it closes what a page may have opened, and then
// does what no report may do.
const markup = `</title></style></script></textarea>--><img src=x onerror=alert(1)><script>alert(2)</script>"'&amp;{{.}}` + "\u2028\x07\u202e\u4e2d\u6587"

// plainly leaves a text as it is, marked puts markup into it.
func plainly(s string) string { return s }

func marked(s string) string { return s + markup }

var (
	retrievers = []string{"bm25", "dense", "rrf"}
	handlings  = []string{"simple", "lemma"}
)

const questions = 12

// sample is a report that has something for every section. Its texts go through as.
func sample(as func(string) string) *report.Report {
	r := &report.Report{
		Version: report.Version, Experiment: as("cities"), Title: as("Which words find rivers?"),
		Generated: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Machines: []string{as("2 × processor")},
		Questions: report.Questions{Total: 20, Dev: 8, Test: questions, Scored: questions}, Metrics: []string{"recall@5", "ndcg@10"}, Primary: "ndcg@10", Depth: 30,
		Factors: []report.Factor{
			{Name: as("text"), Axis: true, Labels: each(handlings, as)}, {Name: as("retriever"), Axis: true, Labels: each(retrievers, as)}, {Name: "reranker", Labels: []string{"none"}},
		},
		Accounting: "6 kept, together 6 combinations", Notes: []string{as("The results are partial.")},
	}
	for i, text := range handlings {
		for j, retriever := range retrievers {
			r.Configurations = append(r.Configurations, sampleRow(as, i, j, as(text), as(retriever)))
		}
	}
	r.Ingest = []report.Ingest{
		{Name: as("whole"), Chunks: 40, Chunk: new(0.5), Embed: new(12.0), Index: new(1.5), Total: new(14.0)},
		{Name: as("sentence"), Chunks: 90, Chunk: new(0.7), Index: new(0.3), Total: new(1.0)},
	}
	r.Tuning = []report.Tuning{
		{Names: []string{"alpha"}, Chosen: []string{"0.5"}, Dev: new(0.8), Test: new(0.7), Points: []report.Point{{Values: []string{"0"}, Mean: new(0.6)}, {Values: []string{"0.5"}, Mean: new(0.8)}, {Values: []string{"1"}, Mean: nil}, {Values: []string{"0.75"}, Mean: new(0.7)}}},
		{Names: []string{"k1", "b"}, Chosen: []string{"1", "2"}, Points: []report.Point{{Values: []string{"1", "2"}, Mean: new(0.5)}, {Values: []string{"1", "3"}, Mean: new(0.4)}, {Values: []string{"2", "2"}, Mean: nil}}},
	}
	r.Expectations = []report.Expectation{{Row: as("row"), Metric: "ndcg@10", Value: 0.5, Measured: new(0.5), Verdict: "OK", Source: as("a table")}}
	addEvidence(r, as)
	return r
}

// sampleRow is one row; the better its retriever, the slower.
func sampleRow(as func(string) string, i, j int, text, retriever string) report.Configuration {
	mean := 0.5 + 0.1*float64(j) + 0.03*float64(i)
	c := report.Configuration{
		Name: text + " / " + retriever, Options: map[string]string{as("text"): text, as("retriever"): retriever, "reranker": "none"}, Key: fmt.Sprintf("%064d", 10*i+j),
		InertWith: []string{}, Metrics: map[string]*float64{"ndcg@10": new(mean), "recall@5": new(mean + 0.1)}, PerQuestion: map[string]map[string]*float64{},
		Latency: &report.Latency{Percentiles: report.Percentiles{P50: 0.5 * float64(1+10*j), P95: float64(1 + 30*j)}}, IndexBytes: new(int64(100_000 * (j + 1))), IngestSeconds: new(0.1 + 5*float64(j)),
		Intervals: map[string]*report.Interval{"ndcg@10": {Low: mean - 0.1, High: mean + 0.1}},
		Losses:    &report.Losses{Questions: map[string]string{as("q01"): "depth", as("q02"): "cutoff"}, Counts: map[string]int{"depth": 1, "cutoff": 1}, ByTag: map[string]map[string]int{as("kind:when"): {"depth": 1}}},
	}
	for q := range questions {
		v := min(1, max(0, mean+0.3*float64(q%3-1)))
		c.PerQuestion[as(fmt.Sprintf("q%02d", q))] = map[string]*float64{"ndcg@10": &v, "recall@5": new(v)}
		c.Values = append(c.Values, v)
	}
	if best := i == 1 && j == 2; !best {
		c.Against = &report.Comparison{Difference: mean - 0.73, Low: mean - 0.83, High: mean - 0.63, P: 0.04, Tell: j == 0, Verdict: []string{report.Separated, report.Level, report.Level}[j], Wins: 2, Ties: 4, Losses: 6}
	}
	return c
}

func addEvidence(r *report.Report, as func(string) string) {
	means := map[string]*float64{}
	for _, c := range r.Configurations {
		means[c.Name] = c.Metrics[r.Primary]
	}
	best := r.Configurations[5].Name
	r.Effects = []report.Effect{{
		Axis: as("retriever"), Worth: 0.2, Best: as("rrf"), Worst: as("bm25"), Explained: new(0.8), Comparison: r.Configurations[0].Against,
		Options: []report.OptionEffect{{Label: as("bm25"), Rows: 2, Means: map[string]*float64{"ndcg@10": new(0.515)}}, {Label: as("rrf"), Rows: 2, Means: map[string]*float64{"ndcg@10": new(0.715)}}},
	}}
	r.Ceiling = &report.Ceiling{All: 0.5, None: 0.1, Perfect: 0.2, Unsolved: []string{as("q01")}}
	r.Interactions = []report.Interaction{{A: as("text"), B: as("retriever"), Size: 0.1, OptionA: [2]string{as("simple"), as("lemma")}, OptionB: [2]string{as("bm25"), as("rrf")}}}
	r.Tags = []report.TagEvidence{{Tag: as("kind:when"), Questions: 5, Means: means, Best: best, Effects: r.Effects}, {Tag: as("kind:who"), Questions: 7, Means: means, Best: best}}
	r.Reversals = []report.Reversal{{Axis: as("text"), A: as("simple"), B: as("lemma"), TagA: as("kind:when"), TagB: as("kind:who"), AheadA: 0.1, AheadB: 0.2, Verdict: report.Level}}
	r.Recommended = &report.Recommendation{Row: r.Configurations[4].Name, Best: best, Order: []string{"p95", "ingest"}, Level: []string{r.Configurations[4].Name, best}, Otherwise: []string{as("Another would be chosen if it were faster.")}}
	r.Mattered = []report.Finding{{Kind: "axis", Text: as("The choice of retriever is worth 0.2."), Verdict: report.Separated}, {Kind: "cost", Text: as("rrf costs 60 ms.")}}
	r.Limits = []string{as("All means are over 12 questions.")}
	r.Provenance = &report.Provenance{Program: "raglab 1", Spec: "abc", Assets: []string{as("model 1")}, Locks: []string{as("cities.lock")}, Unpinned: []string{as("The folder may change.")}}
	for q := range questions {
		r.Golden = append(r.Golden, report.GoldenQuestion{ID: as(fmt.Sprintf("q%02d", q)), Text: as("Which river?"), Tags: []string{as([]string{"kind:when", "kind:who"}[q%2])}, Part: "test", Relevant: 1})
	}
}

func each(list []string, as func(string) string) []string {
	made := slices.Clone(list)
	for i, s := range made {
		made[i] = as(s)
	}
	return made
}

// large is a report of as many rows and questions as a reader may be expected to have.
func large(rows int) *report.Report {
	r := sample(plainly)
	r.Factors[0].Labels = nil
	r.Configurations = nil
	for i := range rows {
		c := sampleRow(plainly, 0, i%3, fmt.Sprintf("handling_%03d", i), retrievers[i%3])
		c.Key = strings.Repeat("0", 61) + fmt.Sprintf("%03d", i)
		c.Metrics["ndcg@10"] = new(0.2 + 0.6*float64(i*37%rows)/float64(rows))
		r.Configurations = append(r.Configurations, c)
	}
	r.Tags, r.Reversals, r.Recommended = nil, nil, nil
	return r
}
