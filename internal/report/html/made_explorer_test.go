package html_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"raglab/internal/report"
	"raglab/internal/report/html"
)

// hostile are texts that would be markup, script, or the end of an element.
const hostile = `</script><script>document.title='owned'</script><img src=x onerror="document.title='owned'">&lt;b>`

// madeSmall is a report of three questions and four rows that a reader can check by
// hand, with its rankings. Every text of it is hostile.
func madeSmall() html.Input {
	r := &report.Report{
		Version: report.Version, Experiment: "made" + hostile, Metrics: []string{"ndcg@3"}, Primary: "ndcg@3", Depth: 10,
		Questions: report.Questions{Total: 4, Test: 3, Dev: 1, Scored: 3},
		Factors:   []report.Factor{{Name: "retriever", Axis: true, Labels: []string{"dense", "lexical", "both", "sent"}}},
		Order:     []string{"q1", "q2", "q3"},
		Golden: []report.GoldenQuestion{
			{ID: "q1", Text: "Which river flows south?" + hostile, Tags: []string{"kind:" + hostile}, Part: "test", Relevant: 1, Span: true},
			{ID: "q2", Text: "What is a lake?", Tags: []string{"kind:short"}, Part: "test", Relevant: 1, Span: true},
			{ID: "q3", Text: "Why?", Part: "test", Relevant: 1, Span: true},
			{ID: "q0", Text: "Not asked", Part: "dev", Relevant: 1},
		},
	}
	r.Configurations = []report.Configuration{
		madeRow("dense", []float64{1, 0.5, 0}, 20, 4e6, 30),
		madeRow("lexical", []float64{0, 1, 0}, 5, 1e6, 10),
		madeRow("both", []float64{1, 1, 0}, 30, 5e6, 40),
		madeRow("sent", []float64{0, 0, 0}, 0, 0, 0),
	}
	sent := &r.Configurations[3]
	sent.Latency, sent.IndexBytes, sent.IngestSeconds = nil, nil, nil
	price := 0.25
	sent.Services = []string{"embedder"}
	sent.Cost = &report.Cost{Questions: &price, Estimated: true}
	heap := int64(1e6)
	r.Configurations[0].HeapBytes = &heap
	r.Configurations[1].Losses = report.NewLosses(map[string]string{"q1": "depth", "q3": "chunker"})
	r.Complete(nil)
	return html.Input{Report: r, Details: madeDetails()}
}

func madeRow(name string, values []float64, p95, index, ingest float64) report.Configuration {
	c := report.Configuration{
		Name: name, Options: map[string]string{"retriever": name}, Key: "key of " + name,
		Metrics: map[string]*float64{}, PerQuestion: map[string]map[string]*float64{}, Values: values,
	}
	sum := 0.0
	for i, v := range values {
		sum += v
		c.PerQuestion[fmt.Sprintf("q%d", i+1)] = map[string]*float64{"ndcg@3": &v}
	}
	mean, bytes := sum/float64(len(values)), int64(index)
	c.Metrics["ndcg@3"] = &mean
	c.Latency = &report.Latency{Percentiles: report.Percentiles{P50: p95 / 2, P95: p95}}
	c.IndexBytes, c.IngestSeconds = &bytes, &ingest
	return c
}

func madeDetails() *report.Details {
	text := "River Dnipro is long. It flows south." + hostile
	at := strings.Index(text, "flows south")
	run := func(stage, label string, inputs []int, hits [][]int) report.DetailRun {
		out := report.DetailRun{Stage: stage, Label: label, Inputs: inputs, Hits: hits, First: []int{0, 0, 0, 0}}
		for q := range hits {
			var scores report.Scores
			for i, c := range hits[q] {
				scores = append(scores, 1/float64(i+2))
				if c == q && out.First[q] == 0 && q < 2 {
					out.First[q] = i + 1
				}
			}
			out.Scores, out.Found = append(out.Scores, scores), append(out.Found, len(hits[q]))
		}
		return out
	}
	return &report.Details{
		Depth: 10, Kept: 3, Relevance: "span", Coverage: 1, Notes: []string{"A note" + hostile + "."},
		Questions: []report.DetailQuestion{
			{ID: "q1", Text: "Which river flows south?" + hostile, Judged: []report.DetailJudgement{{Doc: "d1", Grade: 1, Span: "flows south"}}},
			{ID: "q2", Text: "What is a lake?", Judged: []report.DetailJudgement{{Doc: "d2" + hostile, Grade: 2, Span: "Lakes are still" + hostile}}},
			{ID: "q3", Text: "Why?", Judged: []report.DetailJudgement{{Doc: "d2" + hostile, Grade: 1, Span: "water stands"}}},
			{ID: "q0", Text: "Not asked", Judged: []report.DetailJudgement{}},
		},
		Documents: []report.DetailDocument{{ID: "d1", Title: "North" + hostile}, {ID: "d2" + hostile}},
		Chunkers: []report.DetailChunker{{
			Name: "fixed", Relevant: [][]int{{0, 1}, {1, 2}, {}, {}},
			Fates: [][]report.DetailFate{
				{{Fate: "whole", Share: 1}},
				{{Fate: "whole", Share: 1}},
				{{Fate: "cut", Share: 0.6, Pieces: []report.DetailPiece{{Chunk: 1, Share: 0.6}, {Chunk: 2, Share: 0.4}}}},
				{},
			},
		}},
		Texts: []report.DetailText{{Name: "lemma", Forms: [][]string{{"River", "flows", "south"}, {"Lakes"}, {}, {}}}},
		Chunks: []report.DetailChunk{
			{Document: 0, N: 0, Start: 0, End: 40, Heading: "H" + hostile, Text: text, Marks: []int{0, at, at + len("flows south")}},
			{Document: 1, N: 0, Start: 0, End: 20, Text: "Lakes are still", Marks: []int{1, 0, 15}},
			{Document: 1, N: 1, Start: 20, End: 60, After: 40},
		},
		Runs: []report.DetailRun{
			run("search", "dense", nil, [][]int{{0, 1}, {2, 1}, {0}, {}}),
			run("search", "lexical", nil, [][]int{{1}, {1, 0}, {}, {}}),
			run("fuse", "both", []int{0, 1}, [][]int{{0, 1}, {1, 2, 0}, {0}, {}}),
			run("rerank", "turned", []int{2}, [][]int{{1, 0}, {2, 1, 0}, {0}, {}}),
		},
		Rows: []report.DetailRow{{Run: 0, Text: -1}, {Run: 1}, {Run: 3}, {Run: -1, Text: -1}},
	}
}

// madeLarge has as many rows and questions as a page must bear.
func madeLarge(rows, questions int) html.Input {
	rng := rand.New(rand.NewPCG(1, 2))
	r := &report.Report{
		Version: report.Version, Experiment: "large", Metrics: []string{"ndcg@10"}, Primary: "ndcg@10", Depth: 30,
		Questions: report.Questions{Total: questions, Test: questions, Scored: questions},
		Factors:   []report.Factor{{Name: "row", Axis: true}},
	}
	d := &report.Details{
		Depth: 30, Kept: 10, Relevance: "document",
		Chunkers: []report.DetailChunker{{Name: "fixed", Fates: make([][]report.DetailFate, questions)}},
	}
	words := strings.Fields("the river runs through a valley between mountains whose names nobody remembers while lakes stand still and water falls over stones every spring with rain from northern clouds")
	text := func() string {
		var b strings.Builder
		for b.Len() < 1200 {
			b.WriteString(words[rng.IntN(len(words))])
			fmt.Fprintf(&b, "%x ", rng.IntN(4096))
		}
		return b.String()
	}
	pool := 7000
	for i := range pool {
		d.Documents = append(d.Documents, report.DetailDocument{ID: fmt.Sprint("document-", i), Title: fmt.Sprint("Title ", i)})
		d.Chunks = append(d.Chunks, report.DetailChunk{Document: i, Start: 100 * i, End: 100*i + 1200, Text: text()})
	}
	for q := range questions {
		id := fmt.Sprint("q", q)
		r.Order = append(r.Order, id)
		r.Golden = append(r.Golden, report.GoldenQuestion{ID: id, Text: fmt.Sprint("Which river is number ", q, "?"), Tags: []string{fmt.Sprint("kind:", q%5)}, Part: "test", Relevant: 1})
		d.Questions = append(d.Questions, report.DetailQuestion{ID: id, Text: r.Golden[q].Text, Judged: []report.DetailJudgement{{Doc: fmt.Sprint("document-", q), Grade: 1}}})
	}
	for i := range rows {
		name := fmt.Sprint("row-", i)
		r.Factors[0].Labels = append(r.Factors[0].Labels, name)
		c := report.Configuration{
			Name: name, Options: map[string]string{"row": name}, Key: fmt.Sprint("k", i),
			Metrics: map[string]*float64{}, PerQuestion: map[string]map[string]*float64{},
		}
		run := report.DetailRun{Stage: "search", Label: name}
		sum := 0.0
		for q := range questions {
			v := 1 / float64(1+rng.IntN(12))
			if v < 0.1 {
				v = 0
			}
			sum += v
			c.Values = append(c.Values, v)
			c.PerQuestion[r.Order[q]] = map[string]*float64{"ndcg@10": &v}
			var hits []int
			var scores report.Scores
			for h := range 10 {
				hits, scores = append(hits, (q*14+rng.IntN(14))%pool), append(scores, rng.Float64()+float64(10-h))
			}
			run.Hits, run.Scores = append(run.Hits, hits), append(run.Scores, scores)
			run.First, run.Found = append(run.First, rng.IntN(10)), append(run.Found, 30)
		}
		mean, p95, bytes, ingest := sum/float64(questions), 5+100*rng.Float64(), int64(1e6+rng.Float64()*1e8), 600*rng.Float64()
		c.Metrics["ndcg@10"] = &mean
		c.Latency = &report.Latency{Percentiles: report.Percentiles{P50: p95 / 2, P95: p95}}
		c.IndexBytes, c.IngestSeconds = &bytes, &ingest
		r.Configurations = append(r.Configurations, c)
		d.Runs = append(d.Runs, run)
		d.Rows = append(d.Rows, report.DetailRow{Run: i, Text: -1})
	}
	return html.Input{Report: r, Details: d}
}
