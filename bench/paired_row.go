package main

import (
	"context"
	"fmt"
	"path/filepath"
)

// cutQuestions is how many questions the pieces have that runs are cut into, so that
// there are many systems: 180 of twelve runs over 10,000 questions.
const cutQuestions = 500

// pairedRow measures statistics over all pairs of twelve runs, and of the pieces that
// they are cut into.
func pairedRow() row {
	return row{
		name: "paired", does: "all pairs of runs by nDCG@10: paired bootstrap and randomisation tests",
		set: func(ctx context.Context, b *bench) (*trial, error) {
			t, qrels, runs, err := b.runs(ctx)
			if err != nil || t.missing != "" {
				return t, err
			}
			files := append([]string{qrels}, runs...)
			t.own = b.driver("paired", append([]string{b.inner(), digits(b.o.cores), digits(cutQuestions)}, files...)...)
			few := peer{name: "scipy, ranx", missing: b.peers.missing, once: true}
			few.run = b.peers.run("metrics_peer.py", append(files, "--reps", "1", "--tools", "tests")...)
			many := peer{name: "scipy, ranx: 10,000", missing: b.peers.missing, once: true}
			many.run = func(ctx context.Context) ([]sample, error) {
				return output(ctx, nil, append([]string{
					b.peers.python, filepath.Join(b.root, "bench", "paired_peer.py"),
					filepath.Dir(b.peers.script("common.py")), digits(b.size(6, 2)), digits(cutQuestions),
				}, files...)...)
			}
			t.peers = []peer{few, many}
			t.comparisons = append(fewComparisons(few.name), b.manyComparisons(many.name)...)
			return t, nil
		},
	}
}

// fewComparisons are those of 66 pairs with 1,000 resamples on one core.
func fewComparisons(peer string) []comparison {
	return []comparison{
		{
			figure: "66 pairs, 1,000 resamples: bootstrap (scipy)", threads: 1, unit: seconds, peer: peer,
			own: step{raglabTool, "bootstrap", 0}.wall(), theirs: step{"scipy", "paired bootstrap", 0}.wall(),
		},
		{
			figure: "66 pairs, 1,000 resamples: randomisation (ranx, which tests both orders)", threads: 1, unit: seconds, peer: peer,
			own: step{raglabTool, "randomisation", 0}.wall(), theirs: step{"ranx", "fisher tests", 0}.wall(),
		},
	}
}

// manyComparisons are those with 10,000 resamples and permutations, on all cores: the
// means' intervals, and for all pairs interval, randomisation, signed ranks and Holm.
func (b *bench) manyComparisons(peer string) []comparison {
	questions := b.size(10_000, 1000)
	var out []comparison
	for _, c := range []struct {
		name               string
		systems, questions int
		limit              float64
	}{{"full", 12, questions, 5}, {"cut", min(180, 12*(questions/cutQuestions)), cutQuestions, 10}} {
		name := "all pairs, " + c.name
		what := fmt.Sprintf("%d × %s questions × 10,000, all of it (the peers: some pairs, multiplied)", c.systems, grouped(float64(c.questions)))
		out = append(out, comparison{
			figure: what, threads: b.o.cores, unit: seconds, peer: peer, goal: under(c.limit, seconds),
			own: step{raglabTool, name, 0}.wall(), theirs: step{"scipy, ranx", name, 0}.wall(),
		}, comparison{figure: what + ", peak memory", unit: mebibytes, own: step{raglabTool, name, 0}.peak()})
	}
	return out
}
