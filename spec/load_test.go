package spec

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A folder is one experiment; a file in it is one by itself.
func TestLoad_folderAndFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "odd [name]*")
	write(t, dir, map[string]string{
		"a.hcl":       "experiment \"e\" {}\ncorpus \"files\" { path = \"docs\" }\n",
		"b.hcl":       "golden { file = \"g.jsonl\" }\nlocals { n = local.m }\n",
		"c.hcl":       "locals { m = 3 }\nfixed \"chunker\" {\n  option \"fixed\" { tokens = local.n }\n}\n",
		".hidden.hcl": "experiment \"other\" {}\n",
		"vars.txt":    "n = 3\n",
		"sub/d.hcl":   "experiment \"other\" {}\n",
		"alone.hcl.x": "experiment \"other\" {}\n",
	})
	opts := LoadOptions{Catalog: newCatalog(), Env: noEnv}
	e, diags := Load(dir, opts)
	fatal(t, e, diags)
	if got := params[fixedParams](t, e, e.Factor("chunker").Options[0], nil, nil).Tokens; got != 3 {
		t.Errorf("tokens = %d", got)
	}
	if want := filepath.Join(dir, "g.jsonl"); e.Golden.File != want {
		t.Errorf("golden = %q, want %q", e.Golden.File, want)
	}
	if _, diags := Load(filepath.Join(dir, "a.hcl"), opts); !diags.HasErrors() || diags[0].Summary != sumNoQuestions {
		t.Errorf("a file by itself: %v", diags)
	}
	for _, path := range []string{filepath.Join(dir, "none.hcl"), filepath.Join(dir, "..")} {
		if e, diags := Load(path, opts); !diags.HasErrors() || e == nil || diags[0].Summary != sumNoFile {
			t.Errorf("%s: %v", path, diags)
		}
	}
}

func TestLoad_byteOrderMark(t *testing.T) {
	t.Parallel()
	e, diags := LoadSources("", []Source{{Name: "s", Bytes: []byte("\xef\xbb\xbf" + tunedSpec)}}, LoadOptions{Catalog: newCatalog(), Env: noEnv})
	fatal(t, e, diags)
	if plain := load(t, tunedSpec); plain.Digest != e.Digest {
		t.Error("a byte order mark changes the digest")
	}
}

// Every form that the language promises, one by one.
func TestLoad_forms(t *testing.T) {
	t.Parallel()
	const question = "experiment \"e\" {}\n"
	for name, text := range map[string]string{
		"free axis": head + `
axis "rerank_depth" { values = [20, 30, 50, 60] }
fixed "reranker" {
  option "cross_encoder" { depth = axis.rerank_depth }
}`,
		"free axis fixed": head + `
fixed "rerank_depth" { values = [20] }
fixed "reranker" {
  option "cross_encoder" { depth = axis["rerank_depth"] }
}`,
		"axis of a fixed factor": head + `
fixed "reranker" {
  option "cross_encoder" { depth = axis.text == "simple" ? 20 : 30 }
}`,
		"all of axis":      head + "fixed \"reranker\" {\n  option \"cross_encoder\" { depth = length(axis) }\n}",
		"short kinds":      head + `axis "chunker" { use = ["fixed", "sentence"] }`,
		"short and long":   head + "axis \"chunker\" {\n  option \"fixed\" { tokens = 5 }\n  use = [for k in [\"sentence\"] : k]\n}",
		"computed use":     head + "locals { kinds = toset([\"whole\", \"sentence\"]) }\naxis \"chunker\" { use = local.kinds }",
		"null kind":        head + "axis \"chunker\" {\n  option \"fixed\" {\n    kind = null\n    tokens = 3\n  }\n  option \"whole\" {}\n}",
		"files":            question + "corpus \"files\" { path = \"docs/\" }\ngolden { file = \"g.jsonl\" }",
		"jsonl":            question + "corpus \"jsonl\" { path = \"docs.jsonl\" }\ngolden {\n  queries = \"q.jsonl\"\n  qrels = \"qrels.tsv\"\n}",
		"beir":             question + "corpus \"beir\" {\n  path = \"scifact/\"\n  language = \"en\"\n}",
		"beir, own golden": question + "corpus \"beir\" { path = \"scifact/\" }\ngolden { file = \"g.jsonl\" }",
		"split by tag": head[:strings.Index(head, "golden")] + `golden {
  split {
    by       = "tag"
    dev_tag  = "split:train"
    test_tag = "split:test"
  }
}`,
		"fuser of fusers": head + `
fixed "retriever" {
  option "outer" {
    kind = "rrf"
    legs = ["inner", "lexical"]
  }
  leg "inner" {
    kind  = "weighted"
    legs  = ["lexical", "bm25"]
    alpha = 0.3
  }
  leg "lexical" { kind = "tsvector" }
  leg "bm25" {}
}`,
		"legs by axis": head + `
axis "partner" { values = ["tsvector", "bm25"] }
axis "retriever" {
  option "bm25" {}
  option "rrf" { legs = ["bm25", axis.partner] }
  leg "tsvector" {}
}`,
		"heredoc and template": head + "fixed \"text\" {\n  option \"lemma\" {\n    dictionary = <<-EOT\n      ${upper(\"u\")}\n      EOT\n  }\n}",
		"expectation of a free axis": head + `
axis "depth" { values = [20, 0.5 * 60] }
fixed "reranker" {
  option "cross_encoder" { depth = axis.depth }
}
expect {
  where = { depth = 30, chunker = "whole" }
  value = 0.6
}`,
		"exclude over everything": head + `
axis "text" { use = ["simple", "unaccent"] }
axis "chunker" { use = ["whole", "sentence"] }
exclude { when = contains(values(axis), "sentence") && axis.text != "simple" }`,
		"budget": head + "budget {\n  seconds = 2 * 60\n  usd = null\n}",
		"sensitive store": head + `
variable "dsn" {
  default   = "postgres://secret"
  sensitive = true
}
store "postgres" { dsn = var.dsn }`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := load(t, text)
			if len(e.Cross().Configurations) == 0 || len(e.Digest) != 64 {
				t.Error("nothing came of it")
			}
		})
	}
}

func TestLoad_whatThingsBecome(t *testing.T) {
	t.Parallel()
	e := loadQuietly(t, strings.Join(digestBlocks, "\n"))
	if e.Name != "e" || e.Title != "t" || e.Corpus.Kind != "beir" || e.Store.Kind != "postgres" || len(e.Outputs) != 2 {
		t.Errorf("experiment = %+v", e)
	}
	if diff := cmp.Diff(Score{Depth: 50, Metrics: []string{"ndcg@10", "recall@5"}, Primary: "recall@5", Cheap: []string{"p95", "ingest", "index"}, Range: e.Score.Range}, e.Score); diff != "" {
		t.Error(diff)
	}
	if x := e.Expects[0]; x.Metric != "recall@5" || x.Value != 0.5 || x.Tolerance != 0.0005 {
		t.Errorf("expect = %+v", x)
	}
	if s := e.Golden.Split; s == nil || s.By != "hash" || s.Dev != 0.5 {
		t.Errorf("split = %+v", s)
	}
	var factors []string
	for _, f := range e.Factors {
		factors = append(factors, f.Name)
	}
	if want := []string{"chunker", "text", "embedder", "retriever", "reranker", "over"}; !slices.Equal(factors, want) {
		t.Errorf("factors = %q", factors)
	}
	if f := e.Factor("text"); f.IsAxis || f.Options[0].Kind != "simple" || f.Range.Filename != "" {
		t.Errorf("a factor that no block names = %+v", f)
	}
	chunker := e.Factor("chunker")
	if got := []string{chunker.Options[0].Label, chunker.Options[1].Label}; !slices.Equal(got, []string{"fixed", "whole"}) {
		t.Errorf("options are not in the order of the text: %q", got)
	}
	if leg := e.Factor("retriever").Option("extra"); leg == nil || !leg.IsLeg {
		t.Errorf("leg = %+v", leg)
	}
}

// A secret stays out of what Params and ParamError say, too.
func TestParams_secretsStayHidden(t *testing.T) {
	t.Parallel()
	c := newCatalog()
	c.kinds["store"] = []KindInfo{kind("postgres", func(p postgresParams) error {
		return &os.PathError{Op: "dial", Path: p.DSN, Err: os.ErrInvalid}
	})}
	text := head + `store "postgres" { dsn = env("DSN") }`
	e, diags := LoadSources("", []Source{{Name: "s", Bytes: []byte(text)}}, LoadOptions{Catalog: c, Env: func(string) (string, bool) {
		return "postgres://user:hunter2@host", true
	}})
	_, again := e.Params(e.Store, nil, nil)
	all := append(append(diags, again...), e.ParamError(e.Store, &os.PathError{Op: "dial", Path: "postgres://user:hunter2@host", Err: os.ErrInvalid}))
	if len(all) != 3 {
		t.Fatalf("%d diagnostics: %v", len(all), all)
	}
	for _, d := range all {
		if strings.Contains(d.Detail, "hunter2") || !strings.Contains(d.Detail, "dial (sensitive): invalid argument.") {
			t.Errorf("detail = %q", d.Detail)
		}
	}
}
