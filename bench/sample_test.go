package main

import (
	"math"
	"strings"
	"testing"
)

const printed = `warming up
{"peer": "bm25", "host": {"cpu": "x"}, "rows": [
{"tool": "bm25s", "step": "tokenise", "threads": 1, "wall_s": 6, "cpu_s": 5.5, "max_rss_mb": 900, "per_s": 100, "unit": "docs/s", "others": 0.1},
{"tool": "bm25s", "step": "index", "threads": 1, "wall_s": 4, "cpu_s": 4.5, "max_rss_mb": 1200, "per_s": 150},
{"tool": "bm25s numba", "step": "search", "threads": 2, "wall_s": 0.1, "cpu_s": 0.2, "max_rss_mb": 800, "per_s": 9000, "hit10": 0.95}]}
`

func oneLine(s string) []byte {
	first, rest, _ := strings.Cut(s, "\n")
	return []byte(first + "\n" + strings.ReplaceAll(rest, "\n", " ") + "\n")
}

func TestSamplesOf_readsTheLastLine(t *testing.T) {
	t.Parallel()
	got, err := samplesOf(oneLine(printed))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[2].Hit10 != 0.95 || got[0].Wall != 6 {
		t.Fatalf("read %+v", got)
	}
	both, ok := rateOfBoth(step{"bm25s", "tokenise", 1}, step{"bm25s", "index", 1})(got)
	if !ok || math.Abs(both.value-60) > 1e-9 || both.cpu != 10 {
		t.Errorf("600 documents in 6 and 4 seconds: %+v, %v", both, ok)
	}
	if peak, ok := peakOfBoth(step{"bm25s", "tokenise", 1}, step{"bm25s", "index", 1})(got); !ok || peak.value != 1200 {
		t.Errorf("peak of both: %+v, %v", peak, ok)
	}
	if _, ok := (step{"bm25s", "search", 0}).rate()(got); ok {
		t.Error("a tool's name was taken for the beginning of another's")
	}
	if v, ok := (step{"bm25s*", "sea*", 2}).rate()(got); !ok || v.value != 9000 {
		t.Errorf("by pattern: %+v, %v", v, ok)
	}
	if _, ok := (step{"bm25s*", "search", 1}).rate()(got); ok {
		t.Error("a figure of 2 threads was taken for one of 1")
	}
	if q, ok := quotient(step{"bm25s", "index", 1}.peak(), step{"bm25s", "tokenise", 1}.peak())(got); !ok || math.Abs(q.value-4.0/3) > 1e-12 {
		t.Errorf("quotient: %+v, %v", q, ok)
	}
}

func TestSamplesOf_errors(t *testing.T) {
	t.Parallel()
	_, err := samplesOf([]byte(`{"rows": [{"tool": "lucene", "error": "Traceback\nno Lucene jars"}]}`))
	if err == nil || !strings.Contains(err.Error(), "no Lucene jars") || strings.Contains(err.Error(), "Traceback") {
		t.Errorf("a tool's own error reads %v", err)
	}
	if _, err := samplesOf([]byte("nothing of the kind\n")); err == nil {
		t.Error("what is no JSON was read")
	}
	if _, err := samplesOf(nil); err == nil {
		t.Error("no output was read")
	}
}
