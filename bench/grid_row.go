package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// gridRow measures a cold apply of 40 configurations, and one that finds them.
func gridRow() row {
	return row{
		name: "grid", does: "raglab apply of 40 configurations without embeddings, from nothing and again",
		set: func(_ context.Context, b *bench) (*trial, error) {
			documents, questions := b.size(400, 100), b.size(150, 40)
			dir, err := b.made(fmt.Sprintf("grid-%d", documents), func(dir string) error { return makeQuestions(dir, documents, questions) })
			if err != nil {
				return nil, err
			}
			spec := filepath.Join(dir, "grid.hcl")
			if err := os.WriteFile(spec, []byte(gridSpec), 0o644); err != nil {
				return nil, err
			}
			cold, again := step{tool: raglabTool, name: "cold"}, step{tool: raglabTool, name: "again"}
			return &trial{
				input: fmt.Sprintf("%d documents, %d questions; 4 chunkers × 2 texts × 5 retrievers (context-grid, on another day: 97–133 s, and 78–198 s again)", documents, questions),
				own: func(ctx context.Context) ([]sample, error) {
					cache, err := b.fresh("grid-cache")
					if err != nil {
						return nil, err
					}
					return coldAndAgain(ctx, b, cache, "", spec)
				},
				comparisons: []comparison{
					{figure: "cold apply", unit: seconds, own: cold.wall(), goal: under(5, seconds)},
					{figure: "cold apply, peak memory", unit: mebibytes, own: cold.peak()},
					{figure: "again", unit: seconds, own: again.wall(), goal: under(0.3, seconds)},
				},
			}, nil
		},
	}
}

// coldAndAgain applies a spec twice.
func coldAndAgain(ctx context.Context, b *bench, cache, dir, spec string) ([]sample, error) {
	var out []sample
	for _, name := range []string{"cold", "again"} {
		s, err := timed(ctx, dir, nil, nil, b.raglab, "apply", "-quiet", "-cache", cache, spec)
		if err != nil {
			return nil, err
		}
		s.Step = name
		out = append(out, s)
	}
	return out, nil
}
