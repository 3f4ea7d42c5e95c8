package embedder

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"raglab/axes"
)

func httpAt(t *testing.T, address, api string, set func(*HTTPParams)) *remote {
	t.Helper()
	p := overHTTP.Params().(*HTTPParams)
	p.URL, p.API, p.Model = address, api, "BAAI/bge-small-en-v1.5"
	if set != nil {
		set(p)
	}
	e, err := overHTTP.New(p, axes.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return testRemote(e)
}

// rows is a list of vectors as JSON.
func rows(texts []string) string {
	var all [][]float64
	for _, s := range texts {
		all = append(all, lengthVector(s))
	}
	raw, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		api    string
		set    func(*HTTPParams)
		answer func(w http.ResponseWriter, a asked)
		path   string
		body   map[string]any // of the question "who?"
		tokens int
		guess  bool
	}{
		"tei": {
			api: "tei", path: "POST /embed", tokens: 9,
			answer: func(w http.ResponseWriter, a asked) {
				w.Header().Set("x-compute-tokens", "9")
				fmt.Fprint(w, rows(a.texts("inputs")))
			},
			body: map[string]any{"inputs": []any{searching + "who?"}, "normalize": true, "truncate": true},
		},
		"cohere": {
			api: "cohere", path: "POST /v2/embed", tokens: 3,
			set: func(p *HTTPParams) { p.Model, p.Dimensions, p.Truncate = "embed-v4.0", 2, false },
			answer: func(w http.ResponseWriter, a asked) {
				fmt.Fprintf(w, `{"embeddings": {"float": %s}, "meta": {"billed_units": {"input_tokens": 3}}}`, rows(a.texts("texts")))
			},
			body: map[string]any{
				"model": "embed-v4.0", "texts": []any{"who?"}, "embedding_types": []any{"float"}, "input_type": "search_query",
				"truncate": "NONE", "output_dimension": 2.,
			},
		},
		"plain": {
			api: "plain", path: "POST /my/model", tokens: 16, guess: true,
			answer: func(w http.ResponseWriter, a asked) { fmt.Fprint(w, rows(a.texts("texts"))) },
			body:   map[string]any{"model": "BAAI/bge-small-en-v1.5", "role": "query", "texts": []any{searching + "who?"}},
		},
		"plain with tokens": {
			api: "plain", path: "POST /my/model", tokens: 2, set: func(p *HTTPParams) { p.QueryPrefix = "" },
			answer: func(w http.ResponseWriter, a asked) {
				fmt.Fprintf(w, `{"embeddings": %s, "tokens": 2}`, rows(a.texts("texts")))
			},
			body: map[string]any{"model": "BAAI/bge-small-en-v1.5", "role": "query", "texts": []any{"who?"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, func(w http.ResponseWriter, a asked, _ int) { test.answer(w, a) })
			address := s.URL
			if test.api == "plain" {
				address += "/my/model"
			}
			e := httpAt(t, address, test.api, test.set)
			_, stats, err := e.EmbedQueryCounted(t.Context(), "who?")
			if err != nil || stats.Tokens != test.tokens || stats.Estimated != test.guess || stats.Rescaled != 0 {
				t.Errorf("%+v, %v", stats, err)
			}
			if diff := cmp.Diff(test.body, s.asks[0].body); diff != "" || s.asks[0].path != test.path || s.asks[0].key != "" {
				t.Errorf("asked %s with %q: %s", s.asks[0].path, s.asks[0].key, diff)
			}
			vectors, _, err := e.EmbedPassages(t.Context(), []string{"passage"}, nil)
			if want := lengthVector("passage"); err != nil || math.Abs(float64(vectors[0][0])-want[0]) > 1e-6 {
				t.Errorf("vectors %v, %v", vectors, err)
			}
		})
	}
}

func TestHTTP_notNormalized(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(w http.ResponseWriter, _ asked, _ int) { fmt.Fprint(w, `[[3, 4]]`) })
	e := httpAt(t, s.URL, "tei", func(p *HTTPParams) { p.Normalize = false })
	v, stats, err := e.EmbedQueryCounted(t.Context(), "a")
	if diff := cmp.Diff([]float32{3, 4}, v); diff != "" || err != nil || stats.Rescaled != 0 {
		t.Error(diff, err, stats)
	}
}
