package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"raglab/internal/assets"
)

// The steps of the row postgres, and the tools beside raglab in it.
const (
	stepCopy   = "copy"
	stepDense  = "search hnsw"
	stepWords  = "search tsvector"
	psqlBinary = "psql binary"
	psqlText   = "psql text"
	bareSQL    = "bare SQL"
)

// postgresRow measures what raglab adds to Postgres: sending vectors, beside psql,
// and asking questions, beside the same statement alone.
func postgresRow() row {
	return row{
		name: "postgres", does: "send vectors to Postgres beside psql's \\copy, and ask one question at a time beside the same SQL alone",
		set: func(_ context.Context, b *bench) (*trial, error) {
			folder, missing := assetsFolder()
			if missing == "" {
				missing = noPostgres(folder)
			}
			if missing != "" {
				return &trial{missing: missing}, nil
			}
			rows := b.size(100_000, 10_000)
			t := &trial{
				input: fmt.Sprintf("%s vectors of 384 dimensions, a private server; searches 30 deep in %s chunks", grouped(float64(rows)), grouped(float64(searchedChunks(rows)))),
				own: func(ctx context.Context) ([]sample, error) {
					dir, err := b.fresh("postgres")
					if err != nil {
						return nil, err
					}
					return b.driver("postgres", dir, folder, strconv.Itoa(rows), b.inner())(ctx)
				},
			}
			own := step{tool: raglabTool, name: stepCopy}
			t.comparisons = append(t.comparisons, comparison{figure: "copy: table, rows, commit", unit: seconds, own: own.wall()},
				comparison{figure: "copy, peak memory with the rows themselves", unit: mebibytes, own: own.peak(), goal: under(600, mebibytes)})
			for _, tool := range []string{psqlBinary, psqlText} {
				theirs := step{tool: tool, name: stepCopy}
				t.comparisons = append(t.comparisons,
					comparison{figure: "the same by " + tool, unit: seconds, own: theirs.wall()},
					comparison{figure: "raglab over " + tool, unit: times, own: quotient(own.wall(), theirs.wall()), goal: under(1.2, times)})
			}
			for _, name := range []string{stepDense, stepWords} {
				raglab, bare := step{tool: raglabTool, name: name}.p50(), step{tool: bareSQL, name: name}.p50()
				t.comparisons = append(t.comparisons,
					comparison{figure: name + ", p50", unit: milliseconds, own: raglab},
					comparison{figure: "the statement alone, p50", unit: milliseconds, own: bare},
					comparison{figure: "what raglab adds", unit: milliseconds, own: difference(raglab, bare), goal: under(0.3, milliseconds)})
			}
			return t, nil
		},
	}
}

// searchedChunks is how many of the rows are searched: a graph over all of them
// takes minutes to build.
func searchedChunks(rows int) int { return rows / 10 }

func noPostgres(folder string) string {
	if _, ok, err := assets.New(assets.Config{Dir: folder}).Lookup(assets.Postgres()); err != nil || !ok {
		return fmt.Sprintf("asset postgres is not in %s: raglab setup experiments/uk_articles.hcl gets it", folder)
	}
	return ""
}

// difference is one figure less another.
func difference(a, b reading) reading {
	return func(samples []sample) (value, bool) {
		x, okX := a(samples)
		y, okY := b(samples)
		return value{x.value - y.value, x.cpu}, okX && okY
	}
}

// crossRow measures the 12 configurations of experiments/uk_unlp.hcl with every
// text embedded before.
func crossRow() row {
	return row{
		name: "cross", does: "raglab apply of experiments/uk_unlp.hcl on Postgres, with the embeddings of its chunks remembered",
		needs: func(o options) bool { return !o.quick },
		set: func(ctx context.Context, b *bench) (*trial, error) {
			folder, missing := assetsFolder()
			corpus := filepath.Join(b.peers.shared, "data", "uk-unlp", "neutral")
			if missing == "" {
				missing = noPostgres(folder)
			}
			if missing == "" && !exists(corpus) {
				missing = "no pages in ../shared/data/uk-unlp/neutral"
			}
			if missing != "" {
				return &trial{missing: missing}, nil
			}
			c := &crossing{bench: b, assets: folder, corpus: corpus}
			if err := c.prepare(ctx); err != nil {
				return nil, err
			}
			s, asking := step{tool: raglabTool, name: "cold"}, step{tool: raglabTool, name: "asking"}
			return &trial{
				input: "1,118 pages of real text, 461 questions",
				own:   c.run,
				comparisons: []comparison{
					{figure: "12 configurations: chunk, index, tune, score", unit: seconds, own: s.wall(), goal: under(20, seconds)},
					{figure: "of it, Postgres answering 4 × 461 questions one by one", unit: seconds, own: asking.wall()},
					{figure: "all else", unit: seconds, own: difference(s.wall(), asking.wall())},
					{figure: "peak memory", unit: mebibytes, own: s.peak()},
				},
			}, nil
		},
	}
}

// crossing applies uk_unlp.hcl again and again from caches that hold nothing but
// the embeddings.
type crossing struct {
	*bench
	assets, corpus string
	spec           string
	memo           string
}

func (c *crossing) prepare(ctx context.Context) error {
	dir, err := c.fresh("cross")
	if err != nil {
		return err
	}
	for _, name := range []string{"experiments", "README.md"} {
		if err := copyTo(filepath.Join(dir, name), filepath.Join(c.root, name)); err != nil {
			return err
		}
	}
	c.spec = filepath.Join(dir, "experiments", "uk_unlp.hcl")
	c.memo, err = c.made("cross-memo", func(into string) error {
		cache, err := c.cache()
		if err != nil {
			return err
		}
		defer c.dropServer(cache)
		if _, err := timed(ctx, "", privateServer(), nil, c.argv(cache, "-target", "embed")...); err != nil {
			return err
		}
		return copyTo(filepath.Join(into, "memo"), filepath.Join(cache, "memo"))
	})
	return err
}

// cache is a new cache folder that has the assets.
func (c *crossing) cache() (string, error) {
	cache, err := c.fresh("cross-cache")
	if err != nil {
		return "", err
	}
	return cache, os.Symlink(c.assets, filepath.Join(cache, "assets"))
}

func (c *crossing) argv(cache string, args ...string) []string {
	return append([]string{c.raglab, "apply", "-quiet", "-cache", cache, "-var", "corpus=" + c.corpus, c.spec}, args...)
}

func (c *crossing) run(ctx context.Context) ([]sample, error) {
	cache, err := c.cache()
	if err != nil {
		return nil, err
	}
	if err := copyTo(filepath.Join(cache, "memo"), filepath.Join(c.memo, "memo")); err != nil {
		return nil, err
	}
	defer c.dropServer(cache)
	s, err := timed(ctx, "", privateServer(), nil, c.argv(cache)...)
	if err != nil {
		return nil, err
	}
	s.Step = "cold"
	asking, err := c.asking(ctx, cache)
	return []sample{s, {Tool: raglabTool, Step: "asking", Wall: asking}}, err
}

// asking is how long the searches in Postgres took in the last run, in seconds.
func (c *crossing) asking(ctx context.Context, cache string) (float64, error) {
	cmd := command(ctx, "", nil, c.raglab, "log", "-json", "-cache", cache, "uk_unlp", "last")
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("read the run's log: %w", err)
	}
	total := 0.0
	for line := range bytes.Lines(out) {
		var stage struct {
			Address string  `json:"address"`
			Wall    float64 `json:"wall_ms"`
		}
		if err := json.Unmarshal(line, &stage); err != nil {
			return 0, fmt.Errorf("read the run's log: %w", err)
		}
		if strings.HasPrefix(stage.Address, "search[") && !strings.Contains(stage.Address, "exact") {
			total += stage.Wall / 1000
		}
	}
	return total, nil
}
