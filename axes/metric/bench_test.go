package metric_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"raglab/axes/metric"
	"raglab/internal/trec"
)

// trecFiles makes judgements and a run of the size that evaluations of a
// thousand and more questions have: up to 20 judged documents a question, some of
// them found, the rest of the ranking unjudged.
func trecFiles(questions, depth int) (qrels, run string) {
	rng := rand.New(rand.NewPCG(7, 7))
	var j, r strings.Builder
	for q := range questions {
		docs := make([]int, 10+rng.IntN(10))
		relevant := 1 + rng.IntN(10)
		for i := range docs {
			docs[i] = i*50_000 + rng.IntN(50_000)
			grade := 0
			if i < relevant {
				grade = 1 + rng.IntN(3)
			}
			fmt.Fprintf(&j, "q%05d 0 d%07d %d\n", q, docs[i], grade)
		}
		place := rng.Perm(depth)
		for rank := range depth {
			doc := 1_000_000 + rank*10_000 + rng.IntN(10_000)
			if p := place[rank]; p < len(docs) && rng.IntN(10) < 6 {
				doc = docs[p]
			}
			fmt.Fprintf(&r, "q%05d Q0 d%07d %d %.6f made\n", q, doc, rank+1, 3-float64(rank)/float64(depth)*2.9)
		}
	}
	return j.String(), r.String()
}

func parseAll(tb testing.TB, names ...string) []metric.Metric {
	tb.Helper()
	metrics, err := metric.ParseAll(names)
	if err != nil {
		tb.Fatal(err)
	}
	return metrics
}

func BenchmarkTREC(b *testing.B) {
	qrelsText, runText := trecFiles(10_000, 100)
	metrics := parseAll(b, "ndcg@10", "recall@5", "recall@100", "mrr@10", "map")
	qrels, err := trec.ParseQrels("qrels", qrelsText)
	if err != nil {
		b.Fatal(err)
	}
	run, err := trec.ParseRun("run", runText)
	if err != nil {
		b.Fatal(err)
	}
	run.SortByScore()
	judged, err := metric.JudgeRun(qrels, run)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("read qrels", func(b *testing.B) {
		for b.Loop() {
			trec.ParseQrels("qrels", qrelsText)
		}
	})
	b.Run("read run", func(b *testing.B) {
		for b.Loop() {
			trec.ParseRun("run", runText)
		}
	})
	b.Run("sort", func(b *testing.B) {
		for b.Loop() {
			run.SortByScore()
		}
	})
	b.Run("judge", func(b *testing.B) {
		for b.Loop() {
			metric.JudgeRun(qrels, run)
		}
	})
	b.Run("evaluate", func(b *testing.B) {
		for b.Loop() {
			metric.Evaluate(metrics, judged.Judged)
		}
	})
}
