package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"raglab/axes"
	"raglab/axes/embedder"
	"raglab/cache"
	"raglab/engine/artifact"
)

// letters embeds a text by counting letters, and notes what it was asked.
type letters struct {
	mu    sync.Mutex
	asked []string
	bad   func(vectors [][]float32) [][]float32
}

func (l *letters) vector(text string) []float32 {
	v := make([]float32, 4)
	for _, r := range text {
		v[int(r)%4]++
	}
	return v
}

func (l *letters) EmbedPassages(_ context.Context, texts []string, progress func(int)) ([][]float32, embedder.Stats, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, texts...)
	out := make([][]float32, len(texts))
	tokens := 0
	for i, s := range texts {
		out[i] = l.vector(s)
		tokens += len(strings.Fields(s))
		progress(i + 1)
	}
	if l.bad != nil {
		out = l.bad(out)
	}
	return out, embedder.Stats{Texts: len(texts), Tokens: tokens}, nil
}

func (l *letters) EmbedQuery(_ context.Context, text string) ([]float32, error) {
	return l.vector(text), nil
}

func (l *letters) CountPassages(texts []string) (embedder.Stats, error) {
	s := embedder.Stats{Texts: len(texts)}
	for _, t := range texts {
		s.Tokens += len(strings.Fields(t))
	}
	return s, nil
}

func (l *letters) Close() error { return nil }

func (l *lab) embedWork(e embedder.Embedder) embedWork {
	return embedWork{
		make:  func() (embedder.Embedder, error) { return e, nil },
		space: cache.DigestOf([]byte("a space")),
		memo:  func(space cache.Digest) (*cache.Memo, error) { return l.store.Memo(space) },
	}
}

func chunksOf(t *testing.T, texts ...string) []byte {
	t.Helper()
	var chunks []axes.Chunk
	for i, s := range texts {
		chunks = append(chunks, axes.Chunk{Doc: "d", N: i, Text: s})
	}
	return lines(t, chunks...)
}

func TestEmbed_remembersTexts(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), &letters{}
	first, err := l.run(t, embedKind, l.embedWork(model), map[string][]byte{"chunks": chunksOf(t, "one two", "three", "one two")})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"one two", "three"}; !slices.Equal(model.asked, want) {
		t.Errorf("the model was asked %q, want %q: a text twice in a shard is embedded once", model.asked, want)
	}
	if got := l.number(t, "new_tokens"); got != 3 {
		t.Errorf("new tokens %v, want 3", got)
	}
	model.asked = nil
	second, err := l.run(t, embedKind, l.embedWork(model), map[string][]byte{"chunks": chunksOf(t, "three", "four words are new", "one two")})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"four words are new"}; !slices.Equal(model.asked, want) {
		t.Errorf("the model was asked %q, want %q: others are remembered", model.asked, want)
	}
	if tokens, fresh := l.number(t, "tokens"), l.number(t, "new_tokens"); tokens != 7 || fresh != 4 {
		t.Errorf("tokens %v of which %v new, want 7 and 4", tokens, fresh)
	}
	a, b := matrix(t, first["vectors"]), matrix(t, second["vectors"])
	if !slices.Equal(a.Row(0), b.Row(2)) || !slices.Equal(a.Row(1), b.Row(0)) || !slices.Equal(a.Row(0), a.Row(2)) {
		t.Error("a remembered text has another vector")
	}
}

func matrix(t *testing.T, raw []byte) artifact.Matrix {
	t.Helper()
	m, err := artifact.ParseMatrix(raw)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestEmbed_refusesBadVectors(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]func([][]float32) [][]float32{
		"not finite":   func(v [][]float32) [][]float32 { v[1][2] = float32(math.NaN()); return v },
		"infinite":     func(v [][]float32) [][]float32 { v[0][0] = float32(math.Inf(1)); return v },
		"too short":    func(v [][]float32) [][]float32 { v[1] = v[1][:3]; return v },
		"too few":      func(v [][]float32) [][]float32 { return v[:1] },
		"of no length": func(v [][]float32) [][]float32 { v[0] = nil; return v },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			_, err := l.run(t, embedKind, l.embedWork(&letters{bad: bad}), map[string][]byte{"chunks": chunksOf(t, "one", "two")})
			if err == nil || !strings.Contains(err.Error(), "the embedder gave") {
				t.Errorf("error %v, want one that blames the embedder", err)
			}
			// Nothing wrong may be remembered: a sound model is asked again.
			model := &letters{}
			if _, err := l.run(t, embedKind, l.embedWork(model), map[string][]byte{"chunks": chunksOf(t, "one", "two")}); err != nil || len(model.asked) != 2 {
				t.Errorf("afterwards: error %v, asked %q", err, model.asked)
			}
		})
	}
}

func TestEmbedQuestions_measuresEach(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	out, err := l.run(t, embedQuestionsKind, l.embedWork(&letters{}), map[string][]byte{
		"queries": plainLines(t, queryLine{"q1", "who"}, queryLine{"q2", "where"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if m := matrix(t, out["vectors"]); m.Rows != 2 || m.Dim != 4 {
		t.Errorf("%d × %d vectors, want 2 × 4", m.Rows, m.Dim)
	}
	if raw := string(l.measured["latency_ms"]); !strings.Contains(raw, `"q1"`) || !strings.Contains(raw, `"q2"`) {
		t.Errorf("latencies %s lack a question", raw)
	}
}

func TestSameVectors_toleratesRounding(t *testing.T) {
	t.Parallel()
	write := func(rows ...[]float32) string {
		var b strings.Builder
		m := artifact.Matrix{Rows: len(rows), Dim: len(rows[0]), Data: slices.Concat(rows...)}
		if err := artifact.WriteMatrix(&b, m); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	base := write([]float32{1, 0}, []float32{0, 1})
	for _, tc := range []struct {
		again string
		same  bool
	}{
		{base, true},
		{write([]float32{1, 1e-3}, []float32{0, 1}), true},
		{write([]float32{1, 0.1}, []float32{0, 1}), false},
		{write([]float32{1, 0}), false},
		{write([]float32{0, 0}, []float32{0, 1}), false},
	} {
		err := sameVectors("vectors", strings.NewReader(base), strings.NewReader(tc.again))
		if (err == nil) != tc.same {
			t.Errorf("same %v, error %v", tc.same, err)
		}
	}
}

var errModel = errors.New("no model")

func TestEmbed_reportsMissingModel(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w := l.embedWork(nil)
	w.make = func() (embedder.Embedder, error) { return nil, fmt.Errorf("open: %w", errModel) }
	if _, err := l.run(t, embedKind, w, map[string][]byte{"chunks": chunksOf(t, "one")}); !errors.Is(err, errModel) {
		t.Errorf("error %v, want %v", err, errModel)
	}
}
