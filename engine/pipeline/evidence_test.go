package pipeline

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"raglab/engine"
	"raglab/internal/report"
	"raglab/spec"
)

const lakes = `{"id":"q1","question":"north river","relevant":[{"doc":"a","span":"river"},{"doc":"b"}],"tags":["split:dev","kind:one"]}
{"id":"q2","question":"lake","relevant":[{"doc":"c"}],"tags":["split:test","kind:one"]}
{"id":"q3","question":"river","relevant":[{"doc":"b"},{"doc":"a","grade":0}],"tags":["split:test"]}
{"id":"q4","question":"hill","relevant":[{"doc":"d","grade":0}],"tags":["split:test"]}
{"id":"q5","question":"sea","relevant":[{"doc":"d","grade":2,"span":"sea"}]}
`

const lakesSpec = `experiment "e" {}
corpus "jsonl" { path = "docs.jsonl" }
golden {
  file      = "golden.jsonl"
  relevance = "document"
  split { by = "SPLIT" }
}
fixed "text" { use = "simple" }
axis "retriever" {
  option "bm25" { k1 = tune.k1 }
  option "flat" {
    kind = "bm25"
    k1   = 0
  }
}
tune "k1" { grid = [0.5, 1.5] }
score {
  depth   = 5
  metrics = ["recall@1", "ndcg@5"]
  primary = "ndcg@5"
  cheap   = ["index", "p95"]
}
`

// lakeReport applies the spec with some questions, in a lab that has a store.
func lakeReport(t *testing.T, l *lab, golden, split string) *report.Report {
	t.Helper()
	dir := t.TempDir()
	docs := `{"_id":"a","text":"north river river"}` + "\n" + `{"_id":"b","text":"the river runs south to the lake and on and on"}` + "\n" +
		`{"_id":"c","text":"a lake"}` + "\n" + `{"_id":"d","text":"the sea"}` + "\n"
	for name, text := range map[string]string{"docs.jsonl": docs, "golden.jsonl": golden} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	exp, diags := spec.LoadSources(dir, []spec.Source{{Name: "e.hcl", Bytes: []byte(strings.Replace(lakesSpec, "SPLIT", split, 1))}}, spec.LoadOptions{Catalog: Catalog{}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p, err := Build(t.Context(), exp, exp.Cross().Configurations, Env{
		Threads: 2, Assets: noAssets{}, Fingerprints: ParseFingerprints(nil), Memo: l.store.Memo, Log: hclog.NewNullLogger(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	plan, err := (&engine.Planner{Store: l.store, Ledger: engine.Ledger{}, Log: hclog.NewNullLogger()}).Plan(t.Context(), p.Graph, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := l.executor().Apply(t.Context(), plan)
	if err == nil {
		err = out.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Report(t.Context(), l.store, out, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReport_goldenQuestionsAndTuning(t *testing.T) {
	t.Parallel()
	r := lakeReport(t, newLab(t), lakes, "tag")
	want := []report.GoldenQuestion{
		{ID: "q1", Text: "north river", Tags: []string{"split:dev", "kind:one"}, Part: "dev", Relevant: 2, Span: true},
		{ID: "q2", Text: "lake", Tags: []string{"split:test", "kind:one"}, Part: "test", Relevant: 1},
		{ID: "q3", Text: "river", Tags: []string{"split:test"}, Part: "test", Relevant: 1},
		{ID: "q4", Text: "hill", Tags: []string{"split:test"}, Part: "test"},
		{ID: "q5", Text: "sea", Relevant: 1, Span: true},
	}
	if diff := cmp.Diff(want, r.Golden); diff != "" {
		t.Errorf("golden questions (-want +got):\n%s", diff)
	}
	if !slices.Equal(r.Order, []string{"q2", "q3", "q4"}) {
		t.Errorf("the order is %v", r.Order)
	}
	for _, c := range r.Configurations {
		if len(c.Values) != 3 || !math.IsNaN(c.Values[2]) || c.Intervals["ndcg@5"] == nil || c.Intervals["recall@1"] == nil {
			t.Errorf("%s: values %v, intervals %v", c.Name, c.Values, c.Intervals)
		}
	}
	tuned := r.Tuning[0]
	if tuned.Dev == nil || *tuned.Dev != 1 || tuned.Test == nil || *tuned.Test != *r.Configurations[0].Metrics["ndcg@5"] {
		t.Errorf("dev %v, test %v, the row that is tuned has %v", tuned.Dev, tuned.Test, *r.Configurations[0].Metrics["ndcg@5"])
	}
	if r.Recommended != nil && !slices.Equal(r.Recommended.Order, []string{"index", "p95"}) {
		t.Errorf("%+v", r.Recommended)
	}
}

// A changed tag is in the report, and scores are those that were.
func TestReport_changedTagScoresNothingAnew(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	first := lakeReport(t, l, lakes, "hash")
	second := lakeReport(t, l, strings.Replace(lakes, "kind:one", "kind:two", 1), "hash")
	if got := second.Golden[0].Tags; !slices.Contains(got, "kind:two") {
		t.Errorf("tags %v", got)
	}
	for i, c := range second.Configurations {
		if c.Key != first.Configurations[i].Key || c.Key == "" {
			t.Errorf("%s: key %s, before %s", c.Name, c.Key, first.Configurations[i].Key)
		}
	}
}

func TestCostNames_areTheSpecs(t *testing.T) {
	t.Parallel()
	if !slices.Equal(spec.CostNames, report.CostNames) {
		t.Errorf("the spec has %v, reports %v", spec.CostNames, report.CostNames)
	}
}
