package spec

import (
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
)

// head is what every spec of a test needs.
const head = `
experiment "e" {}
corpus "beir" { path = "scifact" }
golden {
  split {}
}
`

func params[P any](t *testing.T, e *Experiment, o *Option, c *Configuration, tuned map[string]cty.Value) P {
	t.Helper()
	p, diags := e.Params(o, c, tuned)
	fatal(t, e, diags)
	return *p.(*P)
}

func TestParams_defaultsAndValues(t *testing.T) {
	t.Parallel()
	e := load(t, head+`
locals { half = 1 / 2 }
fixed "retriever" {
  option "bm25" {
    k1 = 2
    b  = local.half
  }
}
fixed "embedder" {
  option "e5" {
    kind     = "onnx"
    model    = join("-", ["multilingual", "e5", "small"])
    prefixes = { query = "query: ", passage = "passage: " }
  }
}
`)
	if got, want := params[bm25Params](t, e, e.Factor("retriever").Options[0], nil, nil), (bm25Params{K1: 2, B: 0.5, Variant: "lucene"}); got != want {
		t.Errorf("bm25 = %+v, want %+v", got, want)
	}
	want := onnxParams{Model: "multilingual-e5-small", Pooling: "mean", Prefixes: map[string]string{"query": "query: ", "passage": "passage: "}}
	if diff := cmp.Diff(want, params[onnxParams](t, e, e.Factor("embedder").Options[0], nil, nil)); diff != "" {
		t.Error(diff)
	}
}

func TestParams_unsetDefaultAndNullAreOne(t *testing.T) {
	t.Parallel()
	var digests []string
	for _, attr := range []string{"", "k1 = 1.2", "k1 = null", "k1 = 12 / 10", "k1 = true ? null : 3"} {
		e := load(t, head+`fixed "retriever" {
  option "bm25" {
    `+attr+`
  }
}`)
		if got := params[bm25Params](t, e, e.Factor("retriever").Options[0], nil, nil); got.K1 != 1.2 {
			t.Errorf("%q: k1 = %v", attr, got.K1)
		}
		digests = append(digests, e.Digest)
	}
	if len(slices.Compact(digests)) != 1 {
		t.Errorf("digests differ: %q", digests)
	}
}

func TestParams_pathsAreRelativeToTheSpec(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := head + `
output "csv" { path = "results/a.csv" }
output "json" { path = "` + filepath.ToSlash(filepath.Join(dir, "b.json")) + `" }
`
	e, diags := LoadSources("some/where", []Source{{Name: "spec.hcl", Bytes: []byte(text)}}, LoadOptions{Catalog: newCatalog(), Env: noEnv})
	fatal(t, e, diags)
	if got, want := params[pathParams](t, e, e.Outputs[0], nil, nil).Path, filepath.Join("some", "where", "results", "a.csv"); got != want {
		t.Errorf("path = %q, want %q", got, want)
	}
	if got, want := params[pathParams](t, e, e.Outputs[1], nil, nil).Path, filepath.Join(dir, "b.json"); got != want {
		t.Errorf("path = %q, want %q", got, want)
	}
}

const tunedSpec = head + `
axis "depth" { values = [20, 50] }
axis "text" { use = ["simple", "unaccent"] }
axis "retriever" {
  option "bm25" {}
  option "rrf" {
    legs = ["bm25", "spare"]
    k    = tune.k * (axis.text == "simple" ? 1 : 2)
  }
  leg "spare" {
    kind = "bm25"
    b    = tune.b
  }
}
axis "reranker" {
  use = "none"
  option "cross_encoder" { depth = axis.depth }
}
tune "k" { grid = [10, 60] }
tune "b" {
  grid = [0, 0.5]
  per  = ["text", "depth"]
}
`

func find(t *testing.T, e *Experiment, key map[string]string) *Configuration {
	t.Helper()
	x := Expect{Where: key}
	for _, c := range e.Cross().Configurations {
		if x.Matches(c) {
			return c
		}
	}
	t.Fatalf("no configuration %v", key)
	return nil
}

func TestParams_axisAndTune(t *testing.T) {
	t.Parallel()
	e := load(t, tunedSpec)
	c := find(t, e, map[string]string{"depth": "50", "text": "unaccent", "retriever": "rrf", "reranker": "cross_encoder"})
	rrf := c.Option("retriever")
	tuned := map[string]cty.Value{"k": cty.NumberIntVal(60), "b": cty.Zero}
	if got := params[rrfParams](t, e, rrf, c, tuned); got.K != 120 {
		t.Errorf("k = %v, want 120", got.K)
	}
	if got := params[crossEncoderParams](t, e, c.Option("reranker"), c, nil); got.Depth != 50 {
		t.Errorf("depth = %v, want 50", got.Depth)
	}
	if _, diags := e.Params(rrf, c, nil); !diags.HasErrors() {
		t.Error("a tuned value is missing and nobody says so")
	}
	if diff := cmp.Diff(map[string][]string{"k": {"k"}}, rrf.TunedFields()); diff != "" {
		t.Error(diff)
	}
	if got := rrf.AxisRefs(); !slices.Equal(got, []string{"text"}) {
		t.Errorf("axis refs = %q", got)
	}
	first := e.FirstOfGrids()
	if first["k"].Equals(cty.NumberIntVal(10)).False() || first["b"].Equals(cty.Zero).False() {
		t.Errorf("first of grids = %#v", first)
	}
}

func TestChosen_followsLegsOnce(t *testing.T) {
	t.Parallel()
	e := load(t, tunedSpec)
	c := find(t, e, map[string]string{"depth": "20", "text": "simple", "retriever": "rrf", "reranker": "none"})
	var labels []string
	for _, o := range e.Chosen(c, "retriever") {
		labels = append(labels, o.Label)
	}
	if !slices.Equal(labels, []string{"rrf", "bm25", "spare"}) {
		t.Errorf("chosen = %q", labels)
	}
	tunes := e.TunesOf(c)
	if len(tunes) != 2 || tunes[0].Group(c) != "" || tunes[1].Group(c) != "text=simple,depth=20" {
		t.Errorf("tunes = %v", tunes)
	}
	if tunes := e.TunesOf(find(t, e, map[string]string{"retriever": "bm25"})); len(tunes) != 0 {
		t.Errorf("bm25 reads %v", tunes)
	}
}

// Equal calls return the same pointer, from whichever goroutine.
func TestParams_rememberedByWhatTheyRead(t *testing.T) {
	t.Parallel()
	e := load(t, tunedSpec)
	tuned := e.FirstOfGrids()
	seen := make([]map[*Option]map[any]bool, 4)
	var wg sync.WaitGroup
	for i := range seen {
		seen[i] = map[*Option]map[any]bool{}
		wg.Go(func() {
			for _, c := range e.Cross().Configurations {
				for _, name := range []string{"retriever", "reranker", "text"} {
					o := c.Option(name)
					p, diags := e.Params(o, c, tuned)
					if diags.HasErrors() {
						t.Error(diags)
					}
					if seen[i][o] == nil {
						seen[i][o] = map[any]bool{}
					}
					seen[i][o][p] = true
				}
			}
		})
	}
	wg.Wait()
	for _, s := range seen {
		if diff := cmp.Diff(len(seen[0]), len(s)); diff != "" {
			t.Error(diff)
		}
		for o, pointers := range s {
			want := map[string]int{"rrf": 2, "cross_encoder": 2}[o.Label]
			if got := len(pointers); got != max(want, 1) {
				t.Errorf("%s: %d different parameters, want %d", o.Label, got, max(want, 1))
			}
		}
	}
}
