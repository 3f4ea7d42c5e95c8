package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
)

// metricTools are the tools that score runs, as the peers' script names them.
var metricTools = []string{"pytrec_eval", "ir_measures", "ranx"}

// metricsRow measures reading and scoring a run.
func metricsRow() row {
	return row{
		name: "metrics", does: "read judgements and a run, and score nDCG@10, recall@5, recall@100, MRR@10 and MAP",
		set: func(ctx context.Context, b *bench) (*trial, error) {
			t, qrels, runs, err := b.runs(ctx)
			if err != nil || t.missing != "" {
				return t, err
			}
			inside := b.driver("metrics", qrels, runs[0], b.inner())
			t.own = func(ctx context.Context) ([]sample, error) {
				out, err := inside(ctx)
				if err != nil {
					return nil, err
				}
				whole, err := b.scoreProcess(ctx, qrels, runs[0])
				return append(out, whole), err
			}
			for _, tool := range metricTools {
				t.peers = append(t.peers, b.peers.tool(tool, "metrics_peer.py", qrels, runs[0], "--reps", b.inner()))
				g := goal{}
				if tool == "pytrec_eval" {
					g = ahead(3)
				}
				t.comparisons = append(t.comparisons, comparison{
					figure: "whole process", threads: 1, unit: seconds, peer: tool, goal: g,
					own: step{raglabTool, "whole process", 0}.wall(), theirs: step{tool, "whole process", 0}.wall(),
					agree: sameMeans(tool),
				})
			}
			for _, name := range []string{"read", "evaluate"} {
				for _, tool := range metricTools {
					t.comparisons = append(t.comparisons, comparison{
						figure: name, threads: 1, unit: seconds, peer: tool,
						own: step{raglabTool, name, 0}.wall(), theirs: step{tool, name, 0}.wall(),
					})
				}
			}
			t.comparisons = append(t.comparisons, comparison{figure: "whole process, peak memory", unit: mebibytes, own: step{raglabTool, "whole process", 0}.peak()})
			return t, nil
		},
	}
}

// runs makes judgements and twelve runs by the peers' script.
func (b *bench) runs(ctx context.Context) (t *trial, qrels string, runs []string, err error) {
	if b.peers.missing != "" {
		return &trial{missing: "the runs are made by a script of the peers', which are " + b.peers.missing}, "", nil, nil
	}
	questions := b.size(10_000, 1000)
	dir, err := b.made(fmt.Sprintf("runs-%d", questions), func(dir string) error {
		return b.peers.make(ctx, "metrics_peer.py", "--make", dir, "--queries", digits(questions))
	})
	for r := range 12 {
		runs = append(runs, filepath.Join(dir, fmt.Sprintf("run%02d.txt", r+1)))
	}
	return &trial{input: grouped(float64(questions)) + " questions, 100 documents each"}, filepath.Join(dir, "qrels.txt"), runs, err
}

// scoreProcess times a process that does all of it, as the peers' script times
// theirs.
func (b *bench) scoreProcess(ctx context.Context, qrels, run string) (sample, error) {
	s, err := median(b.size(3, 1), func() (sample, error) {
		var out bytes.Buffer
		s, err := timed(ctx, "", nil, &out, b.self, driverFlag, "score", qrels, run)
		if err != nil {
			return s, err
		}
		said, err := samplesOf(out.Bytes())
		if err == nil && len(said) > 0 {
			s.means = said[0].means
		}
		return s, err
	})
	s.Step, s.Threads = "whole process", 1
	return s, err
}

// sameMeans compares the five means with those of a tool.
func sameMeans(tool string) func(own, theirs []sample) (string, bool) {
	return func(own, theirs []sample) (string, bool) {
		a, okA := step{raglabTool, "whole process", 0}.find(own)
		b, okB := step{tool, "evaluate", 0}.find(theirs)
		if !okA || !okB {
			return "", true
		}
		most := 0.0
		for _, pair := range [][2]string{{a.NDCG10, b.NDCG10}, {a.Recall5, b.Recall5}, {a.Recall100, b.Recall100}, {a.MRR10, b.MRR10}, {a.MAP, b.MAP}} {
			x, errX := strconv.ParseFloat(pair[0], 64)
			y, errY := strconv.ParseFloat(pair[1], 64)
			if errX != nil || errY != nil {
				return fmt.Sprintf("means %q and %q", pair[0], pair[1]), false
			}
			most = math.Max(most, math.Abs(x-y))
		}
		if most < 2e-6 { // both are printed with six decimals
			return "means equal", true
		}
		return fmt.Sprintf("means differ by up to %.2g", most), false
	}
}
