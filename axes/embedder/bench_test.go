package embedder

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// benchmarkTexts returns the lines of the file that RAGLAB_BENCH_TEXTS names, or
// as many ragged texts of common Ukrainian words, 5 to 220 of them.
func benchmarkTexts(b *testing.B, n int) []string {
	b.Helper()
	if path := os.Getenv("RAGLAB_BENCH_TEXTS"); path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(data)), "\n")
	}
	words := strings.Fields(`і в на що з та не до за як це для від про або при після через між без коли Україна місто країна
		столиця річка закон право суд рішення договір освіта університет школа наука дослідження система пошук документ
		відповідь питання мова слово історія століття війна мир народ культура музика театр книга автор художник вулиця`)
	r := rand.New(rand.NewPCG(7, 7))
	texts := make([]string, n)
	for i := range texts {
		length := int(min(220, max(5, math.Exp(3.9+0.6*r.NormFloat64()))))
		parts := make([]string, length)
		for j := range parts {
			parts[j] = words[r.IntN(len(words))]
		}
		texts[i] = strings.Join(parts, " ") + "."
	}
	return texts
}

// BenchmarkPassages embeds ragged texts. texts/s is by wall time; cpu-ms/text
// does not depend on what else the machine does.
func BenchmarkPassages(b *testing.B) {
	for _, precision := range []string{"f32", "q4"} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/threads=%d", precision, threads), func(b *testing.B) {
				e := newEmbedder(b, threads, func(p *ONNXParams) { p.Precision = precision })
				texts := benchmarkTexts(b, 64)
				if _, _, err := e.EmbedPassages(b.Context(), texts[:2], nil); err != nil {
					b.Fatal(err)
				}
				start := cpuTime(b)
				for b.Loop() {
					if _, _, err := e.EmbedPassages(b.Context(), texts, nil); err != nil {
						b.Fatal(err)
					}
				}
				n := float64(b.N * len(texts))
				b.ReportMetric(n/b.Elapsed().Seconds(), "texts/s")
				b.ReportMetric(1000*(cpuTime(b)-start).Seconds()/n, "cpu-ms/text")
			})
		}
	}
}

// BenchmarkQuery embeds one question at a time and reports the median of the wall
// times and the mean processor time.
func BenchmarkQuery(b *testing.B) {
	for _, precision := range []string{"f32", "q4"} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/threads=%d", precision, threads), func(b *testing.B) {
				e := newEmbedder(b, threads, func(p *ONNXParams) { p.Precision = precision })
				var queries []string
				for _, text := range benchmarkTexts(b, 50) {
					words := strings.Fields(text)
					queries = append(queries, strings.Join(words[:min(7, len(words))], " "))
				}
				if _, err := e.EmbedQuery(b.Context(), queries[0]); err != nil {
					b.Fatal(err)
				}
				var times []time.Duration
				begin := cpuTime(b)
				for b.Loop() {
					start := time.Now()
					if _, err := e.EmbedQuery(b.Context(), queries[len(times)%len(queries)]); err != nil {
						b.Fatal(err)
					}
					times = append(times, time.Since(start))
				}
				slices.Sort(times)
				b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "median-ms")
				b.ReportMetric(1000*(cpuTime(b)-begin).Seconds()/float64(b.N), "cpu-ms/query")
			})
		}
	}
}
