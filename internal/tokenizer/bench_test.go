//go:build unix

package tokenizer_test

import (
	"bufio"
	"encoding/json"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"raglab/internal/testdata"
	"raglab/internal/tokenizer"
)

// ukrainian returns the texts of a corpus of Ukrainian documents.
func ukrainian(t testing.TB) []string {
	t.Helper()
	f, err := os.Open(testdata.Shared(t, "data/uk-unlp/neutral/docs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var texts []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var doc struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal(lines.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, doc.Text)
	}
	return texts
}

// cpuTime returns the processor time the process has used. Rates over it mean
// something on a machine that others use too; the wall clock does not.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// benchmarkTexts encodes all texts again and again and reports tokens per second.
func benchmarkTexts(b *testing.B, tok *tokenizer.Tokenizer, texts []string) {
	var ids []int32
	for _, text := range texts { // learn the words; see also firstPass
		ids = tok.Encode(ids[:0], text)
	}
	tokens, bytes := 0, 0
	b.ReportAllocs()
	b.ResetTimer()
	start := cpuTime(b)
	for range b.N {
		for _, text := range texts {
			ids = tok.Encode(ids[:0], text)
			tokens += len(ids)
			bytes += len(text)
		}
	}
	b.ReportMetric(float64(tokens)/(cpuTime(b)-start).Seconds(), "tokens/cpu-s")
	b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
	b.SetBytes(int64(bytes / b.N))
}

func BenchmarkEncode_ukrainian(b *testing.B) {
	texts := ukrainian(b)
	for _, folder := range []string{"multilingual-e5-small", "wordpiece"} {
		b.Run(folder, func(b *testing.B) { benchmarkTexts(b, openFixture(b, folder), texts) })
	}
}

// BenchmarkEncode_firstPass encodes a corpus once with a tokenizer that has just
// been loaded, so that every word is new when it comes first.
func BenchmarkEncode_firstPass(b *testing.B) {
	texts := ukrainian(b)
	var ids []int32
	tokens := 0
	var used time.Duration
	for range b.N {
		b.StopTimer()
		tok := openFixture(b, "multilingual-e5-small")
		runtime.GC()
		b.StartTimer()
		start := cpuTime(b)
		for _, text := range texts {
			ids = tok.Encode(ids[:0], text)
			tokens += len(ids)
		}
		used += cpuTime(b) - start
	}
	b.ReportMetric(float64(tokens)/used.Seconds(), "tokens/cpu-s")
	b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
}

func BenchmarkOffsets_ukrainian(b *testing.B) {
	texts := ukrainian(b)
	tok := openFixture(b, "multilingual-e5-small")
	tokens := 0
	b.ResetTimer()
	start := cpuTime(b)
	for range b.N {
		for _, text := range texts {
			tokens += len(tok.Offsets(text))
		}
	}
	b.ReportMetric(float64(tokens)/(cpuTime(b)-start).Seconds(), "tokens/cpu-s")
	b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
}

// BenchmarkOpen reports the time to load a tokenizer and the memory it keeps.
func BenchmarkOpen(b *testing.B) {
	for _, folder := range []string{"multilingual-e5-small", "wordpiece"} {
		b.Run(folder, func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			b.ReportAllocs()
			var tok *tokenizer.Tokenizer
			start := cpuTime(b)
			for range b.N {
				tok = openFixture(b, folder)
			}
			b.StopTimer()
			b.ReportMetric((cpuTime(b)-start).Seconds()*1e3/float64(b.N), "cpu-ms/op")
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MB-kept")
			runtime.KeepAlive(tok)
		})
	}
}
