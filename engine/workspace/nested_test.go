package workspace_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"raglab/internal/testdata"
)

const nestedSpec = `
experiment "nested" {}
variable "qrels" { type = string }
corpus "jsonl" {
  path     = "docs.jsonl"
  language = "uk"
  empty    = "keep"
}
golden {
  queries = "queries.jsonl"
  qrels   = var.qrels
  within  = "doc_id"
}
fixed "chunker" {
  option "whole" { empty = "keep" }
}
fixed "text" {
  option "simple" { characters = "alnum" }
}
fixed "retriever" {
  option "bm25" { variant = "okapi" }
}
score {
  depth   = 10
  metrics = ["recall@1", "recall@5", "recall@10", "mrr@10", "ndcg@10"]
}
`

// nested writes the pages of uk-unlp with the document that each is a part of.
func nested(t *testing.T) string {
	t.Helper()
	dir, data := t.TempDir(), testdata.Shared(t, "data/uk-unlp/neutral")
	var out bytes.Buffer
	lines := bufio.NewScanner(bytes.NewReader(mustRead(t, filepath.Join(data, "docs.jsonl"))))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var page map[string]string
		if err := json.Unmarshal(lines.Bytes(), &page); err != nil {
			t.Fatal(err)
		}
		page["doc_id"], _, _ = strings.Cut(page["_id"], "#")
		raw, err := json.Marshal(page)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(raw, '\n'))
	}
	write(t, dir, "docs.jsonl", out.Bytes())
	for _, name := range []string{"queries.jsonl", "qrels.tsv", "qrels.by-document.tsv"} {
		write(t, dir, name, mustRead(t, filepath.Join(data, name)))
	}
	write(t, dir, "nested.hcl", []byte(nestedSpec))
	return dir
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func write(t *testing.T, dir, name string, raw []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Pages are ranked, documents are scored: with judgements of pages and of
// documents alike the figures are those that follow from the reference ranking of
// the pages by rank_bm25, each document standing where its first page stands.
// X
func TestNested_pagesOfDocuments(t *testing.T) {
	t.Parallel()
	dir, w := nested(t), open(t, t.TempDir())
	want := map[string]float64{
		"recall@1": 0.8091106290672451, "recall@5": 0.9154013015184381, "recall@10": 0.93058568329718,
		"mrr@10": 0.8556115070757151, "ndcg@10": 0.8741559400739263,
	}
	for _, qrels := range []string{"qrels.tsv", "qrels.by-document.tsv"} {
		s := start(t, w, filepath.Join(dir, "nested.hcl"), map[string]string{"qrels": qrels})
		out := apply(t, s)
		r, err := s.Report(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		for metric, value := range want {
			got := r.Configurations[0].Metrics[metric]
			if got == nil || math.Abs(*got-value) > 1e-9 {
				t.Errorf("%s: %s is %v, want %v", qrels, metric, got, value)
			}
		}
	}
}
