package reranker_test

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"raglab/axes"
	"raglab/axes/axestest"
	"raglab/axes/reranker"
	"raglab/internal/assets/assetstest"
	"raglab/internal/onnx"
	"raglab/internal/onnx/onnxtest"
	"raglab/internal/param"
)

// letters are the pieces of the tiny models: letters and digits, at the beginning of
// words and within.
func letters() []string {
	var pieces []string
	for _, r := range "abcdefghijklmnopqrstuvwxyz0123456789?." {
		pieces = append(pieces, string(r), "##"+string(r))
	}
	return pieces
}

func tinyBERT(types bool) *onnxtest.BERT {
	return onnxtest.NewBERT(7, onnxtest.Config{Hidden: 16, Layers: 2, Heads: 4, FFN: 24, Positions: 64, Types: types}, letters())
}

// written writes a model's folder.
func written(t *testing.T, write func(dir string) error) string {
	t.Helper()
	dir := t.TempDir()
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func fromAssets(t testing.TB) axes.Env {
	t.Helper()
	assetstest.Dir(t, "onnxruntime")
	return axes.Env{Threads: 2, Asset: func(_ context.Context, name string) (string, error) { return assetstest.Dir(t, name), nil }}
}

// crossEncoder makes one of a folder, closed when the test ends.
func crossEncoder(t *testing.T, dir string, set func(p *reranker.CrossEncoderParams)) reranker.PairScorer {
	t.Helper()
	k := kind(t, "cross_encoder")
	p := k.Params().(*reranker.CrossEncoderParams)
	p.Folder, p.MaxTokens = dir, 64
	if set != nil {
		set(p)
	}
	r, err := k.New(p, fromAssets(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.(io.Closer).Close(); err != nil {
			t.Error(err)
		}
	})
	return r.(reranker.PairScorer)
}

func TestCrossEncoder(t *testing.T) {
	t.Parallel()
	dir := written(t, tinyBERT(true).Write)
	axestest.RunReranker(t, axestest.Reranker{
		Kind: kind(t, "cross_encoder"), Env: fromAssets(t), Coarse: true,
		Golden: map[string]string{"1": "b6b22ff87797c6a7"},
		Set: func(p any) {
			c := p.(*reranker.CrossEncoderParams)
			c.Folder, c.MaxTokens, c.Depth = dir, 64, 20
		},
	})
}

// The logits are those of the definition in double precision, with token types and
// without, for pairs that are cut, too.
func TestCrossEncoder_logits(t *testing.T) {
	t.Parallel()
	question := "how old is it?"
	passages := []string{"", "it is old", "it is 12 years old.", "a b c d e f g h", strings.Repeat("very long ", 30), "it is old"}
	for _, types := range []bool{true, false} {
		for _, truncation := range []string{"longest_first", "passage"} {
			model := tinyBERT(types)
			dir := written(t, model.Write)
			tok, err := onnx.OpenTokenizer(dir)
			if err != nil {
				t.Fatal(err)
			}
			encode := tok.EncodePairTruncated
			if truncation == "passage" {
				encode = tok.EncodePairSecond
			}
			got, err := crossEncoder(t, dir, func(p *reranker.CrossEncoderParams) { p.MaxTokens, p.Truncation = 24, truncation }).
				ScorePairs(t.Context(), question, passages)
			if err != nil {
				t.Fatal(err)
			}
			for i, passage := range passages {
				ids, kinds, cut := encode(nil, nil, question, passage, 24)
				want := model.Logit(ids, kinds)
				if d := math.Abs(float64(got[i].Raw) - want); !(d < 1e-5) {
					t.Errorf("types %v, %s: passage %d scores %v, expected %v", types, truncation, i, got[i].Raw, want)
				}
				if got[i].Truncated != cut || got[i].Tokens != len(ids) || got[i].Took <= 0 {
					t.Errorf("passage %d: %+v, expected %d tokens, truncated %v", i, got[i], len(ids), cut)
				}
			}
			if got[1].Raw == got[2].Raw || got[1].Raw != got[5].Raw {
				t.Errorf("scores %v: different passages score the same, or the same ones differently", got)
			}
		}
	}
}

func TestCrossEncoder_activation(t *testing.T) {
	t.Parallel()
	dir := written(t, tinyBERT(true).Write)
	hits := []axes.Hit{{Ordinal: 0, Score: 3}, {Ordinal: 1, Score: 2}, {Ordinal: 2, Score: 1}}
	rank := func(activation string) []axes.Hit {
		r := crossEncoder(t, dir, func(p *reranker.CrossEncoderParams) { p.Activation = activation })
		got, err := r.Rerank(t.Context(), axes.Query{Text: "what"}, hits, func(o uint32) (string, error) { return strings.Repeat("x", int(o)+1), nil })
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	raw, shown := rank("none"), rank("sigmoid")
	for i := range raw {
		if shown[i].Ordinal != raw[i].Ordinal {
			t.Errorf("rank %d holds %v by logits, %v by their sigmoid", i+1, raw[i], shown[i])
		}
		if want := 1 / (1 + math.Exp(-raw[i].Score)); math.Abs(shown[i].Score-want) > 1e-6 {
			t.Errorf("logit %v is shown as %v, expected %v", raw[i].Score, shown[i].Score, want)
		}
	}
}

// The stand-in's scores make sense: more of the question's rare words, and endings
// that do not matter.
func TestCrossEncoder_overlap(t *testing.T) {
	t.Parallel()
	corpus := []string{
		"The Danube rises in the Black Forest.", "The Nile flows north through Egypt.",
		"Дніпро тече через Київ.", "Дністер бере початок у Карпатах.", "The Rhine flows through the city.",
	}
	dir := written(t, func(dir string) error { return onnxtest.WriteOverlap(dir, corpus) })
	r := crossEncoder(t, dir, func(p *reranker.CrossEncoderParams) { p.MaxTokens = 128 })
	for question, best := range map[string]int{"Where does the Danube rise?": 0, "Which river flows through Egypt": 1, "Де починається Дністер у Карпати": 3} {
		got, err := r.ScorePairs(t.Context(), question, corpus)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if i != best && got[i].Raw >= got[best].Raw {
				t.Errorf("%q: %q scores %v, %q %v", question, corpus[i], got[i].Raw, corpus[best], got[best].Raw)
			}
		}
	}
	again := t.TempDir()
	slices.Reverse(corpus)
	if err := onnxtest.WriteOverlap(again, corpus); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"model.onnx", "tokenizer.json", "config.json"} {
		a, err := os.ReadFile(filepath.Join(dir, name))
		b, err2 := os.ReadFile(filepath.Join(again, name))
		if err != nil || err2 != nil || !slices.Equal(a, b) {
			t.Errorf("%s is another one when made again, %v, %v", name, err, err2)
		}
	}
}

func TestCrossEncoder_badModels(t *testing.T) {
	t.Parallel()
	custom := func(build func(m *onnx.Model, ids string)) func(dir string) error {
		return func(dir string) error {
			if err := tinyBERT(true).Write(dir); err != nil {
				return err
			}
			m := onnx.NewModel("test")
			build(m, m.Input(onnx.InputIDs, onnx.Int64, "batch", "sequence"))
			f, err := os.Create(filepath.Join(dir, "model.onnx"))
			if err != nil {
				return err
			}
			_, err = m.WriteTo(f)
			return errors.Join(err, f.Close())
		}
	}
	float := func(m *onnx.Model, ids string) string {
		return m.Node("Cast", "", []string{ids}, onnx.Attr{Name: "to", Value: int(onnx.Float32)})
	}
	tests := map[string]struct {
		write   func(dir string) error
		set     func(p *reranker.CrossEncoderParams)
		problem string
	}{
		"empty folder": {write: func(string) error { return nil }, problem: "must hold model.onnx and tokenizer.json"},
		"several labels": {write: custom(func(m *onnx.Model, ids string) {
			m.Output("logits", float(m, ids), onnx.Float32, "batch", "labels")
		}), problem: "expected one number for each pair, [1 1]: is it a cross-encoder with one label?"},
		"no logits": {write: custom(func(m *onnx.Model, ids string) {
			m.Output("last_hidden_state", float(m, ids), onnx.Float32, "batch", "labels")
		}), problem: "it has no output logits"},
		"not finite": {write: custom(func(m *onnx.Model, ids string) {
			x := m.Node("ReduceSum", "", []string{float(m, ids), m.Ints("last", -1)}, onnx.Attr{Name: "keepdims", Value: 1})
			m.Output("logits", m.Node("Log", "", []string{m.Node("Neg", "", []string{x})}), onnx.Float32, "batch", 1)
		}), problem: "which is not finite"},
		"too many tokens": {write: tinyBERT(true).Write, set: func(p *reranker.CrossEncoderParams) { p.MaxTokens = 65 }, problem: "max_tokens: 65 is more than the 64"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := crossEncoder(t, written(t, test.write), test.set)
			_, err := r.Rerank(t.Context(), axes.Query{Text: "a"}, []axes.Hit{{}}, func(uint32) (string, error) { return "b", nil })
			if err == nil || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("error %v, expected %q", err, test.problem)
			}
		})
	}
}

func TestCrossEncoder_parameters(t *testing.T) {
	t.Parallel()
	k := kind(t, "cross_encoder")
	for _, model := range []string{"bge-reranker-base", "./model", "/model", "owner/", "a/b/c", "", "a/b:c"} {
		p := k.Params().(*reranker.CrossEncoderParams)
		p.Model = model
		_, err := k.New(p, axes.Env{})
		if e, ok := errors.AsType[*param.Error](err); !ok || e.Attribute != "model" {
			t.Errorf("%q: error %v", model, err)
		}
	}
	p := k.Params().(*reranker.CrossEncoderParams)
	if diff := cmp.Diff([]string{"onnxruntime", "hf:BAAI/bge-reranker-base:config.json,onnx/model.onnx,tokenizer.json"}, k.Needs(p).Assets); diff != "" {
		t.Error(diff)
	}
	p.Folder = "/models/mine"
	if needs := k.Needs(p); len(needs.Assets) != 1 || !cmp.Equal(needs.Files, []string{"/models/mine"}) {
		t.Errorf("needs %+v", needs)
	}
	var ordering []string
	for _, f := range param.MustFields(p) {
		if f.At == "order" {
			ordering = append(ordering, f.Name)
		}
	}
	if diff := cmp.Diff([]string{"depth", "activation"}, ordering); diff != "" {
		t.Errorf("scores are remembered whatever these are:\n%s", diff)
	}
}

func TestCrossEncoder_endsWithTheContext(t *testing.T) {
	t.Parallel()
	r := crossEncoder(t, written(t, tinyBERT(true).Write), nil)
	stop := errors.New("stopped by the user")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := r.ScorePairs(ctx, "a", []string{"b"}); !errors.Is(err, stop) {
		t.Errorf("error %v, expected the cause of the cancel", err)
	}
	unobtainable := errors.New("no place has it")
	k := kind(t, "cross_encoder")
	none, err := k.New(k.Params(), axes.Env{Asset: func(context.Context, string) (string, error) { return "", unobtainable }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.(reranker.PairScorer).ScorePairs(t.Context(), "a", []string{"b"}); !errors.Is(err, unobtainable) {
		t.Errorf("error %v", err)
	}
}

// What a question took is divided among its pairs.
func TestCrossEncoder_sharesItsTime(t *testing.T) {
	t.Parallel()
	r := crossEncoder(t, written(t, tinyBERT(true).Write), nil)
	passages := make([]string, 40)
	for i := range passages {
		passages[i] = strings.Repeat("word ", i%9)
	}
	start := time.Now()
	pairs, err := r.ScorePairs(t.Context(), "what", passages)
	whole := time.Since(start)
	if err != nil {
		t.Fatal(err)
	}
	var sum time.Duration
	for _, p := range pairs {
		sum += p.Took
	}
	if sum <= 0 || sum > whole {
		t.Errorf("the pairs took %s, the call %s", sum, whole)
	}
}
