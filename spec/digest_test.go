package spec

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// digestBlocks is a spec with one of everything, block by block.
var digestBlocks = []string{
	`experiment "e" { title = "t" }`,
	`variable "size" { default = 128 }`,
	"locals {\n  double = var.size * 2\n  factor = 1\n}",
	"corpus \"beir\" {\n  path = \"scifact\"\n  split = \"test\"\n}",
	"golden {\n  relevance = \"document\"\n  split { dev = 0.5 }\n}",
	"axis \"chunker\" {\n  option \"fixed\" {\n    tokens = local.double\n    overlap = axis.over\n  }\n  use = \"whole\"\n}",
	`axis "over" { values = [0, 16] }`,
	"axis \"retriever\" {\n  option \"bm25\" { k1 = 1.5 }\n  option \"rrf\" {\n    legs = [\"bm25\", \"extra\"]\n    k = tune.k * local.factor\n  }\n  leg \"extra\" { kind = \"tsvector\" }\n}",
	`tune "k" { grid = [10, 60] }`,
	`exclude { when = axis.over == 16 && axis.chunker == "whole" }`,
	`include { over = 16 }`,
	`include { over = 0 }`,
	"score {\n  depth = 50\n  metrics = [\"ndcg@10\", \"recall@5\"]\n  primary = \"recall@5\"\n}",
	"expect {\n  where = { chunker = \"whole\" }\n  value = 0.5\n}",
	`budget { seconds = 60 }`,
	"abstain \"score\" {\n  leg = \"bm25\"\n  floors = [0.5]\n}",
	`abstain "margin" { where = { chunker = "whole" } }`,
	`output "csv" { path = "a.csv" }`,
	`output "json" { path = "a.json" }`,
	`store "postgres" { dsn = "x" }`,
}

func loadQuietly(t rapid.TB, text string) *Experiment {
	e, diags := LoadSources("dir", []Source{{Name: "spec.hcl", Bytes: []byte(text)}}, LoadOptions{Catalog: newCatalog(), Env: noEnv})
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, text)
	}
	return e
}

// everyParam evaluates everything under every configuration.
func everyParam(t rapid.TB, e *Experiment) map[string]any {
	all := map[string]any{}
	for _, c := range e.Cross().Configurations {
		for _, f := range e.Factors {
			for _, o := range e.Chosen(c, f.Name) {
				p, diags := e.Params(o, c, e.FirstOfGrids())
				if diags.HasErrors() {
					t.Fatal(diags)
				}
				all[c.Key()+"|"+f.Name+"|"+o.Label] = p
			}
		}
	}
	return all
}

// Comments, white space and the order of blocks change neither the digest nor
// any parameter nor which rows there are.
func TestDigest_cosmeticsDoNotCount(t *testing.T) {
	t.Parallel()
	plain := loadQuietly(t, strings.Join(digestBlocks, "\n"))
	params := everyParam(t, plain)
	rapid.Check(t, func(t *rapid.T) {
		blocks := rapid.Permutation(digestBlocks).Draw(t, "blocks")
		var b strings.Builder
		for _, block := range blocks {
			block = strings.ReplaceAll(block, " ", rapid.SampledFrom([]string{" ", "  ", "\t", " /* c */ "}).Draw(t, "space"))
			block = strings.ReplaceAll(block, "\n", rapid.SampledFrom([]string{"\n", "\n\n", " # c\n", "\n// c\n"}).Draw(t, "break"))
			b.WriteString(block + "\n")
		}
		e := loadQuietly(t, b.String())
		if e.Digest != plain.Digest {
			t.Fatalf("the digest differs for\n%s", b.String())
		}
		if len(e.Cross().Configurations) != len(plain.Cross().Configurations) {
			t.Fatalf("%d rows, want %d", len(e.Cross().Configurations), len(plain.Cross().Configurations))
		}
	})
	formatted, _ := Format("spec.hcl", []byte(strings.Join(digestBlocks, "\n")))
	if got := everyParam(t, loadQuietly(t, string(formatted))); !reflect.DeepEqual(got, params) {
		t.Error("formatting changed a parameter")
	}
}

// Every change of meaning changes the digest.
func TestDigest_meaningCounts(t *testing.T) {
	t.Parallel()
	text := strings.Join(digestBlocks, "\n")
	seen := map[string]string{loadQuietly(t, text).Digest: "the original"}
	for _, change := range [][2]string{
		{`"e"`, `"f"`},
		{`title = "t"`, `title = "u"`},
		{"default = 128", "default = 129"},
		{"* 2", "* 3"},
		{`"scifact"`, `"nfcorpus"`},
		{`split = "test"`, `split = "train"`},
		{`split = "test"`, "split = \"test\"\nsize = \"1GB\"\n"},
		{`split = "test"`, "split = \"test\"\nsize = \"2GB\"\n"},
		{`"document"`, `"span"`},
		{"dev = 0.5", "dev = 0.4"},
		{"overlap = axis.over\n", "overlap = axis.over / 2\n"},
		{"values = [0, 16]", "values = [0, 16, 17]"},
		{"k1 = 1.5", "k1 = 1.6"},
		{`["bm25", "extra"]`, `["extra", "bm25"]`},
		{"k = tune.k", "k = 1 + tune.k"},
		{"factor = 1", "factor = 2"},
		{`leg "extra"`, `option "extra"`},
		{"grid = [10, 60]", "grid = [10, 61]"},
		{"grid = [10, 60]", "grid = [60, 10]"},
		{"grid = [10, 60]", "grid = [10, 60]\nper = [\"over\"]\n"},
		{`&& axis.chunker`, `|| axis.chunker`},
		{"include { over = 16 }", `include { chunker = "whole" }`},
		{"depth = 50", "depth = 51"},
		{`primary = "recall@5"`, `primary = "ndcg@10"`},
		{"depth = 50\n", "depth = 50\ncheap = [\"index\"]\n"},
		{"depth = 50\n", "depth = 50\ncheap = [\"index\", \"p95\"]\n"},
		{"value = 0.5", "value = 0.6"},
		{"seconds = 60", "usd = 60"},
		{`"a.csv"`, `"b.csv"`},
		{`dsn = "x"`, `dsn = "y"`},
		{`axis "over"`, "cross { base = { over = 16 } }\naxis \"over\""},
		{`axis "over"`, "cross { mode = \"one_at_a_time\" }\naxis \"over\""},
	} {
		changed := strings.Replace(text, change[0], change[1], 1)
		if changed == text {
			t.Fatalf("nothing to change: %q", change[0])
		}
		changed = strings.ReplaceAll(changed, "{ grid = [10, 60]\nper", "{\ngrid = [10, 60]\nper")
		d := loadQuietly(t, changed).Digest
		if other, ok := seen[d]; ok {
			t.Errorf("%q → %q has the digest of %s", change[0], change[1], other)
		}
		seen[d] = change[1]
	}
}

func TestDigest_readsCount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := head + `
fixed "text" {
  option "lemma" { dictionary = "${trimspace(file("lang.txt"))}${length(fileset(".", "*.md"))}${env("LANGUAGE", "?")}" }
}`
	var digests []string
	digest := func(env string) {
		e, diags := LoadSources(dir, []Source{{Name: "s", Bytes: []byte(text)}}, LoadOptions{Catalog: newCatalog(), Env: func(name string) (string, bool) {
			return env, name == "LANGUAGE" && env != ""
		}})
		fatal(t, e, diags)
		if slices.Contains(digests, e.Digest) {
			t.Errorf("step %d does not change the digest", len(digests))
		}
		digests = append(digests, e.Digest)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("lang.txt", "uk")
	digest("")
	write("lang.txt", "uk\n") // trimmed away, but read
	digest("")
	write("a.md", "")
	digest("")
	digest("x")
	digest("y")
}
