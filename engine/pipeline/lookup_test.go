package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/cache"
	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/internal/report"
	"raglab/spec"
)

// lookupFiles are documents, and questions with spans of which chunks of five words
// hold the first two whole, and the third cut in two.
var lookupFiles = map[string]string{
	"docs.jsonl": `{"_id":"d1","title":"North","text":"River Dnipro is long. It flows south."}
{"_id":"d2","text":"Lakes are still. A river is not a lake."}
{"_id":"d3","text":"Mountains are high."}
`,
	"golden.jsonl": `{"id":"q1","question":"Which river flows south?","relevant":[{"doc":"d1","span":"flows south"}],"tags":["kind:long"]}
{"id":"q2","question":"What is a lake?","relevant":[{"doc":"d2","span":"Lakes are still"}]}
{"id":"q3","question":"Nothing matches?","relevant":[{"doc":"d1","span":"long. It flows"}]}
`,
}

// applied is an experiment whose stages have all run.
type applied struct {
	*Pipeline
	store *cache.Local
	out   *engine.Outcomes
}

// applyLookup runs a spec over them.
func applyLookup(t *testing.T, text string) applied {
	t.Helper()
	dir := t.TempDir()
	for name, content := range lookupFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text = "experiment \"e\" {}\ncorpus \"jsonl\" { path = \"docs.jsonl\" }\n" + text
	exp, diags := spec.LoadSources(dir, []spec.Source{{Name: "e.hcl", Bytes: []byte(text)}}, spec.LoadOptions{Catalog: Catalog{}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	l := newLab(t)
	p, err := Build(t.Context(), exp, exp.Cross().Configurations, Env{
		Threads: 2, Version: "9", Assets: noAssets{}, Fingerprints: ParseFingerprints(nil), Memo: l.store.Memo, Log: hclog.NewNullLogger(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	a := applied{p, l.store, nil}
	if a.out, err = l.executor().Apply(t.Context(), a.plan(t)); err == nil {
		err = a.out.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (a applied) plan(t *testing.T) *engine.Plan {
	t.Helper()
	plan, err := (&engine.Planner{Store: a.store, Ledger: engine.Ledger{}, Log: hclog.NewNullLogger()}).Plan(t.Context(), a.Graph, nil)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func (a applied) reportOf(t *testing.T, out *engine.Outcomes) *report.Report {
	t.Helper()
	r, err := a.Report(t.Context(), a.store, out, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const lookupSpec = `
golden {
  file      = "golden.jsonl"
  relevance = %q
}
fixed "chunker" {
  option "five" {
    kind    = "fixed"
    size    = 5
    overlap = 0
    unit    = "words"
  }
}
axis "length" { values = [3, 4] }
axis "text" {
  option "short" {
    kind   = "prefix"
    length = axis.length
  }
}
axis "retriever" {
  option "plain" { kind = "bm25" }
  option "both" {
    kind = "rrf"
    legs = ["plain", "steep"]
  }
  leg "steep" {
    kind = "bm25"
    k1   = 3
  }
}
score { metrics = ["ndcg@10"] }
`

func TestLookup_ranksByRelevance(t *testing.T) {
	t.Parallel()
	for relevance, want := range map[string]struct{ judged, first string }{
		"document": {"d1", "d1#"}, "span": {"d1", "d1#"},
	} {
		a := applyLookup(t, strings.Replace(fmt.Sprintf(lookupSpec, relevance), `axis "text"`, `fixed "text"`, 1))
		l, err := a.Lookup(t.Context(), a.store, a.out, "q1")
		if err != nil {
			t.Fatal(err)
		}
		if l.Text != "Which river flows south?" || len(l.Judged) != 1 || l.Judged[0].Document != want.judged {
			t.Errorf("%s: the question is %+v", relevance, l)
		}
		if len(l.Ranks) != 4 {
			t.Fatalf("%s: %d rows rank it, want 4", relevance, len(l.Ranks))
		}
		for _, r := range l.Ranks {
			if r.First < 1 || r.First > r.Ranked || len(r.Top) == 0 {
				t.Errorf("%s: %+v", relevance, r)
			}
			if relevance == "document" && r.First == 1 && !strings.HasPrefix(r.Top[0], want.first) {
				t.Errorf("%+v has a document first that is not the judged one", r)
			}
		}
		l, err = a.Lookup(t.Context(), a.store, a.out, "nobody")
		if l != nil || err != nil {
			t.Errorf("of a question that is not there: %+v, %v", l, err)
		}
	}
}

// A span that no chunk holds makes nothing relevant.
func TestLookup_unreachable(t *testing.T) {
	t.Parallel()
	a := applyLookup(t, strings.Replace(fmt.Sprintf(lookupSpec, "span"), `axis "text"`, `fixed "text"`, 1))
	l, err := a.Lookup(t.Context(), a.store, a.out, "q3")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range l.Ranks {
		if r.First != 0 {
			t.Errorf("%+v finds what is not there", r)
		}
	}
}

// What a plan knows comes to the same report as the apply itself.
func TestReport_ofAPlanIsThatOfTheApply(t *testing.T) {
	t.Parallel()
	a := applyLookup(t, strings.Replace(fmt.Sprintf(lookupSpec, "document"), `axis "text"`, `fixed "text"`, 1))
	plan := a.plan(t)
	if plan.Changes() {
		t.Fatal("there is something left to do")
	}
	want, err := json.Marshal(a.reportOf(t, a.out))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(a.reportOf(t, plan.Known()))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the plan's report is\n%s\nnot\n%s", got, want)
	}
}

func TestReport_describesOptions(t *testing.T) {
	t.Parallel()
	a := applyLookup(t, strings.Replace(fmt.Sprintf(lookupSpec, "document"), `axis "text"`, `fixed "text"`, 1))
	r := a.reportOf(t, a.out)
	find := func(factor, label string) report.OptionDetail {
		i := slices.IndexFunc(r.Options, func(o report.OptionDetail) bool { return o.Factor == factor && o.Label == label })
		if i < 0 {
			t.Fatalf("%s %s is not described: %+v", factor, label, r.Options)
		}
		return r.Options[i]
	}
	if both := find("retriever", "both"); both.Kind != "rrf" || !slices.Equal(both.Legs, []string{"plain", "steep"}) {
		t.Errorf("%+v", both)
	}
	settings := map[string]report.Setting{}
	for _, s := range append(find("text", "short").Settings, find("chunker", "five").Settings...) {
		settings[s.Name] = s
	}
	if s := settings["length"]; s.Value != "axis.length" || s.Default {
		t.Errorf("%+v", s)
	}
	if s := settings["size"]; s.Value != "5" || s.Default {
		t.Errorf("%+v", s)
	}
	if slices.ContainsFunc(r.Options, func(o report.OptionDetail) bool { return o.Factor == "embedder" }) {
		t.Error("an embedder is described that nothing reads")
	}
	crossed := map[string][]string{}
	for _, n := range r.NotCrossed {
		crossed[n.Factor] = n.Kinds
	}
	if kinds := crossed["retriever"]; slices.Contains(kinds, "bm25") || slices.Contains(kinds, "rrf") || !slices.Contains(kinds, "weighted") {
		t.Errorf("retrievers that are not crossed: %v", kinds)
	}
	if p := r.Provenance; p == nil || p.Program != "raglab 9" || len(p.Corpus) != 64 || p.Spec == "" {
		t.Errorf("provenance %+v", r.Provenance)
	}
}

// The lines of a question are its part of the run, whatever the ids of others.
func TestLinesOf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[qa 1\n]{1,3}`), 1, 8, rapid.ID[string]).Draw(t, "ids")
		run := artifact.Run{Questions: ids}
		for i := range ids {
			n := rapid.IntRange(0, 3).Draw(t, "hits")
			var hits []axes.Hit
			var names []string
			for h := range n {
				hits = append(hits, axes.Hit{Score: float64(-h), Ordinal: uint32(h)})
				names = append(names, artifact.ChunkName(fmt.Sprintf("%s %d", ids[i], h), h))
			}
			run.Hits, run.Chunks = append(run.Hits, hits), append(run.Chunks, names)
		}
		var raw bytes.Buffer
		if err := artifact.WriteRun(&raw, run); err != nil {
			t.Fatal(err)
		}
		for i, id := range ids {
			part, err := artifact.ReadRun(linesOf(raw.Bytes(), id))
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case len(run.Hits[i]) == 0 && len(part.Questions) != 0:
				t.Fatalf("%q has no line, and got those of %q", id, part.Questions)
			case len(run.Hits[i]) == 0:
			case !slices.Equal(part.Questions, []string{id}) || !slices.Equal(part.Chunks[0], run.Chunks[i]):
				t.Fatalf("%q: got %v", id, part)
			}
		}
	})
}
