package pipeline

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"raglab/engine"
	"raglab/internal/report"
)

// observed is a collector of stages that measured what they did.
func observed(t *testing.T, measured map[*engine.Stage]map[string]any) *collector {
	t.Helper()
	c := &collector{ctx: t.Context(), measured: map[*engine.Stage]*measurement{}}
	for s, values := range measured {
		m := &measurement{values: map[string]json.RawMessage{}}
		for name, v := range values {
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			m.values[name] = raw
		}
		c.measured[s] = m
	}
	return c
}

// hybrid is a row whose questions pass through two searches.
func hybrid() (Row, map[*engine.Stage]map[string]any) {
	stage := func(kind, address string) *engine.Stage {
		return &engine.Stage{Address: address, Kind: &engine.Kind{Name: kind}}
	}
	embed, dense := stage("embed_questions", "embed_questions[e]"), stage("search", "search[dense]")
	lexical, fuse := stage("search", "search[lexical]"), stage("fuse", "fuse[rrf]")
	return Row{Ask: []*engine.Stage{embed, dense, lexical, fuse}}, map[*engine.Stage]map[string]any{
		embed:   {"latency_ms": times{"a": 10, "b": 20}},
		dense:   {"latency_ms": times{"a": 1, "b": 2}},
		lexical: {"latency_ms": times{"a": 3, "b": 5}, "text_ms": times{"a": 1, "b": 4}, "empty_questions": 2},
		fuse:    {"latency_ms": times{"a": 0.5, "b": 0.25}},
	}
}

var asked2 = &Scores{Questions: []QuestionScore{{ID: "a"}, {ID: "b"}}}

// What a user waits for is the sum of the stages; each part is looked at alone.
func TestLatency_partByPart(t *testing.T) {
	t.Parallel()
	row, measured := hybrid()
	got := observed(t, measured).latency(row, asked2)
	if got == nil || got.Percentiles != (report.Percentiles{P50: 14.5, P95: 27.25}) {
		t.Fatalf("whole %+v, want 14.5 and 27.25", got)
	}
	want := map[string]report.Percentiles{
		"text": {P50: 1, P95: 4}, "embed": {P50: 10, P95: 20}, "search": {P50: 3, P95: 3}, "fuse": {P50: 0.25, P95: 0.5},
	}
	if !maps.Equal(got.Parts, want) {
		t.Errorf("parts %+v, want %+v", got.Parts, want)
	}
	for name := range got.Parts {
		if !slices.Contains(report.LatencyParts, name) {
			t.Errorf("part %s is in no table", name)
		}
	}
}

// Where a rerank's times are made of remembered ones, that is said; where they are
// another machine's, there are none.
func TestLatency_rerankIsComposed(t *testing.T) {
	t.Parallel()
	row, measured := hybrid()
	rerank := &engine.Stage{Address: "rerank[cross]", Kind: &engine.Kind{Name: "rerank"}}
	row.Ask = append(row.Ask, rerank)
	values := map[string]any{
		"latency_ms": times{"a": 100, "b": 200}, "composed_questions": 0, "unmeasured_questions": 0, "truncated_share": 0.125,
	}
	measured[rerank] = values
	notes := func() []string {
		c := observed(t, measured)
		c.p = &Pipeline{Rows: []Row{row, row}}
		r := &report.Report{}
		c.rerankNotes(r)
		return r.Notes
	}
	if got := observed(t, measured).latency(row, asked2); got == nil || got.Composed || got.Parts["rerank"].P50 != 100 {
		t.Errorf("%+v, want a rerank of 100 ms that is not composed", got)
	}
	if n := notes(); len(n) != 1 || !strings.Contains(n[0], "rerank[cross]: 12.5 % of the pairs") {
		t.Errorf("notes %q, want one about pairs that were cut", n)
	}
	values["composed_questions"], values["truncated_share"] = 1, 0
	if got := observed(t, measured).latency(row, asked2); got == nil || !got.Composed {
		t.Errorf("%+v, want a composed latency", got)
	}
	if n := notes(); len(n) != 1 || !strings.Contains(n[0], "marked ≈, of 1 of 1 rerank stages") {
		t.Errorf("notes %q, want one about composed times", n)
	}
	values["latency_ms"], values["unmeasured_questions"], values["composed_questions"] = times{"a": 100}, 1, 0
	if got := observed(t, measured).latency(row, asked2); got != nil {
		t.Errorf("%+v, want none", got)
	}
	if n := notes(); len(n) != 1 || !strings.Contains(n[0], "another machine") {
		t.Errorf("notes %q, want one about another machine", n)
	}
}

// Reranking costs what its searches do, remembered ones included, by the price of now.
func TestBill_reranking(t *testing.T) {
	t.Parallel()
	s := &engine.Stage{Address: "rerank[http]", Kind: rerankKindVolatile, Work: rerankWork{reranker: countingService{price: 0.002}}}
	c := observed(t, map[*engine.Stage]map[string]any{s: {"searches": 150, "new_usd": 0.1}})
	if got := c.bill([]*engine.Stage{s}); got.usd != 0.3 || got.services != 1 || got.unknown {
		t.Errorf("%+v, want 0.3 USD", got)
	}
	s.Work = rerankWork{reranker: countingService{}}
	if got := c.bill([]*engine.Stage{s}).report(); got != nil {
		t.Errorf("%v USD without a price, want unknown", *got)
	}
}

// A stage that was not measured leaves the whole unmeasured.
func TestLatency_unmeasured(t *testing.T) {
	t.Parallel()
	for _, harm := range []func(values map[string]any){
		func(values map[string]any) { delete(values, "latency_ms") },
		func(values map[string]any) { values["latency_ms"] = times{"a": 1} },
	} {
		row, measured := hybrid()
		harm(measured[row.Ask[1]])
		if got := observed(t, measured).latency(row, asked2); got != nil {
			t.Errorf("latency %+v, want none", got)
		}
	}
}

// Questions without a term are counted for the row and told once for each search.
func TestTermless_isTold(t *testing.T) {
	t.Parallel()
	row, measured := hybrid()
	c := observed(t, measured)
	c.p = &Pipeline{Rows: []Row{row, row}}
	if n := c.termless(row); n != 2 {
		t.Errorf("%d questions, want 2", n)
	}
	r := &report.Report{}
	c.termlessNotes(r)
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "search[lexical]: text handling leaves no term of 2 ") {
		t.Errorf("notes %q", r.Notes)
	}
}

// The cost of an index in a database has its parts.
func TestIngest_parts(t *testing.T) {
	t.Parallel()
	index := &engine.Stage{Address: "index[c lexical]", Kind: indexKindPure, Residence: &shop{}}
	c := observed(t, map[*engine.Stage]map[string]any{index: {
		"normalise_seconds": 4.0, "normalise_ms_per_document": 39.0, "copy_seconds": 2.0, "build_seconds": 1.0,
		"index_bytes": 100, "heap_bytes": 200, "server": "Postgres 18",
	}})
	c.measured[index].wall = 8
	got := c.ingestOf(index)
	if *got.Normalise != 4 || *got.NormalisePerDocument != 39 || *got.Copy != 2 || *got.Build != 1 || *got.Index != 8 || *got.Total != 8 {
		t.Errorf("%+v", got)
	}
	if *got.IndexBytes != 100 || *got.HeapBytes != 200 || got.Server != "Postgres 18" || got.Name != "c lexical" {
		t.Errorf("%+v", got)
	}
}
