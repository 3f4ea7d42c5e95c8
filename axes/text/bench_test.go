package text_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"raglab/axes"
	"raglab/axes/text"
	"raglab/internal/testdata"
)

// ukrainian returns the texts of the Ukrainian pages as one string.
func ukrainian(tb testing.TB) string {
	tb.Helper()
	f, err := os.Open(testdata.Shared(tb, "data/uk-unlp/neutral/docs.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var all strings.Builder
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return all.String()
		}
		var d axes.Document
		if err := json.Unmarshal(line, &d); err != nil {
			tb.Fatal(err)
		}
		all.WriteString(d.Content())
		all.WriteByte('\n')
	}
}

// bench makes an analyzer of a kind for Ukrainian and opens it.
func bench(b *testing.B, kind axes.Kind[text.Analyzer]) text.Analyzer {
	b.Helper()
	params, env := kind.Params(), axes.Env{Language: "uk"}
	switch p := params.(type) {
	case *text.LemmaParams:
		p.Dictionary, env.Asset = "uk", assetOf(b)
	case *text.SnowballParams:
		p.Language = "ru" // of those that have a stemmer the nearest
	}
	a, err := kind.New(params, env)
	if err == nil {
		err = text.Open(b.Context(), a)
	}
	if err != nil {
		b.Fatal(err)
	}
	return a
}

func BenchmarkTerms(b *testing.B) {
	s := ukrainian(b)
	for _, kind := range text.Kinds {
		b.Run(kind.Name, func(b *testing.B) {
			analyzer := bench(b, kind)
			n := 0
			count := func([]byte) { n++ }
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				analyzer.Terms(s, count)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "terms/s")
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for _, kind := range text.Kinds {
		b.Run(kind.Name, func(b *testing.B) {
			for b.Loop() {
				bench(b, kind).Terms("x", func([]byte) {})
			}
		})
	}
}
