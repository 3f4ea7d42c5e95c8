package embedder

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"raglab/axes"
	"raglab/internal/assets"
	"raglab/internal/assets/assetstest"
	"raglab/internal/onnx"
	"raglab/internal/param"
)

// hub serves model repositories as the Hugging Face hub does: by name, their files.
func hub(t *testing.T, repositories map[string]map[string]string) *assets.Store {
	t.Helper()
	const commit = "0123456789abcdef0123456789abcdef01234567"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, files := range repositories {
			switch rest, api := strings.CutPrefix(r.URL.Path, "/api/models/"+name+"/"); {
			case api && strings.HasPrefix(rest, "revision/"):
				fmt.Fprintf(w, `{"sha": %q}`, commit)
				return
			case api && strings.HasPrefix(rest, "tree/"):
				var tree []map[string]any
				for at, content := range files {
					sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content))
					tree = append(tree, map[string]any{"type": "file", "path": at, "size": len(content), "oid": hex.EncodeToString(sum[:])})
				}
				if err := json.NewEncoder(w).Encode(tree); err != nil {
					t.Error(err)
				}
				return
			}
			if at, ok := strings.CutPrefix(r.URL.Path, "/"+name+"/resolve/"+commit+"/"); ok {
				if content, have := files[at]; have {
					http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
					return
				}
			}
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	return assets.New(assets.Config{
		Dir: t.TempDir(), Environ: []string{"HOME=" + t.TempDir(), "HF_ENDPOINT=" + s.URL}, RetryWait: time.Microsecond,
	})
}

// graphOf is a tiny model's graph.
func graphOf(t *testing.T, build func(m *onnx.Model, ids string)) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(customModel(t, build, nil), graphFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// fromHub makes an embedder of a repository, pinned as raglab lock does it.
func fromHub(t *testing.T, store *assets.Store, model string, set func(*ONNXParams)) (Embedder, error) {
	t.Helper()
	kind := ONNX()
	p := kind.Params().(*ONNXParams)
	p.Model, p.Normalize = model, false
	if set != nil {
		set(p)
	}
	needs := kind.Needs(p)
	e, err := kind.New(p, axes.Env{Threads: 1, Asset: func(ctx context.Context, name string) (string, error) {
		if !slices.Contains(needs.Assets, name) {
			return "", fmt.Errorf("asset %s is not among the needs %q", name, needs.Assets)
		}
		if name == assets.ONNXRuntime().Name {
			return assetstest.Dir(t, name), nil
		}
		a, ok := assets.Find(name)
		if !ok {
			return "", fmt.Errorf("no asset %s", name)
		}
		pin, err := store.Pin(ctx, a, a.Wants())
		if err != nil {
			return "", err
		}
		if a, err = a.WithPin(pin); err != nil {
			return "", err
		}
		paths, err := store.Fetch(ctx, a, nil)
		return paths.Dir, err
	}})
	if err == nil {
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return e, err
}

// TestONNX_repositories has the files that sentence encoders come with: all of
// them, some, none.
func TestONNX_repositories(t *testing.T) {
	t.Parallel()
	graph := graphOf(t, hidden)
	with := func(more map[string]string) map[string]string {
		files := map[string]string{"onnx/model.onnx": graph, "tokenizer.json": tinyTokenizer, "README.md": "# not fetched"}
		for name, content := range more {
			if files[name] = content; content == "" {
				delete(files, name)
			}
		}
		return files
	}
	store := hub(t, map[string]map[string]string{
		"owner/plain": with(nil),
		"owner/whole": with(map[string]string{
			"config.json": `{"max_position_embeddings": 7}`, "sentence_bert_config.json": `{"max_seq_length": 5, "do_lower_case": false}`,
			"1_Pooling/config.json":             `{"pooling_mode_cls_token": false, "pooling_mode_mean_tokens": false, "pooling_mode_max_tokens": true}`,
			"config_sentence_transformers.json": `{"prompts": {"query": "c ", "document": "d d "}}`,
			"modules.json":                      `[{"type": "sentence_transformers.models.Transformer"}, {"type": "sentence_transformers.models.Pooling"}, {"type": "sentence_transformers.models.Normalize"}]`,
		}),
		"owner/multilingual-e5-tiny": with(map[string]string{
			"config_sentence_transformers.json": `{"prompts": {}}`,
			"tokenizer.json":                    strings.Replace(tinyTokenizer, `"d": 6`, `"d": 6, "query:": 7, "passage:": 8`, 1),
		}),
		"owner/last":      with(map[string]string{"1_Pooling/config.json": `{"pooling_mode": "lasttoken"}`}),
		"owner/cls":       with(map[string]string{"1_Pooling/config.json": `{"pooling_mode_cls_token": true}`}),
		"owner/quantized": with(map[string]string{"onnx/model.onnx": "", "onnx/model_quantized.onnx": graph, "onnx/model_quantized.onnx_data": "weights", "onnx/Constant_7_attr__value": "x"}),
	})
	tests := map[string]struct {
		set            func(*ONNXParams)
		query, passage []float32 // of "a b c d": ids 3 to 6, between 1 and 2
		truncated      int
	}{
		"owner/plain":                {query: []float32{3.5, 1}, passage: []float32{3.5, 1}},
		"owner/whole":                {query: []float32{5, 1}, passage: []float32{6, 1}, truncated: 1},
		"owner/last":                 {query: []float32{2, 1}, passage: []float32{2, 1}},
		"owner/cls@main":             {query: []float32{1, 1}, passage: []float32{1, 1}},
		"owner/quantized":            {set: func(p *ONNXParams) { p.Graph, p.Data = "onnx/model_quantized.onnx", []string{"Constant_7_attr__value"} }, query: []float32{3.5, 1}, passage: []float32{3.5, 1}},
		"owner/multilingual-e5-tiny": {query: []float32{28. / 7, 1}, passage: []float32{29. / 7, 1}},
	}
	for model, test := range tests {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			e, err := fromHub(t, store, model, test.set)
			if err != nil {
				t.Fatal(err)
			}
			q, err := e.EmbedQuery(t.Context(), "a b c d")
			if diff := cmp.Diff(test.query, q); err != nil || diff != "" {
				t.Error("query", diff, err)
			}
			p, stats, err := e.EmbedPassages(t.Context(), []string{"a b c d"}, nil)
			if diff := cmp.Diff([][]float32{test.passage}, p); err != nil || diff != "" {
				t.Error("passage", diff, err)
			}
			if stats.Truncated != test.truncated {
				t.Errorf("stats %+v", stats)
			}
		})
	}
}

func TestONNX_repositoriesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	graph := graphOf(t, hidden)
	store := hub(t, map[string]map[string]string{
		"owner/torch":    {"model.safetensors": "x", "tokenizer.json": tinyTokenizer},
		"owner/others":   {"onnx/model_O2.onnx": "x", "tokenizer.json": tinyTokenizer},
		"owner/nothing":  {"onnx/model.onnx": graph},
		"owner/weighted": {"onnx/model.onnx": graph, "tokenizer.json": tinyTokenizer, "1_Pooling/config.json": `{"pooling_mode_weightedmean_tokens": true}`},
		"owner/two":      {"onnx/model.onnx": graph, "tokenizer.json": tinyTokenizer, "1_Pooling/config.json": `{"pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": true}`},
		"owner/dense":    {"onnx/model.onnx": graph, "tokenizer.json": tinyTokenizer, "modules.json": `[{"type": "sentence_transformers.models.Transformer"}, {"type": "sentence_transformers.models.Dense"}]`},
		"owner/broken":   {"onnx/model.onnx": graph, "tokenizer.json": tinyTokenizer, "sentence_bert_config.json": `{`},
	})
	for model, problem := range map[string]string{
		"owner/torch":    "has no file onnx/model.onnx; a model without a graph in ONNX form can be exported into a folder, which the attribute folder then names: optimum-cli export onnx --model owner/torch FOLDER",
		"owner/others":   "has no file onnx/model.onnx; it has onnx/model_O2.onnx",
		"owner/nothing":  "has no file tokenizer.json",
		"owner/weighted": "pooling: the model pools by its weighted mean, which raglab does not",
		"owner/two":      "pooling: the model pools by its mean and max",
		"owner/dense":    "output: the model's vectors pass through a module Dense",
		"owner/broken":   "sentence_bert_config.json: unexpected end of JSON",
		"owner/missing":  "404 Not Found",
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			e, err := fromHub(t, store, model, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.EmbedQuery(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("error %v, expected %q", err, problem)
			}
		})
	}
}

func TestONNX_repositoryParameters(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*ONNXParams){
		"model":      func(p *ONNXParams) { p.Model = "bge-m3" },
		"graph":      func(p *ONNXParams) { p.Graph = "../model.onnx" },
		"data":       func(p *ONNXParams) { p.Data = []string{"onnx/x"} },
		"max_tokens": func(p *ONNXParams) { p.MaxTokens = 2 },
	}
	kind := ONNX()
	for attribute, set := range tests {
		p := kind.Params().(*ONNXParams)
		p.Model = "BAAI/bge-m3"
		set(p)
		_, err := kind.New(p, axes.Env{})
		if e, ok := errors.AsType[*param.Error](err); !ok || e.Attribute != attribute {
			t.Errorf("%s: error %v", attribute, err)
		}
		kind.Needs(p) // must not panic
	}
	p := kind.Params().(*ONNXParams)
	p.Model, p.Data = "BAAI/bge-m3", []string{"Constant_7_attr__value"}
	want := "hf:BAAI/bge-m3:onnx/Constant_7_attr__value,config.json?,config_sentence_transformers.json?,onnx/model.onnx,onnx/model.onnx_data?,modules.json?,pooling.json=1_Pooling/config.json?,sentence_bert_config.json?,tokenizer.json"
	if diff := cmp.Diff(want, kind.Needs(p).Assets[1]); diff != "" {
		t.Error(diff)
	}
}

// A folder says by its own files what model it holds, never by its name.
func TestONNX_folderOfAKnownFamily(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]prefixes{
		`{"_name_or_path": "intfloat/multilingual-e5-base"}`: {"query: ", "passage: "},
		`{"_name_or_path": "/tmp/x"}`:                        {},
	} {
		m, err := customFiles(customModel(t, hidden, map[string]string{"config.json": config}), "")
		if err != nil {
			t.Fatal(err)
		}
		if got := (prefixes{m.query, m.passage}); got != want {
			t.Errorf("%s: %+v", config, got)
		}
	}
}
