package embedder

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"raglab/axes"
	"raglab/internal/assets/assetstest"
	"raglab/internal/onnx"
	"raglab/internal/param"
)

// tinyTokenizer knows single letters a to d, as ids 3 to 6; [CLS] is 1, [SEP] 2.
const tinyTokenizer = `{
  "version": "1.0", "truncation": null, "padding": null,
  "added_tokens": [
    {"id": 1, "content": "[CLS]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
    {"id": 2, "content": "[SEP]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
  "normalizer": null,
  "pre_tokenizer": {"type": "WhitespaceSplit"},
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]}, "[SEP]": {"id": "[SEP]", "ids": [2], "tokens": ["[SEP]"]}}},
  "decoder": null,
  "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
    "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "b": 4, "c": 5, "d": 6}}
}`

// customModel writes a folder with the tiny tokenizer, a graph and other files.
func customModel(t *testing.T, build func(m *onnx.Model, ids string), files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	m := onnx.NewModel("test")
	build(m, m.Input(onnx.InputIDs, onnx.Int64, "batch", "sequence"))
	f, err := os.Create(filepath.Join(dir, "model.onnx"))
	if err == nil {
		_, err = m.WriteTo(f)
	}
	err = errors.Join(err, f.Close(), os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(tinyTokenizer), 0o666))
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(content), 0o666))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// tokenVectors gives each token the vector (id, 1).
func tokenVectors(m *onnx.Model, ids string) string {
	x := m.Node("Cast", "", []string{ids}, onnx.Attr{Name: "to", Value: int(onnx.Float32)})
	x = m.Node("Unsqueeze", "", []string{x, m.Ints("last", 2)})
	ones := m.Node("Div", "", []string{x, x})
	return m.Node("Concat", "", []string{x, ones}, onnx.Attr{Name: "axis", Value: 2})
}

func hidden(m *onnx.Model, ids string) {
	m.Output(onnx.LastHiddenState, tokenVectors(m, ids), onnx.Float32, "batch", "sequence", 2)
}

func custom(t *testing.T, dir string, set func(*ONNXParams)) Embedder {
	t.Helper()
	return newEmbedder(t, 2, func(p *ONNXParams) {
		p.Folder, p.Normalize = dir, false
		if set != nil {
			set(p)
		}
	})
}

func TestONNX_customModel(t *testing.T) {
	t.Parallel()
	prompts := map[string]string{
		"config_sentence_transformers.json": `{"prompts": {"query": "c ", "document": "d "}}`,
		"config.json":                       `{"max_position_embeddings": 600}`,
	}
	withCLS := map[string]string{"1_Pooling/config.json": `{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}`}
	tests := map[string]struct {
		files          map[string]string
		set            func(*ONNXParams)
		query, passage []float32 // of "a b"
		truncated      int
	}{
		"mean":           {query: []float32{2.5, 1}, passage: []float32{2.5, 1}},
		"own prefixes":   {files: prompts, query: []float32{3, 1}, passage: []float32{3.2, 1}},
		"given prefix":   {files: prompts, set: func(p *ONNXParams) { p.QueryPrefix, p.PassagePrefix = "", "a a " }, query: []float32{2.5, 1}, passage: []float32{16. / 6, 1}},
		"own cls":        {files: withCLS, query: []float32{1, 1}, passage: []float32{1, 1}},
		"given pooling":  {files: withCLS, set: func(p *ONNXParams) { p.Pooling = "mean" }, query: []float32{2.5, 1}, passage: []float32{2.5, 1}},
		"truncation":     {set: func(p *ONNXParams) { p.MaxTokens = 3 }, query: []float32{2, 1}, passage: []float32{2, 1}, truncated: 1},
		"to unit length": {set: func(p *ONNXParams) { p.Normalize = true }, query: []float32{0.9284767, 0.37139067}, passage: []float32{0.9284767, 0.37139067}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := custom(t, customModel(t, hidden, test.files), test.set)
			q, err := e.EmbedQuery(t.Context(), "a b")
			if diff := cmp.Diff(test.query, q); err != nil || diff != "" {
				t.Error("query", diff, err)
			}
			p, stats, err := e.EmbedPassages(t.Context(), []string{"a b"}, nil)
			if diff := cmp.Diff([][]float32{test.passage}, p); err != nil || diff != "" {
				t.Error("passage", diff, err)
			}
			if stats.Texts != 1 || stats.Truncated != test.truncated {
				t.Errorf("stats %+v", stats)
			}
			counted, err := e.(TokenCounter).CountPassages([]string{"a b"})
			if err != nil || counted != stats {
				t.Errorf("counted %+v, embedded %+v, %v", counted, stats, err)
			}
		})
	}
}

// A model may want a mask and token types, and may pool by itself.
func TestONNX_otherInputsAndPooledOutput(t *testing.T) {
	t.Parallel()
	dir := customModel(t, func(m *onnx.Model, ids string) {
		mask := m.Input(onnx.AttentionMask, onnx.Int64, "batch", "sequence")
		types := m.Input(onnx.TokenTypeIDs, onnx.Int64, "batch", "sequence")
		sum := m.Node("Add", "", []string{m.Node("Mul", "", []string{ids, mask}), types})
		x := m.Node("ReduceSum", "", []string{tokenVectors(m, sum), m.Ints("tokens", 1)}, onnx.Attr{Name: "keepdims", Value: 0})
		m.Output("sentence_embedding", x, onnx.Float32, "batch", 2)
	}, nil)
	v, err := custom(t, dir, nil).EmbedQuery(t.Context(), "a b")
	if diff := cmp.Diff([]float32{10, 4}, v); err != nil || diff != "" {
		t.Error(diff, err)
	}
	if _, err := custom(t, dir, func(p *ONNXParams) { p.Pooling = "cls" }).EmbedQuery(t.Context(), "a"); err == nil ||
		!strings.Contains(err.Error(), "pooling: the model pools by itself") {
		t.Errorf("error %v", err)
	}
}

func TestONNX_badModels(t *testing.T) {
	t.Parallel()
	output := func(name string, op string) func(*onnx.Model, string) {
		return func(m *onnx.Model, ids string) {
			m.Output(name, m.Node(op, "", []string{tokenVectors(m, ids)}), onnx.Float32, "b", "s", 2)
		}
	}
	tests := map[string]struct {
		build   func(*onnx.Model, string)
		set     func(*ONNXParams)
		problem string
	}{
		"not finite": {build: func(m *onnx.Model, ids string) {
			x := m.Node("Log", "", []string{m.Node("Neg", "", []string{tokenVectors(m, ids)})})
			m.Output(onnx.LastHiddenState, x, onnx.Float32, "b", "s", 2)
		}, problem: `embed "a b": the model gives numbers that are not finite`},
		"zeros": {build: func(m *onnx.Model, ids string) {
			x := tokenVectors(m, ids)
			m.Output(onnx.LastHiddenState, m.Node("Sub", "", []string{x, x}), onnx.Float32, "b", "s", 2)
		}, set: func(p *ONNXParams) { p.Normalize = true }, problem: `embed "a b": the model gives a vector of zeros, which has no direction`},
		"wrong size": {build: func(m *onnx.Model, ids string) {
			x := tokenVectors(m, ids)
			m.Output(onnx.LastHiddenState, m.Node("Concat", "", []string{x, x}, onnx.Attr{Name: "axis", Value: 1}), onnx.Float32, "b", "n", 2)
		}, problem: "the model's output has the shape [1 8 2], expected [1 4 n] or [1 n]"},
		"other output":   {build: output("logits", "Neg"), problem: "it has no output last_hidden_state or token_embeddings or sentence_embedding; its inputs are (input_ids: int64[batch, sequence]), its outputs (logits: float32[b, s, 2])"},
		"unknown output": {build: output("logits", "Neg"), set: func(p *ONNXParams) { p.Output = "scores" }, problem: "it has no output scores"},
		"integers": {build: func(m *onnx.Model, ids string) {
			m.Output(onnx.LastHiddenState, ids, onnx.Int64, "b", "s")
		}, problem: "holds no 32-bit floats"},
		"too many positions": {build: hidden, set: func(p *ONNXParams) { p.MaxTokens = 700 }, problem: "max_tokens: 700 is more than the 600"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := customModel(t, test.build, map[string]string{"config.json": `{"max_position_embeddings": 600}`})
			_, _, err := custom(t, dir, test.set).EmbedPassages(t.Context(), []string{"a b"}, nil)
			if err == nil || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("error %v, expected %q", err, test.problem)
			}
		})
	}
}

func TestCustomFiles_missing(t *testing.T) {
	t.Parallel()
	if _, err := customFiles(t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "must hold model.onnx and tokenizer.json") {
		t.Errorf("error %v", err)
	}
}

func TestONNX_parametersThatContradict(t *testing.T) {
	t.Parallel()
	kind := ONNX()
	tests := map[string]func(*ONNXParams){
		"model":      func(p *ONNXParams) { p.Model = "./my-model" },
		"precision":  func(p *ONNXParams) { p.Model, p.Precision = "multilingual-e5-small", "q4" },
		"max_tokens": func(p *ONNXParams) { p.MaxTokens = 513 },
	}
	for attribute, set := range tests {
		params := kind.Params().(*ONNXParams)
		set(params)
		_, err := kind.New(params, axes.Env{})
		if e, ok := errors.AsType[*param.Error](err); !ok || e.Attribute != attribute {
			t.Errorf("%s: error %v", attribute, err)
		}
	}
	params := kind.Params().(*ONNXParams)
	if diff := cmp.Diff([]string{"onnxruntime", "multilingual-e5-small-q4"}, kind.Needs(params).Assets); diff != "" {
		t.Error(diff)
	}
	params.Folder = "/models/mine"
	if needs := kind.Needs(params); len(needs.Assets) != 1 || !cmp.Equal(needs.Files, []string{"/models/mine"}) {
		t.Errorf("needs %+v", needs)
	}
}

func TestEmbedPassages_endsWithTheContext(t *testing.T) {
	t.Parallel()
	e := custom(t, customModel(t, hidden, nil), nil)
	stop := errors.New("stopped by the user")
	ctx, cancel := context.WithCancelCause(t.Context())
	texts := make([]string, 20)
	for i := range texts {
		texts[i] = strings.Repeat("a ", i+1)
	}
	_, _, err := e.EmbedPassages(ctx, texts, func(int) { cancel(stop) })
	if !errors.Is(err, stop) {
		t.Errorf("error %v, expected the cause of the cancel", err)
	}
}

func TestEmbedder_withoutAssets(t *testing.T) {
	t.Parallel()
	assetstest.Dir(t, "onnxruntime")
	unobtainable := errors.New("no place has it")
	e, err := ONNX().New(ONNX().Params(), axes.Env{Asset: func(context.Context, string) (string, error) { return "", unobtainable }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.EmbedQuery(t.Context(), "a"); !errors.Is(err, unobtainable) {
		t.Errorf("error %v", err)
	}
}
