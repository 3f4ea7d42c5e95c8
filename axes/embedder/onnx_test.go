package embedder

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"testing"

	"raglab/axes"
	"raglab/internal/assets/assetstest"
	"raglab/internal/testdata"
)

// newEmbedder makes one with assets of the user's folder. It is closed when the
// test ends.
func newEmbedder(t testing.TB, threads int, set func(*ONNXParams)) *encoder {
	t.Helper()
	kind := ONNX()
	params := kind.Params().(*ONNXParams)
	if set != nil {
		set(params)
	}
	for _, name := range kind.Needs(params).Assets {
		assetstest.Dir(t, name)
	}
	e, err := kind.New(params, axes.Env{
		Threads: threads,
		Asset:   func(_ context.Context, name string) (string, error) { return assetstest.Dir(t, name), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e.(*encoder)
}

// expected is one vector of the model's own engine.
type expected struct {
	Prefix, Text string
	Vector       []float32
}

func fixtures(t testing.TB) []expected {
	t.Helper()
	f, err := os.Open(testdata.Shared(t, "models/multilingual-e5-small/embeddings.expected.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []expected
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e expected
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func dot(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// The vectors are those of the model's own engine, up to the rounding of its
// 8-bit activations. One text is longer than the model takes: that engine cuts it
// into windows, here its end is dropped.
func TestEmbed_fixtureVectors(t *testing.T) {
	t.Parallel()
	for _, precision := range []string{"f32", "q4"} {
		t.Run(precision, func(t *testing.T) {
			e := newEmbedder(t, 2, func(p *ONNXParams) { p.Precision = precision })
			truncated, lowest := 0, 1.0
			var passages []string
			var want []expected
			check := func(x expected, v []float32, cut bool) {
				t.Helper()
				c := dot(v, x.Vector)
				if cut {
					truncated++
					return
				}
				lowest = min(lowest, c)
				if c < 0.9995 {
					t.Errorf("cosine %.6f for %s", c, quote(x.Prefix+x.Text))
				}
			}
			for _, x := range fixtures(t) {
				if x.Prefix == "passage: " {
					passages, want = append(passages, x.Text), append(want, x)
					continue
				}
				v, err := e.EmbedQuery(t.Context(), x.Text)
				if err != nil {
					t.Fatal(err)
				}
				_, cut := e.tokens.EncodeTruncated(nil, x.Prefix+x.Text, e.model.maxTokens)
				check(x, v, cut)
			}
			vectors, stats, err := e.EmbedPassages(t.Context(), passages, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range vectors {
				_, cut := e.tokens.EncodeTruncated(nil, want[i].Prefix+want[i].Text, e.model.maxTokens)
				check(want[i], v, cut)
			}
			if stats.Texts != len(passages) || truncated == 0 || stats.Truncated > truncated {
				t.Errorf("stats %+v for %d passages, %d texts truncated", stats, len(passages), truncated)
			}
			t.Logf("lowest cosine %.6f, %d texts truncated, %+v", lowest, truncated, stats)
		})
	}
}
