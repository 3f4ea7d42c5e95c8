package reranker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"raglab/axes"
	"raglab/internal/param"
	"raglab/internal/web"
)

// standIn is a server that scores a text by a hash of it. It notes its requests.
type standIn struct {
	t  *testing.T
	mu sync.Mutex
	// asked are the requests' bodies, header their headers.
	asked  []map[string]any
	header []http.Header
	// answer, when set, makes the answer of the request with that number, from 0.
	answer func(n int, w http.ResponseWriter) bool
}

func textScore(text string) float64 {
	h := fnv.New32a()
	_, _ = io.WriteString(h, text) // it never fails
	return float64(h.Sum32()%1000)/100 - 5
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		s.t.Error(err)
	}
	n := len(s.asked)
	s.asked, s.header = append(s.asked, body), append(s.header, r.Header.Clone())
	if s.answer != nil && s.answer(n, w) {
		return
	}
	list, field := "texts", "score"
	if r.URL.Path == "/v2/rerank" {
		list, field = "documents", "relevance_score"
	}
	var out []map[string]any
	for i, text := range body[list].([]any) {
		out = append(out, map[string]any{"index": i, field: textScore(text.(string))})
	}
	slices.Reverse(out) // servers answer best first, in any case not in order
	var answer any = out
	if list == "documents" {
		answer = map[string]any{"results": out, "meta": map[string]any{"billed_units": map[string]any{"search_units": 1}}}
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		s.t.Error(err)
	}
}

// asking makes a reranker that asks a stand-in, with waits that pass at once and are
// noted.
func asking(t *testing.T, s *standIn, set func(p *HTTPParams)) (*remote, *[]time.Duration) {
	t.Helper()
	s.t = t
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	p := overHTTP.Params().(*HTTPParams)
	p.URL = server.URL
	if set != nil {
		set(p)
	}
	made, err := overHTTP.New(p, axes.Env{Version: "1.2"})
	if err != nil {
		t.Fatal(err)
	}
	var waits []time.Duration
	r := made.(*remote)
	r.client = web.New(web.Config{Sleep: func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	}})
	return r, &waits
}

func texts(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint("text ", i)
	}
	return out
}

func TestHTTP_shapes(t *testing.T) {
	t.Setenv("RERANK_TEST_KEY", "k-1234567")
	for name, set := range map[string]func(p *HTTPParams){
		"tei":    func(p *HTTPParams) { p.API = "tei" },
		"cohere": func(p *HTTPParams) { p.API, p.Model, p.KeyEnv = "cohere", "rerank-x", "RERANK_TEST_KEY" },
	} {
		t.Run(name, func(t *testing.T) {
			s := &standIn{}
			r, _ := asking(t, s, func(p *HTTPParams) { set(p); p.Batch = 3; p.Price = 2 })
			passages := texts(7)
			pairs, err := r.ScorePairs(t.Context(), "the question", passages)
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range pairs {
				if want := float32(textScore(passages[i])); p.Raw != want || p.Took <= 0 {
					t.Errorf("passage %d: %+v, want %v", i, p, want)
				}
			}
			if len(s.asked) != 3 {
				t.Fatalf("%d requests for 7 passages in batches of 3", len(s.asked))
			}
			var searches float64
			for _, p := range pairs {
				searches += p.Searches
			}
			if usd, known := r.USD(searches, 0); !known || math.Abs(usd-3*2.0/1000) > 1e-12 {
				t.Errorf("%v USD, %v; want three searches at 2 USD for 1,000", usd, known)
			}
			body := s.asked[0]
			if name == "tei" {
				if body["query"] != "the question" || body["raw_scores"] != true || body["truncate"] != true || len(body["texts"].([]any)) != 3 || s.header[0].Get("Authorization") != "" {
					t.Errorf("asked %v with %v", body, s.header[0])
				}
				return
			}
			if body["query"] != "the question" || body["model"] != "rerank-x" || body["top_n"] != 3.0 || len(body["documents"].([]any)) != 3 ||
				s.header[0].Get("Authorization") != "Bearer k-1234567" {
				t.Errorf("asked %v with %v", body, s.header[0])
			}
		})
	}
}

// What passes is tried again, as late as the server asks; what does not, is not.
func TestHTTP_errors(t *testing.T) {
	t.Setenv("RERANK_TEST_KEY", "k-1234567")
	status := func(code int, header ...string) func(w http.ResponseWriter) bool {
		return func(w http.ResponseWriter) bool {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			fmt.Fprint(w, `{"error": "no, k-1234567 may not"}`)
			return true
		}
	}
	body := func(text string) func(w http.ResponseWriter) bool {
		return func(w http.ResponseWriter) bool { fmt.Fprint(w, text); return true }
	}
	tests := map[string]struct {
		first   func(w http.ResponseWriter) bool
		always  bool
		waits   []time.Duration
		problem string
	}{
		"too many requests":  {first: status(429, "Retry-After", "7"), waits: []time.Duration{7 * time.Second}},
		"server error":       {first: status(503), waits: []time.Duration{time.Second}},
		"always overloaded":  {first: status(429), always: true, waits: []time.Duration{1e9, 2e9, 4e9, 8e9}, problem: "(tried 5 times)"},
		"not allowed":        {first: status(401), problem: "401 Unauthorized: {\"error\": \"no, *** may not\"}"},
		"too large":          {first: status(413), problem: "413"},
		"too few":            {first: body(`[{"index": 0, "score": 1}]`), problem: "1 scores for 2 passages"},
		"twice":              {first: body(`[{"index": 1, "score": 1}, {"index": 1, "score": 2}]`), problem: "passage 1 two scores"},
		"outside":            {first: body(`[{"index": 0, "score": 1}, {"index": 2, "score": 2}]`), problem: "a score for no passage: expected indexes from 0 to 1"},
		"no index":           {first: body(`[{"index": 0, "score": 1}, {"score": 2}]`), problem: "a score for no passage"},
		"no score":           {first: body(`[{"index": 0, "score": 1}, {"index": 1, "score": null}]`), problem: "passage 1 no score"},
		"the other's shape":  {first: body(`[{"index": 0, "relevance_score": 1}, {"index": 1, "relevance_score": 1}]`), problem: "no score"},
		"not a number":       {first: body(`[{"index": 0, "score": NaN}, {"index": 1, "score": 1}]`), problem: "read http"},
		"larger than floats": {first: body(`[{"index": 0, "score": 1e300}, {"index": 1, "score": 1}]`), problem: "the score 1e+300, which is no 32-bit number"},
		"no JSON":            {first: body(`<html>`), problem: "read http"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := &standIn{answer: func(n int, w http.ResponseWriter) bool { return (n == 0 || test.always) && test.first(w) }}
			r, waits := asking(t, s, func(p *HTTPParams) { p.KeyEnv = "RERANK_TEST_KEY" })
			pairs, err := r.ScorePairs(t.Context(), "q", texts(2))
			if test.problem == "" && (err != nil || len(pairs) != 2) || test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)) {
				t.Errorf("error %v, want %q", err, test.problem)
			}
			if err != nil && strings.Contains(err.Error(), "k-1234567") {
				t.Errorf("the error tells the key: %v", err)
			}
			if !slices.Equal(*waits, test.waits) {
				t.Errorf("waits %v, want %v", *waits, test.waits)
			}
			if err != nil && web.IsTemporary(err) != test.always {
				t.Errorf("temporary is %v", web.IsTemporary(err))
			}
		})
	}
}

func TestHTTP_parameters(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set       func(p *HTTPParams)
		attribute string
	}{
		"no scheme":     {func(p *HTTPParams) { p.URL = "localhost:8080" }, "url"},
		"password":      {func(p *HTTPParams) { p.URL = "https://u:secret-word@host" }, "url"},
		"query":         {func(p *HTTPParams) { p.URL = "https://host/?key=secret-word" }, "url"},
		"key in clear":  {func(p *HTTPParams) { p.URL, p.KeyEnv = "http://host", "KEY" }, "url"},
		"cohere, which": {func(p *HTTPParams) { p.API = "cohere" }, "model"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := overHTTP.Params().(*HTTPParams)
			p.URL = "http://localhost:8080"
			test.set(p)
			_, err := overHTTP.New(p, axes.Env{})
			if e, ok := errors.AsType[*param.Error](err); !ok || e.Attribute != test.attribute || strings.Contains(err.Error(), "secret-word") {
				t.Errorf("error %v, want one of %s", err, test.attribute)
			}
		})
	}
	p := overHTTP.Params().(*HTTPParams)
	p.URL, p.KeyEnv = "http://localhost:8080", "RERANK_TEST_UNSET"
	r, err := overHTTP.New(p, axes.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.(*remote).ScorePairs(t.Context(), "q", texts(1)); err == nil || !strings.Contains(err.Error(), "key_env: the environment variable RERANK_TEST_UNSET is not set") {
		t.Errorf("error %v", err)
	}
	if got := overHTTP.Needs(p).Services; !slices.Equal(got, []string{"localhost:8080"}) {
		t.Errorf("services %v", got)
	}
	for _, f := range param.MustFields(p) {
		if secret := f.Name == "key_env" || f.Name == "url"; secret && f.InKey {
			t.Errorf("%s is in keys", f.Name)
		}
	}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ url, api, want string }{
		{"http://h:1", "tei", "http://h:1/rerank"},
		{"http://h:1/", "tei", "http://h:1/rerank"},
		{"https://api.example.org", "cohere", "https://api.example.org/v2/rerank"},
		{"https://api.example.org/v1/rerank", "cohere", "https://api.example.org/v1/rerank"},
	} {
		if got := endpoint(HTTPParams{URL: tt.url, API: tt.api}); got != tt.want {
			t.Errorf("%+v: got %s", tt, got)
		}
	}
}

func TestBill(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pairs    int
		searches float64
		tokens   int
		want     float64
	}{{1, 0, 0, 1}, {100, 0, 10, 1}, {101, 0, 207, 2}, {40, 3, 41, 3}} {
		pairs := make([]Pair, tt.pairs)
		bill(pairs, tt.searches, tt.tokens)
		var searches float64
		tokens := 0
		for _, p := range pairs {
			searches += p.Searches
			tokens += p.Tokens
		}
		if math.Abs(searches-tt.want) > 1e-9 || tokens != tt.tokens {
			t.Errorf("%+v: %v searches, %d tokens", tt, searches, tokens)
		}
	}
	r := &remote{params: HTTPParams{Batch: 150}}
	if searches, tokens := r.Expect("12345678", []string{"1234", "12345", ""}); searches != 1 || tokens != 3+4+2 {
		t.Errorf("expected %v searches, %d tokens", searches, tokens)
	}
	if searches, _ := r.Expect("q", texts(301)); searches != 2+2+1 {
		t.Errorf("expected %v searches of 301 passages, 150 in a request, 100 in a search", searches)
	}
}
