package report

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"raglab/axes"
	"raglab/internal/param"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// row is a configuration with a value for each of its questions.
func row(options map[string]string, key string, values ...float64) Configuration {
	mean := 0.0
	per := map[string]map[string]*float64{}
	for i, v := range values {
		mean += v / float64(len(values))
		per[fmt.Sprintf("q%d", i+1)] = map[string]*float64{"ndcg@10": &v}
	}
	var names []string
	for _, axis := range []string{"chunker", "text"} {
		names = append(names, options[axis])
	}
	size, cost := int64(1_500_000), 12.5
	return Configuration{
		Name: strings.Join(names, " / "), Options: options, Key: key, Values: values, PerQuestion: per,
		Metrics: map[string]*float64{"ndcg@10": &mean}, Latency: &Latency{Percentiles: Percentiles{0.1234, 12.34}}, IndexBytes: &size, IngestSeconds: &cost,
	}
}

// sample has two chunkers crossed with two texts; with the chunker "b" the text
// makes no difference.
func sample() *Report {
	r := &Report{
		Version: Version, Experiment: "sample", Title: "A sample", Generated: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		Machines: []string{"2 × Test"}, Questions: Questions{Total: 12, Dev: 6, Test: 6, Scored: 6}, Metrics: []string{"ndcg@10"}, Primary: "ndcg@10", Depth: 30, WarmUp: 3,
		Factors:    []Factor{{"chunker", true, []string{"a", "b"}}, {"text", true, []string{"x", "y"}}, {"reranker", false, []string{"none"}}},
		Accounting: "4 kept, 0 excluded, 0 impossible, 0 the same as another, together 4 combinations",
	}
	option := func(c, t string) map[string]string {
		return map[string]string{"chunker": c, "text": t, "reranker": "none"}
	}
	r.Configurations = []Configuration{
		row(option("a", "x"), "k1", 1, 1, 1, 1, 1, 0.5),
		row(option("a", "y"), "k2", 0.5, 1, 1, 0.5, 1, 0.5),
		row(option("b", "x"), "k3", 0, 0.1, 0, 0.2, 0, 0),
		row(option("b", "y"), "k3", 0, 0.1, 0, 0.2, 0, 0),
	}
	// The first row is hybrid, over an approximate index in a database.
	hybrid, heap := &r.Configurations[0], int64(4_000_000)
	hybrid.Latency.Parts = map[string]Percentiles{"text": {0.01, 0.02}, "embed": {4, 9}, "search": {1, 2}, "fuse": {0.004, 0.006}}
	hybrid.Approximate, hybrid.ANNRecall, hybrid.HeapBytes = true, []ANNRecall{{10, 0.985, 0.8}, {30, 0.97, 0.75}}, &heap
	r.Configurations[1].Latency.Parts = map[string]Percentiles{"text": {0.01, 0.02}, "search": {1, 2}}
	r.Configurations[1].Approximate = true // and unmeasured
	r.Configurations[1].Termless = 2
	r.Configurations[2].Latency = nil
	flat := 0.5
	r.Tuning = []Tuning{{Names: []string{"k"}, Chosen: []string{"10"}, Flat: true, Points: []Point{{[]string{"10"}, &flat}, {[]string{"20"}, nil}}}}
	tokens, truncated, seconds := 120.0, 3, 1.25
	bytes, words := int64(2_000_000), 96
	r.Ingest = []Ingest{
		{
			Name: "a x", Chunks: 10, MeanTokens: &tokens, Chunk: &seconds, Embed: &seconds, Index: &seconds, Total: &seconds, IndexBytes: &bytes, Truncated: &truncated,
			Normalise: &seconds, NormalisePerDocument: &tokens, Words: &words, UnknownWords: &truncated, TextBytes: &bytes, Copy: &seconds, Build: &seconds, HeapBytes: &heap, Server: "Postgres 18, pgvector 0.8",
		},
		{Name: "b x", Chunks: 4, Chunk: &seconds, Index: nil, IndexBytes: nil},
	}
	r.Expectations = []Expectation{{Row: "a / x", Metric: "ndcg@10", Value: 0.9, Measured: &flat, Within: 0.01, Source: "a paper", Verdict: "off by -0.4"}}
	r.Complete(nil)
	return r
}

// TestMarkdown_sectionsOfTheSpec lets a spec name just the sections that there are.
func TestMarkdown_sectionsOfTheSpec(t *testing.T) {
	t.Parallel()
	for _, f := range param.MustFields(&MarkdownParams{}) {
		if f.Name == "sections" && !slices.Equal(f.Enum, Sections) {
			t.Errorf("a spec may name %q, a report has %q", f.Enum, Sections)
		}
	}
}

func TestComplete_inertRowsAreMarkedAndLeftOut(t *testing.T) {
	t.Parallel()
	r := sample()
	for i, want := range [][]string{nil, nil, {"text"}, {"text"}} {
		if got := r.Configurations[i].Inert; !slices.Equal(got, want) {
			t.Errorf("row %s: inert %v, want %v", r.Configurations[i].Name, got, want)
		}
	}
	if got := r.Configurations[2].InertWith; !slices.Equal(got, []string{"b / y"}) {
		t.Errorf("inert with %v", got)
	}
	for _, e := range r.Effects {
		if e.Axis != "text" {
			continue
		}
		for _, o := range e.Options {
			if o.Rows != 1 {
				t.Errorf("text %s is averaged over %d rows, want the one it makes a difference to", o.Label, o.Rows)
			}
		}
		if want := *r.Configurations[0].Metrics["ndcg@10"] - *r.Configurations[1].Metrics["ndcg@10"]; math.Abs(e.Worth-want) > 1e-12 {
			t.Errorf("text is worth %v, want %v", e.Worth, want)
		}
	}
	if r.Effects[0].Axis != "chunker" {
		t.Errorf("the axis worth most is %s, want chunker first", r.Effects[0].Axis)
	}
}

// TestComplete_equalByChanceIsNotInert has one pair of three options agree.
func TestComplete_equalByChanceIsNotInert(t *testing.T) {
	t.Parallel()
	r := &Report{Metrics: []string{"ndcg@10"}, Primary: "ndcg@10", Factors: []Factor{{"chunker", true, []string{"a", "b", "c"}}}}
	for _, c := range []struct{ label, key string }{{"a", "k1"}, {"b", "k1"}, {"c", "k2"}} {
		r.Configurations = append(r.Configurations, row(map[string]string{"chunker": c.label}, c.key, 1, 0))
	}
	r.Complete(nil)
	for _, c := range r.Configurations {
		if len(c.Inert) > 0 {
			t.Errorf("%s is called inert though option c differs", c.Options["chunker"])
		}
	}
}

// TestComplete_effectsCompareWholeLines drops a row, and expects the axis to be
// averaged over the other line only.
func TestComplete_effectsCompareWholeLines(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Configurations[3].Key = "k4" // no longer inert
	r.Configurations = r.Configurations[:3]
	r.Complete(nil)
	for _, e := range r.Effects {
		for _, o := range e.Options {
			if o.Rows != 1 || e.Unbalanced {
				t.Errorf("axis %s, option %s: %d rows, unbalanced %v; want the one whole line", e.Axis, o.Label, o.Rows, e.Unbalanced)
			}
		}
	}
}

func TestComplete_theDataCanTell(t *testing.T) {
	t.Parallel()
	r := &Report{Metrics: []string{"ndcg@10"}, Primary: "ndcg@10", Factors: []Factor{{"chunker", true, []string{"a", "b", "c"}}}}
	good, near, bad := make([]float64, 40), make([]float64, 40), make([]float64, 40)
	for i := range good {
		good[i], near[i], bad[i] = 0.9, 0.9, 0.1
		if i%2 == 0 {
			near[i] = 0.89
		} else {
			near[i] = 0.905
		}
	}
	for i, values := range [][]float64{good, near, bad} {
		label := string(rune('a' + i))
		r.Configurations = append(r.Configurations, row(map[string]string{"chunker": label}, label, values...))
	}
	r.Complete(nil)
	if a := r.Configurations[1].Against; a == nil || a.Tell {
		t.Errorf("a difference of a hair is told: %+v", a)
	}
	if a := r.Configurations[2].Against; a == nil || !a.Tell || a.High >= 0 {
		t.Errorf("a large difference is not told: %+v", a)
	}
	if r.Configurations[0].Against != nil {
		t.Error("the best row is compared with itself")
	}
}

func TestTables_golden(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	if err := WriteText(&text, sample().Tables(), Style{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "tables.txt", text.String())
	golden(t, "tables.md", Markdown(sample().Tables()))
	for _, kind := range Outputs() {
		if !slices.Contains([]string{"csv", "per_question", "json"}, kind.Name) {
			continue // others have goldens of their own
		}
		params := kind.Params()
		if p, ok := params.(*FileParams); ok {
			p.Path = "x"
		}
		o, err := kind.New(params, axes.Env{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := o.Render(sample(), nil)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "report."+kind.Name, string(b))
	}
}

// What no row has takes no column, and what no question passes through no table.
func TestTables_onlyWhatIsThere(t *testing.T) {
	t.Parallel()
	r := sample()
	for i := range r.Configurations {
		c := &r.Configurations[i]
		c.Approximate, c.ANNRecall, c.HeapBytes = false, nil, nil
		if c.Latency != nil {
			c.Latency.Parts = map[string]Percentiles{"search": {1, 2}}
		}
	}
	r.Ingest = r.Ingest[1:]
	text := Markdown(r.Tables())
	for _, absent := range []string{"ann_recall", "part by part", "heap MB", "copy s", "ms/doc", "unknown", "text MB"} {
		if strings.Contains(text, absent) {
			t.Errorf("the tables have %q:\n%s", absent, text)
		}
	}
	var o Output = csvFile{}
	csv, err := o.Render(r, nil)
	if err != nil || strings.Contains(string(csv), "ann_recall") || strings.Contains(string(csv), "heap_bytes") {
		t.Errorf("%v\n%s", err, csv)
	}
}

// Tables show ann_recall where the primary metric is cut, or at the depth.
func TestANNCutoff_isTheMetrics(t *testing.T) {
	t.Parallel()
	for primary, want := range map[string]int{"ndcg@10": 10, "mrr": 30, "recall@100": 30} {
		r := sample()
		r.Primary = primary
		if k, ok := r.annCutoff(); k != want || !ok {
			t.Errorf("%s: ann_recall@%d, %v; want @%d", primary, k, ok, want)
		}
	}
}

func TestPick_everyTableHasAName(t *testing.T) {
	t.Parallel()
	tables := sample().Tables()
	for _, table := range tables {
		if !slices.Contains(Sections, table.Name) {
			t.Errorf("table %q has the name %q", table.Title, table.Name)
		}
	}
	if got := Pick(tables, []string{"axes"}); len(got) != 2 || got[0].Title != "Axis: chunker" {
		t.Errorf("picked %d tables, want the two of the axes", len(got))
	}
	if got := Pick(tables, nil); len(got) != len(tables) {
		t.Errorf("no names pick %d of %d tables", len(got), len(tables))
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and look at the change\n%s", name, got)
	}
}

func TestJSON_fieldsOfTheDocumentedForm(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(raw, &top); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"version", "experiment", "generated", "questions", "configurations"} {
		if top[name] == nil {
			t.Errorf("the form lacks %q", name)
		}
	}
	var rows []map[string]json.RawMessage
	if err := json.Unmarshal(top["configurations"], &rows); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"options", "key", "inert_with", "metrics", "per_question", "latency_ms", "index_bytes", "ingest_seconds", "heap_bytes", "ann_recall"} {
		if rows[0][name] == nil {
			t.Errorf("a configuration lacks %q", name)
		}
	}
}

func TestBetween_touchesNothingElse(t *testing.T) {
	t.Parallel()
	for _, newline := range []string{"\n", "\r\n"} {
		before := "# Title" + newline + newline + "text  " + newline
		after := newline + "more" + newline + "no newline at the end"
		file := before + openMarker("m") + newline + "old" + newline + closeMarker("m") + after
		got, err := Between([]byte(file), "m", "new\nlines\n")
		if err != nil {
			t.Fatal(err)
		}
		want := before + openMarker("m") + newline + "new" + newline + "lines" + newline + closeMarker("m") + after
		if string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
		again, err := Between(got, "m", "new\nlines\n")
		if err != nil || string(again) != want {
			t.Errorf("a second time: %q, %v", again, err)
		}
	}
}

func TestBetween_needsBothMarkersOnce(t *testing.T) {
	t.Parallel()
	open, end := openMarker("m"), closeMarker("m")
	for _, file := range []string{"", open, end, open + open + end, open + end + end, end + open} {
		if _, err := Between([]byte(file), "m", "x"); err == nil {
			t.Errorf("%q was filled in", file)
		}
	}
}

func TestWrite_leavesAnEqualFileAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "out.csv")
	o := csvFile{FileParams{path}}
	if changed, err := Write(o, sample()); err != nil || !changed {
		t.Fatalf("first: changed %v, %v", changed, err)
	}
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
	if changed, err := Write(o, sample()); err != nil || changed {
		t.Errorf("second: changed %v, %v", changed, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.ModTime().After(past.Add(time.Second)) {
		t.Errorf("the file was touched: %v, %v", info.ModTime(), err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}
