package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// billServer is a service in the shape of OpenAI's embeddings: a text's vector counts
// its words by a hash, its tokens are its words. It counts texts and refuses requests
// that lack the key, if there is one.
type billServer struct {
	mu    sync.Mutex
	texts []string
	after int // texts, after which requests are refused; 0 is never
	key   string
}

const billedDimensions = 16

func (s *billServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key != "" && r.Header.Get("Authorization") != "Bearer "+s.key {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error": {"message": "not with %s"}}`, r.Header.Get("Authorization"))
		return
	}
	var body struct{ Input []string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v1/embeddings" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if s.after > 0 && len(s.texts) >= s.after {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "no more today") // a client that is gone does not matter
		return
	}
	type entry struct {
		Index     int       `json:"index"`
		Embedding []float64 `json:"embedding"`
	}
	var data []entry
	tokens := 0
	for i, text := range body.Input {
		s.texts = append(s.texts, text)
		v := make([]float64, billedDimensions)
		v[0] = 0.1
		for _, word := range strings.Fields(strings.ToLower(text)) {
			h := fnv.New32a()
			_, _ = io.WriteString(h, word) // it never fails
			v[h.Sum32()%billedDimensions]++
			tokens++
		}
		data = append(data, entry{i, v})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": data, "usage": map[string]int{"prompt_tokens": tokens}})
}

// service starts and asks such a service:
//
//	service start     SERVICE is its address then
//	service key KEY   has it ask for a key
//	service after N   has it refuse what comes after N texts in all; 0 is never
//	service texts     prints how many texts it was given, and how many different ones
//	service once TEXT checks that it was given no text twice that begins so
func cmdService(ts *testscript.TestScript, args []string) {
	usage(ts, args, 1, "service start|key|after|texts|once")
	held := ts.Value(serversKey{}).(*servers)
	if args[0] == "start" {
		held.bill = &billServer{}
		server := httptest.NewServer(held.bill)
		ts.Defer(server.Close)
		ts.Setenv("SERVICE", server.URL+"/v1")
		return
	}
	s := held.bill
	s.mu.Lock()
	defer s.mu.Unlock()
	switch args[0] {
	case "key":
		s.key = args[1]
	case "after":
		_, err := fmt.Sscan(args[1], &s.after)
		ts.Check(err)
	case "texts":
		distinct := slices.Clone(s.texts)
		slices.Sort(distinct)
		distinct = slices.Compact(distinct)
		fmt.Fprintf(ts.Stdout(), "%d texts, %d distinct\n", len(s.texts), len(distinct))
	case "once":
		seen := map[string]bool{}
		for _, text := range s.texts {
			if strings.HasPrefix(text, args[1]) && seen[text] {
				ts.Fatalf("%q was given more than once", text)
			}
			seen[text] = true
		}
	default:
		ts.Fatalf("service does not know %s", args[0])
	}
}
