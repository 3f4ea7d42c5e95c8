package spec

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

const gated = `
experiment "e" {}
corpus "beir" { path = "scifact" }
axis "retriever" {
  option "bm25" {}
  option "words" { kind = "bm25" }
}
score {
  metrics = ["ndcg@10", "recall@5"]
}
gate {
  floors   = { "ndcg@10" = 0.5 }
  allow    = { "ndcg@10" = 0.02, "recall@5" = 0 }
  max      = { p95 = 50, index = 1.5 }
  baseline = "results/main.json"
}
gate {
  where  = { retriever = "bm25" }
  floors = { "recall@5" = 0.4 }
}
`

func TestLoad_gate(t *testing.T) {
	t.Parallel()
	e := load(t, gated)
	if len(e.Gates) != 2 {
		t.Fatalf("%d gate blocks", len(e.Gates))
	}
	all, bm25 := e.Gates[0], e.Gates[1]
	if !maps.Equal(all.Allow, map[string]float64{"ndcg@10": 0.02, "recall@5": 0}) || !maps.Equal(all.Max, map[string]float64{"p95": 50, "index": 1.5}) {
		t.Errorf("got %+v", all)
	}
	if want := filepath.Join(e.Dir, "results", "main.json"); all.Baseline != want {
		t.Errorf("the baseline is %s, want %s", all.Baseline, want)
	}
	for i, c := range e.Cross().Configurations {
		if !all.Matches(c) || bm25.Matches(c) != (i == 0) {
			t.Errorf("row %s: %v and %v", c.Name(), all.Matches(c), bm25.Matches(c))
		}
	}
}

func TestDigest_gate(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{load(t, gated[:strings.Index(gated, "gate {")]).Digest: true}
	for _, text := range []string{
		gated,
		strings.Replace(gated, `"ndcg@10" = 0.5 }`, `"ndcg@10" = 0.6 }`, 1),
		strings.Replace(gated, "0.02", "0.03", 1),
		strings.Replace(gated, "p95 = 50", "p95 = 60", 1),
		strings.Replace(gated, "main.json", "old.json", 1),
		strings.Replace(gated, `where  = { retriever = "bm25" }`, `where  = { retriever = "words" }`, 1),
	} {
		d := load(t, text).Digest
		if seen[d] {
			t.Errorf("a digest stands for two specs:\n%s", text)
		}
		seen[d] = true
	}
}
