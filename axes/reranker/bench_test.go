package reranker_test

import (
	"fmt"
	"testing"

	"raglab/axes"
	"raglab/axes/reranker"
	"raglab/internal/onnx/onnxtest"
)

// BenchmarkScorePairs scores the 60 pairs of a question on a network of the size of
// the 6-layer MiniLM rerankers, passages of 100 to 159 words.
func BenchmarkScorePairs(b *testing.B) {
	dir := b.TempDir()
	model := onnxtest.NewBERT(1, onnxtest.Config{Hidden: 384, Layers: 6, Heads: 12, FFN: 1536, Positions: 512, Types: true}, letters())
	if err := model.Write(dir); err != nil {
		b.Fatal(err)
	}
	k, _ := axes.Find(reranker.Kinds, "cross_encoder")
	p := k.Params().(*reranker.CrossEncoderParams)
	p.Folder = dir
	passages := make([]string, 60)
	tokens := 0
	for i := range passages {
		for w := range 100 + i {
			passages[i] += fmt.Sprint(w%10) + " "
		}
		tokens += 100 + i + 10
	}
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprint(threads, " threads"), func(b *testing.B) {
			env := axes.Env{Threads: threads}
			env.Asset = fromAssets(b).Asset
			made, err := k.New(p, env)
			if err != nil {
				b.Fatal(err)
			}
			s := made.(reranker.PairScorer)
			if err := made.(reranker.Warmer).Warm(b.Context(), "a", "b"); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := s.ScorePairs(b.Context(), "w h a t i s", passages); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(tokens*b.N)/b.Elapsed().Seconds(), "tokens/s")
			b.ReportMetric(float64(60*b.N)/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}
