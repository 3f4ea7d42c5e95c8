//go:build unix

package inverted_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"raglab/axes"
	"raglab/axes/retriever/inverted"
	"raglab/axes/text"
)

// benchCorpus reads the corpus that RAGLAB_BENCH_CORPUS names: a folder with
// docs.jsonl and queries.jsonl in the shape of BEIR.
func benchCorpus(b *testing.B) (docs, queries []string) {
	b.Helper()
	dir := os.Getenv("RAGLAB_BENCH_CORPUS")
	if dir == "" {
		b.Skip("RAGLAB_BENCH_CORPUS names no folder with docs.jsonl and queries.jsonl")
	}
	return readTexts(b, filepath.Join(dir, "docs.jsonl")), readTexts(b, filepath.Join(dir, "queries.jsonl"))
}

func readTexts(b *testing.B, path string) []string {
	b.Helper()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var texts []string
	for lines := bufio.NewReaderSize(f, 1<<20); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return texts
		}
		var d axes.Document
		if err := json.Unmarshal(line, &d); err != nil {
			b.Fatal(err)
		}
		texts = append(texts, d.Content())
	}
}

func words(b *testing.B) text.Analyzer {
	b.Helper()
	kind, _ := axes.Find(text.Kinds, "simple")
	a, err := kind.New(kind.Params(), axes.Env{})
	if err != nil {
		b.Fatal(err)
	}
	return a
}

func build(b *testing.B, docs []string, analyzer text.Analyzer, out *bytes.Buffer) {
	b.Helper()
	builder := inverted.NewBuilder()
	for _, d := range docs {
		if err := builder.Add(func(emit func([]byte)) { analyzer.Terms(d, emit) }); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := builder.WriteTo(out); err != nil {
		b.Fatal(err)
	}
}

// cpu returns the processor time that the process has used, in seconds: on a
// machine that others use too it says more than the clock.
func cpu(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func BenchmarkIndex(b *testing.B) {
	docs, _ := benchCorpus(b)
	analyzer := words(b)
	var out bytes.Buffer
	start := cpu(b)
	for b.Loop() {
		out.Reset()
		build(b, docs, analyzer, &out)
	}
	b.ReportMetric((cpu(b)-start)/float64(b.N), "cpu-s/op")
	b.ReportMetric(float64(len(docs)*b.N)/b.Elapsed().Seconds(), "docs/s")
	b.ReportMetric(float64(out.Len())/1e6, "index-MB")
}

func BenchmarkSearch(b *testing.B) {
	docs, queries := benchCorpus(b)
	analyzer := words(b)
	var out bytes.Buffer
	build(b, docs, analyzer, &out)
	docs = nil
	var s *inverted.Searcher
	open := func(b *testing.B) {
		x, err := inverted.Open(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil {
			b.Fatal(err)
		}
		s = inverted.NewSearcher(x, inverted.BM25{K1: 1.2, B: 0.75})
	}
	b.Run("open", func(b *testing.B) {
		start := cpu(b)
		for b.Loop() {
			open(b)
		}
		b.ReportMetric((cpu(b)-start)/float64(b.N), "cpu-s/op")
	})
	open(b)
	one := func(q string, hits []axes.Hit) []axes.Hit {
		hits, err := s.Search(b.Context(), func(emit func([]byte)) { analyzer.Terms(q, emit) }, 100, hits[:0])
		if err != nil {
			b.Error(err)
		}
		return hits
	}
	b.Run("1 thread", func(b *testing.B) {
		var hits []axes.Hit
		start := cpu(b)
		for b.Loop() {
			for _, q := range queries {
				hits = one(q, hits)
			}
		}
		b.ReportMetric(float64(len(queries)*b.N)/b.Elapsed().Seconds(), "queries/s")
		b.ReportMetric(float64(len(queries)*b.N)/(cpu(b)-start), "queries/cpu-s")
	})
	b.Run("2 threads", func(b *testing.B) {
		for b.Loop() {
			var both sync.WaitGroup
			for half := range 2 {
				both.Go(func() {
					var hits []axes.Hit
					for i := half; i < len(queries); i += 2 {
						hits = one(queries[i], hits)
					}
				})
			}
			both.Wait()
		}
		b.ReportMetric(float64(len(queries)*b.N)/b.Elapsed().Seconds(), "queries/s")
	})
}

// BenchmarkParts compares an index in one piece with the same in parts, whose
// postings are decoded when they are asked for.
func BenchmarkParts(b *testing.B) {
	docs, queries := benchCorpus(b)
	analyzer := words(b)
	p := inverted.BM25{K1: 1.2, B: 0.75}
	var whole bytes.Buffer
	build(b, docs, analyzer, &whole)
	x, err := inverted.Open(bytes.NewReader(whole.Bytes()), int64(whole.Len()))
	if err != nil {
		b.Fatal(err)
	}
	const n = 8
	parts := make([]inverted.Part, n)
	for i := range parts {
		var texts []string
		for j := i; j < len(docs); j += n {
			texts = append(texts, docs[j])
			parts[i].Ordinals = append(parts[i].Ordinals, uint32(j))
		}
		var file bytes.Buffer
		build(b, texts, analyzer, &file)
		if parts[i].Index, err = inverted.Map(file.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
	one := inverted.NewSearcher(x, p)
	for name, keep := range map[string]int64{"kept": 1 << 40, "decoded each time": 0} {
		together, err := inverted.NewPartsSearcher(parts, p, 1, keep)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) { ask(b, together, queries, analyzer) })
	}
	b.Run("one piece", func(b *testing.B) { ask(b, one, queries, analyzer) })
}

func ask(b *testing.B, s *inverted.Searcher, queries []string, analyzer text.Analyzer) {
	var hits []axes.Hit
	start := cpu(b)
	for b.Loop() {
		for _, q := range queries {
			var err error
			if hits, err = s.Search(b.Context(), func(emit func([]byte)) { analyzer.Terms(q, emit) }, 100, hits[:0]); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(len(queries)*b.N)/(cpu(b)-start), "queries/cpu-s")
}
