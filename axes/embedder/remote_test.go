package embedder

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/internal/param"
	"raglab/internal/web"
)

const testKey = "sk-SECRET-0123456789"

// asked is a request as a server got it.
type asked struct {
	path, key string
	body      map[string]any
}

func (a asked) texts(name string) []string {
	var out []string
	list, _ := a.body[name].([]any)
	for _, v := range list {
		out = append(out, v.(string))
	}
	return out
}

// testServer answers with a function and keeps the requests.
type testServer struct {
	*httptest.Server
	mu   sync.Mutex
	asks []asked
	// most is how many requests there were at once.
	now, most atomic.Int32
}

func newServer(t *testing.T, answer func(w http.ResponseWriter, a asked, n int)) *testServer {
	t.Helper()
	s := &testServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.most.Store(max(s.most.Load(), s.now.Add(1)))
		defer s.now.Add(-1)
		a := asked{path: r.Method + " " + r.URL.Path, key: r.Header.Get("Authorization")}
		if err := json.NewDecoder(r.Body).Decode(&a.body); err != nil {
			t.Errorf("the request is no JSON: %v", err)
		}
		s.mu.Lock()
		s.asks = append(s.asks, a)
		n := len(s.asks)
		s.mu.Unlock()
		answer(w, a, n)
	}))
	t.Cleanup(s.Close)
	return s
}

// lengthVector is a unit vector that tells a text's length.
func lengthVector(s string) []float64 {
	a := float64(len(s)) / 100
	return []float64{math.Cos(a), math.Sin(a)}
}

// openAIAnswer is what such a server gives, last text first; the vectors are scaled.
func openAIAnswer(texts []string, scale float64, base bool) string {
	var data []map[string]any
	tokens := 0
	for i, s := range texts {
		v := lengthVector(s)
		v[0], v[1] = v[0]*scale, v[1]*scale
		var e any = v
		if base {
			var raw []byte
			for _, x := range v {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(x)))
			}
			e = base64.StdEncoding.EncodeToString(raw)
		}
		data = append(data, map[string]any{"index": i, "embedding": e, "object": "embedding"})
		tokens += len(strings.Fields(s))
	}
	slices.Reverse(data)
	raw, err := json.Marshal(map[string]any{"object": "list", "data": data, "usage": map[string]int{"prompt_tokens": tokens, "total_tokens": tokens}})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// openAIAt makes an instance that asks a test's server, without waiting.
func openAIAt(t *testing.T, address string, set func(*OpenAIParams)) *remote {
	t.Helper()
	p := openAI.Params().(*OpenAIParams)
	p.URL, p.Model, p.KeyEnv = address, "test", "TEST_KEY"
	if set != nil {
		set(p)
	}
	e, err := openAI.New(p, axes.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return testRemote(e)
}

func testRemote(e Embedder) *remote {
	r := e.(*remote)
	nap := func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	r.getenv = func(string) string { return testKey }
	r.client = web.New(web.Config{Sleep: nap})
	r.gate.Sleep = nap
	return r
}

func TestOpenAI(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"float", "base64"} {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, func(w http.ResponseWriter, a asked, _ int) {
				fmt.Fprint(w, openAIAnswer(a.texts("input"), 3, a.body["encoding_format"] == "base64"))
			})
			e := openAIAt(t, s.URL+"/v1/", func(p *OpenAIParams) {
				p.Encoding, p.Batch, p.Dimensions, p.QueryPrefix, p.Price = encoding, 2, 2, "q: ", 0.02
			})
			var told []int
			texts := []string{"one", "two words", "and three words", "4", "a b c d e"}
			vectors, stats, err := e.EmbedPassages(t.Context(), texts, func(done int) { told = append(told, done) })
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range vectors {
				want := lengthVector(texts[i])
				if math.Abs(float64(v[0])-want[0]) > 1e-6 || math.Abs(float64(v[1])-want[1]) > 1e-6 {
					t.Errorf("%q has %v, want %v", texts[i], v, want)
				}
			}
			if diff := cmp.Diff(Stats{Texts: 5, Tokens: 12, Rescaled: 5}, stats); diff != "" {
				t.Error(diff)
			}
			if len(told) != 3 || told[2] != 5 {
				t.Errorf("told %v", told)
			}
			v, stats, err := e.EmbedQueryCounted(t.Context(), "who?")
			if err != nil || len(v) != 2 || stats.Tokens != 2 {
				t.Errorf("question: %v, %+v, %v", v, stats, err)
			}
			last := s.asks[len(s.asks)-1]
			want := map[string]any{"model": "test", "input": []any{"q: who?"}, "encoding_format": encoding, "dimensions": 2.}
			if diff := cmp.Diff(want, last.body); diff != "" || last.path != "POST /v1/embeddings" || last.key != "Bearer "+testKey {
				t.Errorf("asked %s with %q: %s", last.path, last.key, diff)
			}
			if usd, known := e.Price(); usd != 0.02 || !known {
				t.Errorf("price %v, %v", usd, known)
			}
		})
	}
}

// What an answer is not is an error that says so and does not show the key.
func TestOpenAI_badAnswers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status       int
		body, answer string
		set          func(*OpenAIParams)
	}{
		"too few":        {body: `{"data": [{"index": 0, "embedding": [1, 0]}]}`, answer: "the server gave 1 vectors for 2 texts"},
		"twice":          {body: `{"data": [{"index": 1, "embedding": [1]}, {"index": 1, "embedding": [1]}]}`, answer: "gives text 1 of 2 twice"},
		"null":           {body: `{"data": [{"index": 0, "embedding": [1, null]}, {"index": 1, "embedding": [1, 0]}]}`, answer: "the vector of text 0: number 1 is null"},
		"missing":        {body: `{"data": [{"index": 0}, {"index": 1, "embedding": [1, 0]}]}`, answer: "the vector of text 0"},
		"ragged":         {body: `{"data": [{"embedding": [1, 0]}, {"embedding": [1]}]}`, answer: "a vector of 1 numbers after one of 2"},
		"empty":          {body: `{"data": [{"embedding": []}, {"embedding": [1]}]}`, answer: "an empty vector for \"a\""},
		"too large":      {body: `{"data": [{"embedding": [1e39]}, {"embedding": [1]}]}`, answer: "not finite"},
		"zeros":          {body: `{"data": [{"embedding": [0, 0]}, {"embedding": [1, 0]}]}`, answer: "a vector of zeros"},
		"not base64":     {body: `{"data": [{"embedding": "AAA"}, {"embedding": [1, 0]}]}`, answer: "not the base64 form"},
		"another API":    {body: `{"error": "no such route"}`, answer: `has no list "data"`},
		"no JSON":        {body: `<html>`, answer: "read the answer"},
		"dimensions":     {body: `{"data": [{"embedding": [1, 0]}, {"embedding": [1, 0]}]}`, set: func(p *OpenAIParams) { p.Dimensions = 3 }, answer: "dimensions: 3 were asked for and the server gave 2"},
		"refused":        {status: 400, body: `{"error": {"message": "maximum context length is 8192 tokens, ` + testKey + `"}}`, answer: "maximum context length is 8192 tokens, ***"},
		"not authorised": {status: 401, body: "Incorrect API key provided: " + testKey, answer: "401 Unauthorized"},
		"overloaded":     {status: 503, answer: "tried 5 times"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, func(w http.ResponseWriter, _ asked, _ int) {
				if test.status != 0 {
					w.WriteHeader(test.status)
				}
				fmt.Fprint(w, test.body)
			})
			_, _, err := openAIAt(t, s.URL, test.set).EmbedPassages(t.Context(), []string{"a", "b"}, nil)
			if err == nil || !strings.Contains(err.Error(), test.answer) {
				t.Errorf("error %v, want %q", err, test.answer)
			}
			if err != nil && strings.Contains(err.Error(), "SECRET") {
				t.Errorf("the key shows in %v", err)
			}
		})
	}
}

func TestOpenAI_retriesAsLateAsTheServerSays(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(w http.ResponseWriter, a asked, n int) {
		switch n {
		case 1:
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			w.Header().Set("x-ratelimit-reset-tokens", "1m30s")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			w.Header().Set("x-ratelimit-remaining-tokens", "0")
			w.Header().Set("x-ratelimit-reset-tokens", "20ms")
			w.Header().Set("x-ratelimit-remaining-requests", "12")
			fmt.Fprint(w, openAIAnswer(a.texts("input"), 1, false))
		}
	})
	e := openAIAt(t, s.URL, func(p *OpenAIParams) { p.PerMinute = 60 })
	var waits []time.Duration
	e.client = web.New(web.Config{Sleep: func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	}})
	clock := time.Unix(1_700_000_000, 0)
	e.gate.Now = func() time.Time { return clock }
	e.gate.Sleep = func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		clock = clock.Add(d)
		return nil
	}
	for range 2 {
		if _, err := e.EmbedQuery(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	// As Retry-After says, as the other header says, and then for the pace of one
	// request a second, which is longer than the limit's.
	if diff := cmp.Diff([]time.Duration{7 * time.Second, 90 * time.Second, time.Second}, waits); diff != "" {
		t.Error(diff)
	}
}

// What was embedded before an error is given back with it.
func TestOpenAI_keepsWhatCameBeforeAnError(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(w http.ResponseWriter, a asked, _ int) {
		if slices.Contains(a.texts("input"), "bad") {
			http.Error(w, "cannot", http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, openAIAnswer(a.texts("input"), 1, false))
	})
	e := openAIAt(t, s.URL, func(p *OpenAIParams) { p.Batch, p.Concurrency = 1, 1 })
	vectors, stats, err := e.EmbedPassages(t.Context(), []string{"a", "b", "bad", "c"}, nil)
	if !web.HasStatus(err, http.StatusBadRequest) {
		t.Errorf("error %v", err)
	}
	if len(vectors) != 4 || vectors[0] == nil || vectors[1] == nil || vectors[2] != nil || stats.Texts != 2 || stats.Tokens != 2 {
		t.Errorf("vectors %v, %+v", vectors, stats)
	}
}

func TestOpenAI_concurrencyAndCancel(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(w http.ResponseWriter, a asked, _ int) { fmt.Fprint(w, openAIAnswer(a.texts("input"), 1, false)) })
	e := openAIAt(t, s.URL, func(p *OpenAIParams) { p.Batch, p.Concurrency = 1, 3 })
	texts := strings.Fields(strings.Repeat("a ", 60))
	if _, _, err := e.EmbedPassages(t.Context(), texts, nil); err != nil || s.most.Load() > 3 {
		t.Errorf("%d requests at once, %v", s.most.Load(), err)
	}
	stop := errors.New("stopped by the user")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, stats, err := e.EmbedPassages(ctx, texts, func(done int) {
		if done == 5 {
			cancel(stop)
		}
	})
	if !errors.Is(err, stop) || stats.Texts < 5 || stats.Texts > 10 {
		t.Errorf("error %v after %d texts", err, stats.Texts)
	}
}

func TestOpenAI_parameters(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*OpenAIParams){
		"url":   func(p *OpenAIParams) { p.URL = "localhost:8080" },
		"model": func(p *OpenAIParams) { p.Model = "" },
		"price": func(p *OpenAIParams) { p.Price = -0.5 },
	}
	for attribute, set := range tests {
		p := openAI.Params().(*OpenAIParams)
		set(p)
		_, err := openAI.New(p, axes.Env{})
		if e, ok := errors.AsType[*param.Error](err); !ok || e.Attribute != attribute {
			t.Errorf("%s: error %v", attribute, err)
		}
	}
	for address, problem := range map[string]string{
		"https://user:SECRET@host/v1":  "must hold no user, password or query",
		"https://host/v1?key=SECRET":   "must hold no user, password or query",
		"http://example.com/v1":        "a key is not sent over plain http",
		"ftp://example.com/embeddings": "expected an address",
	} {
		p := openAI.Params().(*OpenAIParams)
		p.URL, p.KeyEnv = address, "K"
		_, err := openAI.New(p, axes.Env{})
		if err == nil || !strings.Contains(err.Error(), problem) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: error %v", address, err)
		}
		if s := openAI.Needs(p).Services; len(s) != 1 || strings.Contains(s[0], "user:") {
			t.Errorf("%s: services %q", address, s)
		}
	}
	e := openAIAt(t, "https://example.com", nil)
	e.getenv = func(string) string { return "" }
	if _, err := e.EmbedQuery(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "the environment variable TEST_KEY is not set") {
		t.Errorf("error %v", err)
	}
}

// The key of another address is not sent unless the user names it.
func TestOpenAI_autoKey(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://api.openai.com/v1": "OPENAI_API_KEY", "https://api.openai.com.example.com/v1": "", "http://localhost:11434/v1": "",
	} {
		p := openAI.Params().(*OpenAIParams)
		p.URL = address
		e, err := openAI.New(p, axes.Env{})
		if err != nil {
			t.Fatal(err)
		}
		if got := e.(*remote).keyEnv; got != want {
			t.Errorf("%s: key of %q, want %q", address, got, want)
		}
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ address, server, want string }{
		{"https://api.openai.com/v1/", "", "api.openai.com/v1"},
		{"http://localhost:8081", "https://old.example/v1", "old.example/v1"},
		{"http://localhost:8081", "bge on the big machine", "bge on the big machine"},
	} {
		if got := identity(test.address, test.server); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

func TestRemote_cutsAndCounts(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(w http.ResponseWriter, a asked, _ int) { fmt.Fprint(w, rows(a.texts("texts"))) })
	e := httpAt(t, s.URL, "plain", func(p *HTTPParams) { p.MaxCharacters, p.PassagePrefix = 5, "p:" })
	_, stats, err := e.EmbedPassages(t.Context(), []string{"їжак", "ok", "abc"}, nil)
	if err != nil || stats.Truncated != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
	if diff := cmp.Diff([]string{"p:їжа", "p:ok", "p:abc"}, s.asks[0].texts("texts")); diff != "" {
		t.Error(diff)
	}
	counted, err := e.CountPassages([]string{"їжак", "ok", "abc"})
	if diff := cmp.Diff(stats, counted); diff != "" || err != nil || !counted.Estimated {
		t.Error(diff, err)
	}
}

// Batches hold every text once, in order, within both limits; no text of a batch
// would have fitted into the one before.
func TestRemote_batches(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := remote{service: service{
			batch: rapid.IntRange(1, 9).Draw(t, "batch"), batchTokens: rapid.IntRange(1, 40).Draw(t, "tokens"),
		}}
		input := rapid.SliceOf(rapid.StringN(0, 30, -1)).Draw(t, "input")
		at := 0
		for _, b := range r.batches(input) {
			if b.from != at || b.to <= b.from || b.to-b.from > r.batch {
				t.Fatalf("batch %+v at %d", b, at)
			}
			if n := estimate(input[b.from:b.to]); n > r.batchTokens && b.to-b.from > 1 {
				t.Fatalf("a batch of %d tokens", n)
			}
			if b.to < len(input) && b.to-b.from < r.batch && estimate(input[b.from:b.to+1]) <= r.batchTokens {
				t.Fatalf("batch %+v ends early", b)
			}
			at = b.to
		}
		if at != len(input) {
			t.Fatalf("%d of %d texts", at, len(input))
		}
	})
}

func TestPrefixesOf(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]prefixes{
		"intfloat/multilingual-e5-base":                               {"query: ", "passage: "},
		"multilingual-e5-small":                                       {"query: ", "passage: "},
		"intfloat/e5-base-v2@main":                                    {"query: ", "passage: "},
		"intfloat/multilingual-e5-large-instruct":                     families[0].prefixes,
		"BAAI/bge-small-en-v1.5":                                      {searching, ""},
		"BAAI/bge-m3":                                                 {},
		"nomic-embed-text:latest":                                     {"search_query: ", "search_document: "},
		"sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2": {},
		"text-embedding-3-small":                                      {},
	} {
		if got := prefixesOf(model); got != want {
			t.Errorf("%s: %+v", model, got)
		}
	}
}

func FuzzReadAnswer(f *testing.F) {
	for _, s := range []string{openAIAnswer([]string{"a", "b c"}, 1, false), openAIAnswer([]string{"a"}, 2, true), rows([]string{"a"}), `{"embeddings": {"float": [[1]]}}`, `{"data": [{"index": 9}]}`, `[[null]]`, `{`} {
		f.Add([]byte(s))
	}
	shapes := []shape{openAIShape{}, teiShape{}, cohereShape{}, plainShape{}}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, s := range shapes {
			r, err := s.read(web.Answer{Body: body, Header: http.Header{}})
			if err == nil && r.tokens >= 0 && slices.ContainsFunc(r.vectors, func(v []float32) bool { return v == nil }) {
				t.Errorf("%T gives no vector and no error for %q", s, body)
			}
		}
	})
}
