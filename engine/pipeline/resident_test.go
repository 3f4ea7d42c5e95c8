package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/axes"
	"raglab/axes/retriever"
	"raglab/axes/text"
	"raglab/cache"
	"raglab/engine"
	"raglab/internal/param"
	"raglab/spec"
)

// shop is a store outside the cache: texts by key. It is a residence.
type shop struct {
	mu     sync.Mutex
	tables map[string][]string
	builds int
}

func (s *shop) Whole(context.Context, []cache.Key) (map[cache.Key]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	whole := map[cache.Key]string{}
	for text := range s.tables {
		k, err := cache.ParseKey(text)
		if err != nil {
			return nil, err
		}
		whole[k] = ""
	}
	return whole, nil
}

func (s *shop) Remove(_ context.Context, k cache.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tables, k.String())
	return nil
}

func (s *shop) empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tables)
}

// inShop is a leaf whose index is in a shop. A chunk is found by its first term.
type inShop struct {
	*shop
	fail error // what a search fails with
}

func (inShop) Uses() retriever.Uses { return retriever.Uses{Text: true} }

func (inShop) Settings() map[string]string { return map[string]string{"workers": "3"} }

func (inShop) Build(context.Context, retriever.Corpus, text.Analyzer, io.Writer) error {
	return errors.New("it has no key")
}

func (s inShop) BuildAs(_ context.Context, key string, corpus retriever.Corpus, a text.Analyzer, w io.Writer) (retriever.Measures, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := retriever.Measures{IndexBytes: 10, HeapBytes: 20, Server: "Shop 1"}
	if _, there := s.tables[key]; !there {
		var first []string
		for s, err := range corpus.Texts() {
			if err != nil {
				return m, err
			}
			first = append(first, strings.Join(termsOf(a, s)[:1], ""))
		}
		s.tables[key] = first
		s.builds++
		m.Built, m.Copy, m.Index = true, time.Second, 2*time.Second
	}
	_, err := io.WriteString(w, key)
	return m, err
}

func (s inShop) Open(_ context.Context, r io.Reader, _ int64, a text.Analyzer) (retriever.Searcher, error) {
	key, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return shopSearcher{s, string(key), a}, nil
}

type shopSearcher struct {
	inShop
	key      string
	analyzer text.Analyzer
}

func (s shopSearcher) Search(_ context.Context, q axes.Query, _ int, dst []axes.Hit) ([]axes.Hit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	table, there := s.tables[s.key]
	switch {
	case s.fail != nil:
		return nil, s.fail
	case !there:
		return nil, fmt.Errorf("select: %w", retriever.ErrGone)
	}
	for _, term := range termsOf(s.analyzer, q.Text) {
		for i, first := range table {
			if first == term {
				dst = append(dst, axes.Hit{Ordinal: uint32(i), Score: float64(len(table) - i)})
			}
		}
	}
	return dst, nil
}

func (shopSearcher) Close() error { return nil }

// searchable is a graph of an index in a shop and a search of it.
type searchable struct {
	graph         *engine.Graph
	index, search *engine.Stage
}

func indexAndSearch(t *testing.T, leaf inShop, questions ...queryLine) searchable {
	t.Helper()
	g := engine.NewGraph()
	in := func(name string, b []byte) engine.Input {
		return engine.Input{Name: name, From: constant(g, name, b), Output: "out"}
	}
	index := g.Add(&engine.Stage{
		Address: "index[shop]", Kind: indexKindPure, Work: indexWork{leaf, words{}, shardRange{0, 1, 1}}, Needs: engine.Resources{CPU: 1}, Residence: leaf.shop,
		Inputs: []engine.Input{
			in("order", plainLines(t, "d", "e")),
			in("chunks-000", lines(t, axes.Chunk{Doc: "d", Text: "river bank"}, axes.Chunk{Doc: "e", Text: "lake"})),
		},
	})
	search := g.Add(&engine.Stage{
		Address: "search[shop]", Kind: searchKindPure, Work: searchWork{leaf, words{}, 5}, Needs: engine.Resources{CPU: 1},
		Inputs: []engine.Input{
			in("queries", plainLines(t, questions...)),
			{Name: "index", From: index, Output: "index"},
			{Name: "chunks", From: index, Output: "chunks"},
		},
	})
	return searchable{g, index, search}
}

// apply plans, does something, and applies the plan.
func (l *lab) apply(t *testing.T, g *engine.Graph, between func()) *engine.Outcomes {
	t.Helper()
	plan, err := (&engine.Planner{Store: l.store, Ledger: engine.Ledger{}, Log: hclog.NewNullLogger()}).Plan(t.Context(), g, nil)
	if err != nil {
		t.Fatal(err)
	}
	between()
	out, err := l.executor().Apply(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (l *lab) measurement(t *testing.T, out *engine.Outcomes, s *engine.Stage) *measurement {
	t.Helper()
	record, err := l.store.Get(t.Context(), out.Keys[s.Index()])
	if err != nil {
		t.Fatal(err)
	}
	m := &measurement{}
	if err := json.Unmarshal(record.Measurements, &m.values); err != nil {
		t.Fatal(err)
	}
	return m
}

func nothing() {}

func TestResident_indexAndSearch(t *testing.T) {
	t.Parallel()
	l, store := newLab(t), &shop{tables: map[string][]string{}}
	s := indexAndSearch(t, inShop{shop: store}, queryLine{"q1", "lake"}, queryLine{"q2", " "})
	out := l.apply(t, s.graph, nothing)
	if err := out.Err(); err != nil {
		t.Fatal(err)
	}
	if _, ok := store.tables[out.Keys[s.index.Index()].String()]; !ok {
		t.Errorf("the table is not under the stage's key but %v", slices.Collect(maps.Keys(store.tables)))
	}
	m := l.measurement(t, out, s.index)
	for name, want := range map[string]float64{"index_bytes": 10, "heap_bytes": 20, "copy_seconds": 1, "build_seconds": 2} {
		if got, ok := m.number(name); !ok || got != want {
			t.Errorf("%s is %v, %v; want %v", name, got, ok, want)
		}
	}
	if got, ok := m.number("normalise_seconds"); !ok || got <= 0 || string(m.values["server"]) != `"Shop 1"` {
		t.Errorf("normalised in %v, server %s", got, m.values["server"])
	}
	m = l.measurement(t, out, s.search)
	if n, _ := m.number("empty_questions"); n != 1 {
		t.Errorf("%v questions left no term, want 1", n)
	}
	var whole, inText times
	if err := errors.Join(json.Unmarshal(m.values["latency_ms"], &whole), json.Unmarshal(m.values["text_ms"], &inText)); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"q1", "q2"} {
		if inText[q] < 0.05 || inText[q] > whole[q] {
			t.Errorf("%s: text handling took %v of %v ms", q, inText[q], whole[q])
		}
	}
}

// A table that is lost before it is searched is built again in the same apply.
func TestResident_goneBeforeTheSearch(t *testing.T) {
	t.Parallel()
	l, store := newLab(t), &shop{tables: map[string][]string{}}
	leaf := inShop{shop: store}
	if err := l.apply(t, indexAndSearch(t, leaf, queryLine{"q1", "lake"}).graph, nothing).Err(); err != nil {
		t.Fatal(err)
	}
	s := indexAndSearch(t, leaf, queryLine{"q1", "river"})
	out := l.apply(t, s.graph, store.empty)
	if err := out.Err(); err != nil || store.builds != 2 || out.State[s.search.Index()] != engine.StateDone {
		t.Errorf("%v after %d builds", err, store.builds)
	}
	if len(l.warnings) != 1 || !strings.Contains(l.warnings[0], "input index (index[shop]) is lost and will be made again: ") {
		t.Errorf("warnings %q", l.warnings)
	}
}

// What was there before its record is not measured as if it had been built.
func TestResident_thereBeforeItsRecord(t *testing.T) {
	t.Parallel()
	l, store := newLab(t), &shop{tables: map[string][]string{}}
	s := indexAndSearch(t, inShop{shop: store}, queryLine{"q1", "lake"})
	out := l.apply(t, s.graph, nothing)
	key := out.Keys[s.index.Index()]
	if err := l.store.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	out = l.apply(t, s.graph, nothing)
	m := l.measurement(t, out, s.index)
	if _, ok := m.number("build_seconds"); ok || store.builds != 1 {
		t.Errorf("measurements %v after %d builds", m.values, store.builds)
	}
	c := &collector{ctx: t.Context(), store: l.store, out: out, measured: map[*engine.Stage]*measurement{}, machines: map[string]bool{}}
	if cost := c.cost(s.index); cost != nil {
		t.Errorf("it cost %v s, which nobody knows", *cost)
	}
}

func TestIndexError_sorts(t *testing.T) {
	t.Parallel()
	l, store := newLab(t), &shop{tables: map[string][]string{}}
	broken := errors.New("syntax")
	s := indexAndSearch(t, inShop{store, broken}, queryLine{"q1", "lake"})
	if err := l.apply(t, s.graph, nothing).Err(); !errors.Is(err, broken) || store.builds != 1 {
		t.Errorf("%v after %d builds", err, store.builds)
	}
	var input *engine.InputError
	if err := passing(fmt.Errorf("build: %w", param.Errorf("workers", "too many"))); !errors.As(err, &input) {
		t.Errorf("a parameter to change is %T", err)
	}
}

// noAssets has every asset's name and none of their files.
type noAssets struct{}

func (noAssets) Digest(name string) (string, error)          { return "sha256:" + name, nil }
func (noAssets) Missing(name string) string                  { return "get " + name }
func (noAssets) Dir(context.Context, string) (string, error) { return "", errors.New("none") }
func buildSpec(t *testing.T, text string, tables engine.Residence) (*Pipeline, error) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"docs.jsonl":   `{"_id":"d","text":"river"}` + "\n",
		"golden.jsonl": `{"_id":"q","text":"river","relevant":[{"doc":"d","grade":1}]}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text = "experiment \"e\" {}\ncorpus \"jsonl\" { path = \"docs.jsonl\" }\ngolden { file = \"golden.jsonl\" }\n" + text
	exp, diags := spec.LoadSources(dir, []spec.Source{{Name: "e.hcl", Bytes: []byte(text)}}, spec.LoadOptions{Catalog: Catalog{}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p, err := Build(t.Context(), exp, exp.Cross().Configurations, Env{
		Threads: 4, Assets: noAssets{}, Fingerprints: ParseFingerprints(nil), Tables: tables, Log: hclog.NewNullLogger(),
	})
	if p != nil {
		t.Cleanup(func() { _ = p.Close() })
	}
	return p, err
}

const approximateSpec = `
fixed "embedder" {
  option "e5" {
    kind  = "onnx"
    model = "multilingual-e5-small"
  }
}
axis "retriever" {
  option "ann" {
    kind = "pgvector"
  }
  option "flat" {
    kind  = "pgvector"
    index = "exact"
  }
  option "lexical" { kind = "tsvector" }
  option "both" {
    kind = "rrf"
    legs = ["ann", "lexical"]
  }
  %s
}
score {
  depth   = %d
  metrics = ["ndcg@10", "recall@5"]
}
`

// An approximate index, alone or as a leg, is held against an exact one, which a
// row of the spec may be.
func TestBuild_approximateHasAnExactTwin(t *testing.T) {
	t.Parallel()
	for _, row := range []string{"", "option \"brute\" { kind = \"exact\" }"} {
		store := &shop{}
		p, err := buildSpec(t, fmt.Sprintf(approximateSpec, row, 30), store)
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for _, s := range p.Graph.Stages {
			count[s.Kind.Name]++
			if resident := strings.Contains(s.Address, "ann") || strings.Contains(s.Address, "flat") || strings.Contains(s.Address, "lexical"); s.Kind.Name == "index" && (s.Residence == engine.Residence(store)) != resident {
				t.Errorf("%s has the residence %v", s.Address, s.Residence)
			}
		}
		if count["index"] != 4 || count["search"] != 4 || count["ann_recall"] != 1 {
			t.Errorf("stages %v, want 4 indexes, 4 searches and one comparison", count)
		}
		for _, r := range p.Rows {
			want := 0
			if label := r.Configuration.Label("retriever"); label == "ann" || label == "both" {
				want = 1
			}
			if len(r.Checks) != want {
				t.Errorf("%s has %d checks, want %d", r.Configuration.Name(), len(r.Checks), want)
			}
			if slices.ContainsFunc(r.Ask, func(s *engine.Stage) bool { return strings.Contains(s.Address, exactKind) }) && row == "" {
				t.Errorf("the twin counts in what %s costs", r.Configuration.Name())
			}
		}
	}
}

// What the machine decides for a build is in its key, and how many threads it
// takes.
func TestBuild_settingsAreFields(t *testing.T) {
	t.Parallel()
	p, err := buildSpec(t, fmt.Sprintf(approximateSpec, "", 30), &shop{})
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, s := range p.Graph.Stages {
		for _, f := range s.Fields {
			if f.Path == "build.workers" {
				found = true
				if f.Value != "3" || s.Needs.CPU != 4 || s.Kind != indexKindPure {
					t.Errorf("%s: workers %v, %d threads", s.Address, f.Value, s.Needs.CPU)
				}
			}
		}
		if strings.HasPrefix(s.Address, "search[") && strings.HasSuffix(s.Address, " ann]") && s.Kind.Pure {
			t.Errorf("%s is taken for reproducible", s.Address)
		}
	}
	if !found {
		t.Error("no stage has the field build.workers")
	}
}

// A depth that an index cannot search to is an error in the spec.
func TestBuild_depthOfAnIndex(t *testing.T) {
	t.Parallel()
	if _, err := buildSpec(t, fmt.Sprintf(approximateSpec, "", 2000), &shop{}); err == nil || !strings.Contains(err.Error(), "2000 hits are asked for") {
		t.Errorf("error %v", err)
	}
}
