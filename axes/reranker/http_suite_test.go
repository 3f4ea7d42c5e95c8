package reranker_test

import (
	"encoding/json"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"raglab/axes/axestest"
	"raglab/axes/reranker"
)

func TestHTTP(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Texts []string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		type entry struct {
			Index int     `json:"index"`
			Score float64 `json:"score"`
		}
		out := make([]entry, len(body.Texts))
		for i, text := range body.Texts {
			h := fnv.New32a()
			_, _ = io.WriteString(h, text) // it never fails
			out[i] = entry{i, float64(h.Sum32()%64)/4 - 8}
		}
		if err := json.NewEncoder(w).Encode(out); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	axestest.RunReranker(t, axestest.Reranker{
		Kind: kind(t, "http"), Golden: map[string]string{"1": "2025925298579877"},
		Set: func(p any) {
			h := p.(*reranker.HTTPParams)
			h.URL, h.Depth, h.Batch = server.URL, 20, 7
		},
	})
}
