package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"raglab/internal/assets"
	"raglab/internal/onnx/onnxtest"
)

// runtimeFolder is the folder of the ONNX Runtime among the user's own assets, which
// is fetched the first time.
var runtimeFolder = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	store := assets.New(assets.Config{Dir: filepath.Join(cache, "raglab", "assets")})
	paths, err := store.Fetch(context.Background(), assets.ONNXRuntime(), nil)
	return paths.Dir, err
})

// onnxCondition tells whether models can be run, which continuous integration
// insists on.
func onnxCondition() (bool, error) {
	_, err := runtimeFolder()
	if err != nil && os.Getenv("CI") != "" {
		return false, err
	}
	return err == nil, nil
}

// standin DIR FILE… writes a cross-encoder made by rule for the texts of files, and
// has raglab find the ONNX Runtime.
func cmdStandin(ts *testscript.TestScript, args []string) {
	usage(ts, args, 2, "standin DIR FILE…")
	var texts []string
	for _, pattern := range args[1:] {
		names, err := filepath.Glob(ts.MkAbs(pattern))
		ts.Check(err)
		for _, name := range names {
			texts = append(texts, ts.ReadFile(name))
		}
	}
	ts.Check(onnxtest.WriteOverlap(ts.MkAbs(args[0]), texts))
	dir, err := runtimeFolder()
	ts.Check(err)
	ts.Setenv("RAGLAB_ASSET_ONNXRUNTIME", dir)
}

// rankServer is a server in the shape of Text Embeddings Inference that scores a
// passage by a hash of the pair. It counts the pairs, and refuses requests that lack
// the key, if there is one.
type rankServer struct {
	mu    sync.Mutex
	pairs []string
	busy  int // requests to answer with 503 first
	key   string
}

func (s *rankServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy > 0 {
		s.busy--
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if s.key != "" && r.Header.Get("Authorization") != "Bearer "+s.key {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, "not with %s", r.Header.Get("Authorization"))
		return
	}
	var body struct {
		Query string
		Texts []string
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	type entry struct {
		Index int     `json:"index"`
		Score float64 `json:"score"`
	}
	var out []entry
	for i, text := range body.Texts {
		s.pairs = append(s.pairs, body.Query+"\x00"+text)
		h := fnv.New32a()
		_, _ = io.WriteString(h, body.Query+text) // it never fails
		out = append(out, entry{i, float64(h.Sum32() % 1000)})
	}
	slices.Reverse(out)
	_ = json.NewEncoder(w).Encode(out) // a client that is gone does not matter
}

// reranker starts and asks such a server:
//
//	reranker start    RERANKER is its address then
//	reranker key KEY  has it ask for a key
//	reranker busy N   has it answer the next requests with 503
//	reranker pairs    prints how many pairs it scored, and how many of them twice
func cmdReranker(ts *testscript.TestScript, args []string) {
	usage(ts, args, 1, "reranker start|key|busy|pairs")
	held := ts.Value(serversKey{}).(*servers)
	if args[0] == "start" {
		held.rank = &rankServer{}
		server := httptest.NewServer(held.rank)
		ts.Defer(server.Close)
		ts.Setenv("RERANKER", server.URL)
		return
	}
	s := held.rank
	s.mu.Lock()
	defer s.mu.Unlock()
	switch args[0] {
	case "key":
		s.key = args[1]
	case "busy":
		_, err := fmt.Sscan(args[1], &s.busy)
		ts.Check(err)
	case "pairs":
		distinct := slices.Clone(s.pairs)
		slices.Sort(distinct)
		distinct = slices.Compact(distinct)
		fmt.Fprintf(ts.Stdout(), "%d pairs, %d of them twice\n", len(s.pairs), len(s.pairs)-len(distinct))
	default:
		ts.Check(errors.New("reranker does not know " + args[0]))
	}
}
