package main

import (
	"context"
	"os"
	"path/filepath"
)

// The Ukrainian experiment whose cost the row seed stands beside had so many
// chunks of so many tokens on average, and took so many seconds for its indexes and for its 12
// configurations, on another machine with as many threads.
const (
	seedChunks    = 4179
	seedTokens    = 262
	seedQuestions = 48
	seedThreads   = 2
	seedIngest    = 1286
	seedConfigs   = 52
)

// seedRow measures the cross of experiments/uk_articles.hcl on as many chunks of that
// length as it was first measured on: the indexes, then the questions, then
// nothing.
func seedRow() row {
	return row{
		name: "seed", does: "raglab apply of experiments/uk_articles.hcl on Postgres, on as many chunks as long as the experiment that it repeats had",
		needs: func(o options) bool { return !o.quick },
		set: func(_ context.Context, b *bench) (*trial, error) {
			assets, missing := assetsFolder()
			pages := filepath.Join(b.peers.shared, "data", "uk-unlp", "neutral")
			switch {
			case missing != "":
				return &trial{missing: missing}, nil
			case !exists(pages):
				return &trial{missing: "no pages in ../shared/data/uk-unlp/neutral"}, nil
			}
			corpus, err := b.made("seed-corpus", func(dir string) error { return makeSeedCorpus(dir, pages, assets) })
			if err != nil {
				return nil, err
			}
			dir, err := b.fresh("seed")
			if err != nil {
				return nil, err
			}
			// The spec writes its tables beside itself: here into a copy.
			if err := copyTo(filepath.Join(dir, "experiments"), filepath.Join(b.root, "experiments")); err != nil {
				return nil, err
			}
			ingest, questions, again := step{tool: raglabTool, name: "ingest"}, step{tool: raglabTool, name: "questions"}, step{tool: raglabTool, name: "again"}
			return &trial{
				input: "4,179 chunks of 262 tokens on average from real pages, 48 questions, 2 threads (the experiment itself, on another machine with 2 threads: 1,286 s and 52 s)",
				own: func(ctx context.Context) ([]sample, error) {
					return b.seed(ctx, filepath.Join(dir, "experiments", "uk_articles.hcl"), corpus, assets)
				},
				comparisons: []comparison{
					{figure: "indexes: chunk, embed, Postgres", threads: seedThreads, unit: seconds, own: ingest.wall(), goal: under(seedIngest, seconds)},
					{figure: "12 configurations, indexes there", threads: seedThreads, unit: seconds, own: questions.wall(), goal: under(seedConfigs, seconds)},
					{figure: "indexes, peak memory", unit: mebibytes, own: ingest.peak()},
					{figure: "again", unit: seconds, own: again.wall(), goal: under(0.3, seconds)},
				},
			}, nil
		},
	}
}

// seed applies the spec in two steps, the indexes first, and once more.
func (b *bench) seed(ctx context.Context, spec, corpus, assets string) (out []sample, err error) {
	cache, err := b.fresh("seed-cache")
	if err != nil {
		return nil, err
	}
	if err := os.Symlink(assets, filepath.Join(cache, "assets")); err != nil {
		return nil, err
	}
	run := func(name string, args ...string) error {
		argv := append([]string{
			b.raglab, "apply", "-quiet", "-cache", cache, "-threads", digits(seedThreads),
			"-var", "corpus=" + filepath.Join(corpus, "articles"), "-var", "questions=" + filepath.Join(corpus, "questions.jsonl"),
		}, args...)
		s, err := timed(ctx, "", privateServer(), nil, append(argv, spec)...)
		s.Step = name
		out = append(out, s)
		return err
	}
	defer b.dropServer(cache)
	if err := run("ingest", "-target", "index"); err != nil {
		return nil, err
	}
	if err := run("questions"); err != nil {
		return nil, err
	}
	return out, run("again")
}

// privateServer is the environment in which raglab uses a server of its own.
func privateServer() []string { return []string{"RAGLAB_DSN="} }

// dropServer stops the private server of a cache folder and removes its data.
func (b *bench) dropServer(cache string) {
	cmd := command(context.Background(), "", privateServer(), b.raglab, "db", "drop", "-yes", "-cache", cache)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		os.Stderr.WriteString("  drop the server of " + cache + ": " + err.Error() + "\n")
	}
}
