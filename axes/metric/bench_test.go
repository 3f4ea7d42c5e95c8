package metric_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"raglab/axes"
	"raglab/axes/metric"
	"raglab/golden"
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

// BenchmarkSpans looks for the spans of a few questions to each document in chunks
// of some 700 characters.
func BenchmarkSpans(b *testing.B) {
	const documents, chunks, questions = 50, 40, 300
	words := strings.Fields("the quick brown fox jumps over a lazy dog and one more river rises in hills far from any sea")
	rng := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		var s strings.Builder
		for s.Len() < n {
			s.WriteString(words[rng.IntN(len(words))] + " ")
		}
		return s.String()
	}
	var set []golden.Question
	var all []axes.Chunk
	size := 0
	for d := range documents {
		for n := range chunks {
			all = append(all, axes.Chunk{Doc: strconv.Itoa(d), N: n, Text: text(700)})
			size += 700
		}
	}
	for i := range questions {
		c := all[i*len(all)/questions]
		set = append(set, golden.Question{ID: strconv.Itoa(i), Relevant: []golden.Relevant{{Doc: c.Doc, Span: c.Text[200:320], Grade: 1}}})
	}
	for _, coverage := range []float64{1, 0.5} {
		b.Run(fmt.Sprintf("coverage=%v", coverage), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				s, err := metric.NewSpans(set, coverage)
				if err != nil {
					b.Fatal(err)
				}
				for i, c := range all {
					s.Add(uint32(i), c)
				}
				if s.Counts().Whole != questions {
					b.Fatal("spans are missing")
				}
			}
		})
	}
}
