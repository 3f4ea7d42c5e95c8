package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// evidenceRow measures the commands that show results again from the cache alone.
func evidenceRow() row {
	return row{
		name: "evidence", does: "raglab report and show of 180 configurations × 500 questions, from the cache alone",
		set: func(ctx context.Context, b *bench) (*trial, error) {
			documents, questions := b.size(400, 100), b.size(500, 60)
			dir, err := b.made(fmt.Sprintf("evidence-%d-%d", documents, questions), func(dir string) error { return makeTagged(dir, documents, questions) })
			if err != nil {
				return nil, err
			}
			k1s, bs := b.size(6, 2), b.size(5, 2)
			spec := filepath.Join(dir, "evidence.hcl")
			if err := os.WriteFile(spec, fmt.Appendf(nil, evidenceSpec, k1s, bs, bs-1), 0o644); err != nil {
				return nil, err
			}
			cache, err := b.fresh("evidence-cache")
			if err != nil {
				return nil, err
			}
			if _, err := timed(ctx, "", nil, nil, b.raglab, "apply", "-quiet", "-cache", cache, spec); err != nil {
				return nil, fmt.Errorf("first apply: %w", err)
			}
			commands := [][]string{
				{"report", spec},
				{"report", "-sections", "axes", spec},
				{"report", "-json", spec},
				{"show", "-spec", spec},
				{"show", "-spec", spec, "whole,simple,0.6,0"},
				{"show", "-spec", spec, "q7"},
				{"apply", "-json", spec},
			}
			t := &trial{input: fmt.Sprintf("%d documents, %d questions with tags of two prefixes; 3 chunkers × 2 texts × %d × %d of bm25's parameters, all measured", documents, questions, k1s, bs)}
			for _, argv := range commands {
				s := step{tool: raglabTool, name: evidenceStep(argv, spec)}
				t.comparisons = append(t.comparisons,
					comparison{figure: s.name, unit: seconds, own: s.wall(), goal: under(1, seconds)},
					comparison{figure: s.name + ", peak memory", unit: mebibytes, own: s.peak()})
			}
			t.own = func(ctx context.Context) ([]sample, error) {
				var out []sample
				for _, argv := range commands {
					s, err := repeated(b.size(3, 1), func() (sample, error) {
						return timed(ctx, "", nil, nil, append([]string{b.raglab, argv[0], "-cache", cache}, argv[1:]...)...)
					})
					if err != nil {
						return nil, fmt.Errorf("%s: %w", evidenceStep(argv, spec), err)
					}
					s.Step = evidenceStep(argv, spec)
					out = append(out, s)
				}
				return out, nil
			}
			return t, nil
		},
	}
}

// evidenceStep is a command as a reader would type it.
func evidenceStep(argv []string, spec string) string {
	name := strings.ReplaceAll(strings.Join(argv, " "), " -spec "+spec, "")
	return "raglab " + strings.TrimSuffix(name, " "+spec)
}

// makeTagged is makeQuestions with golden.jsonl, in which each question has two tags.
func makeTagged(dir string, documents, questions int) error {
	if err := makeQuestions(dir, documents, questions); err != nil {
		return err
	}
	queries, err := os.ReadFile(filepath.Join(dir, "queries.jsonl"))
	if err != nil {
		return err
	}
	qrels, err := os.ReadFile(filepath.Join(dir, "qrels.tsv"))
	if err != nil {
		return err
	}
	judged := map[string]string{}
	for line := range strings.Lines(string(qrels)) {
		if fields := strings.Fields(line); len(fields) == 3 {
			judged[fields[0]] = fields[1]
		}
	}
	var golden []any
	for dec := json.NewDecoder(bytes.NewReader(queries)); dec.More(); {
		var q struct {
			ID   string `json:"_id"`
			Text string `json:"text"`
		}
		if err := dec.Decode(&q); err != nil {
			return err
		}
		at := len(golden)
		golden = append(golden, map[string]any{
			"id": q.ID, "question": q.Text, "relevant": []any{map[string]string{"doc": judged[q.ID]}},
			"tags": []string{fmt.Sprint("kind:", at%6), fmt.Sprint("source:", at/7%6)},
		})
	}
	return writeLines(filepath.Join(dir, "golden.jsonl"), golden)
}

// evidenceSpec crosses 3 chunkers and 2 texts with two free axes of so many values.
const evidenceSpec = `experiment "evidence" { title = "Many configurations, shown again" }

corpus "jsonl" { path = "docs.jsonl" }

golden { file = "golden.jsonl" }

axis "chunker" {
  option "whole" {}
  option "fixed" {
    size    = 80
    overlap = 20
  }
  option "sentence" { max_tokens = 60 }
}

axis "text" { use = ["simple", "prefix"] }

axis "k1" { values = [for i in range(%d) : 0.6 + 0.3 * i] }
axis "b" { values = [for i in range(%d) : i / %d] }

fixed "retriever" {
  option "bm25" {
    k1 = axis.k1
    b  = axis.b
  }
}

score {
  depth   = 30
  metrics = ["recall@5", "ndcg@10", "mrr@10"]
  primary = "ndcg@10"
}
`
