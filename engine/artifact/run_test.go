package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"raglab/axes"
)

func ids() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[a-z0-9_-]{1,6}`),
		rapid.String(),
		rapid.SampledFrom([]string{"", " ", "%%", "a b", "a\tb", "a\nb", "a#1", "Київ", "\xff", "\u2028", "%%41"}),
	)
}

func rankings() *rapid.Generator[Run] {
	return rapid.Custom(func(t *rapid.T) Run {
		var r Run
		for _, q := range rapid.SliceOfNDistinct(ids(), 0, 6, rapid.ID).Draw(t, "questions") {
			n := rapid.IntRange(1, 5).Draw(t, "hits")
			hits, chunks := make([]axes.Hit, n), make([]string, n)
			for i := range hits {
				hits[i] = axes.Hit{Ordinal: rapid.Uint32().Draw(t, "ordinal"), Score: rapid.Float64().Draw(t, "score")}
				chunks[i] = ChunkName(ids().Draw(t, "document"), rapid.IntRange(0, 99).Draw(t, "place"))
			}
			r.Questions, r.Hits, r.Chunks = append(r.Questions, q), append(r.Hits, hits), append(r.Chunks, chunks)
		}
		return r
	})
}

func trecOf(t testing.TB, r Run) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteRun(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRun_roundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		want := rankings().Draw(rt, "run")
		got, err := ReadRun(trecOf(t, want))
		if err != nil || !reflect.DeepEqual(got, want) {
			rt.Fatalf("read back as %+v, %v", got, err)
		}
		for i, q := range want.Questions {
			if got.By()[q] != i {
				rt.Fatalf("question %q is at %d", q, got.By()[q])
			}
		}
	})
}

func TestWriteRun_format(t *testing.T) {
	t.Parallel()
	run := Run{
		Questions: []string{"q 1", "none", "q2"},
		Hits:      [][]axes.Hit{{{Ordinal: 7, Score: 0.1}, {Ordinal: 2, Score: 0.1}}, nil, {{Ordinal: 0, Score: math.Inf(-1)}}},
		Chunks:    [][]string{{"Київ#0", "a b#12"}, nil, {"#0"}},
	}
	want := "%%q%201 Q0 Київ#0 1 0.1 c7\n%%q%201 Q0 %%a%20b#12 2 0.1 c2\nq2 Q0 #0 1 -Inf c0\n"
	if got := string(trecOf(t, run)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// A question without hits has no line.
	got, err := ReadRun([]byte(want))
	if err != nil || !reflect.DeepEqual(got.Questions, []string{"q 1", "q2"}) {
		t.Errorf("read back %q, %v", got.Questions, err)
	}
}

func TestWriteRun_notANumber(t *testing.T) {
	t.Parallel()
	run := Run{Questions: []string{"q"}, Hits: [][]axes.Hit{{{Score: math.NaN()}}}, Chunks: [][]string{{"a#0"}}}
	if err := WriteRun(&bytes.Buffer{}, run); err == nil || !strings.Contains(err.Error(), "a#0 for question q is not a number") {
		t.Errorf("got %v", err)
	}
	full := errors.New("disk full")
	run.Hits[0][0].Score = 1
	if err := WriteRun(failingWriter{full}, run); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

// A file that was cut is an error but at the end of a line, where it is another
// run: the cache's digest tells them apart.
func TestReadRun_truncated(t *testing.T) {
	t.Parallel()
	b := []byte("q1 Q0 a#0 1 12.5 c17\nq1 Q0 b#1 2 1e-05 c21\nq2 Q0 a#0 1 3 c17\n")
	for n := range b {
		_, err := ReadRun(b[:n])
		if atEnd := n == 0 || b[n-1] == '\n'; (err == nil) != atEnd {
			t.Errorf("cut to %q: %v", b[:n], err)
		}
	}
}

func TestReadRun_refuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"five fields":        "q Q0 a#0 1 1\n",
		"seven fields":       "q Q0 a#0 1 1 c0 x\n",
		"empty line":         "\n",
		"two spaces":         "q  Q0 a#0 1 1 c0\n",
		"carriage return":    "q Q0 a#0 1 1 c0\r\n",
		"rank of no number":  "q Q0 a#0 one 1 c0\n",
		"rank from 0":        "q Q0 a#0 0 1 c0\n",
		"a rank left out":    "q Q0 a#0 1 1 c0\nq Q0 b#0 3 1 c1\n",
		"a rank twice":       "q Q0 a#0 1 1 c0\nq Q0 b#0 1 1 c1\n",
		"score of no number": "q Q0 a#0 1 high c0\n",
		"score NaN":          "q Q0 a#0 1 NaN c0\n",
		"another tag":        "q Q0 a#0 1 1 bm25\n",
		"ordinal too large":  "q Q0 a#0 1 1 c4294967296\n",
		"bad escape":         "%%q%2 Q0 a#0 1 1 c0\n",
		"bad chunk":          "q Q0 %%a%zz#0 1 1 c0\n",
		"question twice":     "q Q0 a#0 1 1 c0\np Q0 a#0 1 1 c0\nq Q0 b#0 1 1 c1\n",
	} {
		run, err := ReadRun([]byte(text))
		if err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %+v, %v", name, run, err)
		}
	}
}

func TestDocumentOf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := ids().Draw(t, "document")
		if got := DocumentOf(ChunkName(doc, rapid.IntRange(0, 1e9).Draw(t, "place"))); got != doc {
			t.Fatalf("the document of a chunk of %q is %q", doc, got)
		}
	})
	if got := DocumentOf("no place"); got != "no place" {
		t.Errorf("got %q", got)
	}
}

func FuzzReadRun(f *testing.F) {
	f.Add([]byte("q1 Q0 a#0 1 12.5 c17\nq1 Q0 b#1 2 1e-05 c21\n"))
	f.Add([]byte("%%q%201 Q0 %%a%20b#1 1 -Inf c0\n"))
	f.Add([]byte("q Q0 a#0 1 0x1p-2 c0\n"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, b []byte) {
		run, err := ReadRun(b)
		if err != nil {
			return
		}
		again, err := ReadRun(trecOf(t, run))
		if err != nil || !reflect.DeepEqual(again, run) {
			t.Fatalf("%+v is read back as %+v, %v", run, again, err)
		}
	})
}

func BenchmarkReadRun(b *testing.B) {
	var run Run
	for q := range 1000 {
		hits, chunks := make([]axes.Hit, 100), make([]string, 100)
		for i := range hits {
			hits[i] = axes.Hit{Ordinal: uint32(q + i), Score: 1 / float64(i+q+1)}
			chunks[i] = ChunkName(fmt.Sprintf("document-%d", i*q), i%9)
		}
		run.Questions, run.Hits, run.Chunks = append(run.Questions, fmt.Sprintf("question-%d", q)), append(run.Hits, hits), append(run.Chunks, chunks)
	}
	text := trecOf(b, run)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadRun(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteMatrix(b *testing.B) {
	m := Matrix{Rows: 10_000, Dim: 384, Data: make([]float32, 10_000*384)}
	b.SetBytes(int64(4 * len(m.Data)))
	for b.Loop() {
		var out bytes.Buffer
		out.Grow(4*len(m.Data) + 200)
		if err := WriteMatrix(&out, m); err != nil {
			b.Fatal(err)
		}
	}
}
