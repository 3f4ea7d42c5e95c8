package embedder

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"raglab/axes"
	"raglab/internal/param"
	"raglab/internal/web"
)

// service is what the kinds that ask a server have in common.
type service struct {
	url string
	// ending is what the address ends in, and added, where it is another, what is
	// added to one that does not.
	ending, added          string
	keyEnv                 string
	model                  string // for the prefixes that are auto
	query, passage         string // prefixes
	normalize              bool
	dimensions             int // 0 when any will do
	maxCharacters          int
	batch, batchTokens     int
	concurrency, perMinute int
	timeout                int // seconds
	price                  float64
}

// role is what texts are to be compared as.
type role string

const (
	asPassage role = "passage"
	asQuery   role = "query"
)

// shape is the shape of a server's requests and answers.
type shape interface {
	request(address string, header http.Header, texts []string, r role) web.Request
	// read takes an answer apart without judging it.
	read(a web.Answer) (reply, error)
}

// reply is what a server answers: a vector for each text, in order, and how many
// tokens these were, 0 when it does not say.
type reply struct {
	vectors [][]float32
	tokens  int
}

// remote is the instance of the kinds that ask a server.
type remote struct {
	service
	shape  shape
	client *web.Client
	getenv func(string) string
	slots  chan struct{} // one for each request at once
	gate   gate

	mu        sync.Mutex
	dimension int // of the first vector
}

func newRemote(s service, how shape, env axes.Env) (*remote, error) {
	u, err := url.Parse(s.url)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, param.Errorf("url", "expected an address such as http://localhost:8080")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, param.Errorf("url", "must hold no user, password or query: a key is given by key_env, the name of an environment variable")
	case s.keyEnv != "" && web.Secure(s.url) != nil:
		return nil, param.Errorf("url", "a key is not sent over plain http: expected an https address")
	case s.price < 0 && s.price != -1:
		return nil, param.Errorf("price", "%v is neither -1 nor at least 0", s.price)
	}
	known := prefixesOf(s.model)
	if s.query == auto {
		s.query = known.query
	}
	if s.passage == auto {
		s.passage = known.passage
	}
	s.url = address(s)
	r := &remote{service: s, shape: how, getenv: os.Getenv, slots: make(chan struct{}, s.concurrency)}
	r.client = web.New(web.Config{UserAgent: web.Agent(env.Version, ""), StallAfter: time.Duration(s.timeout) * time.Second})
	r.gate = gate{web.NewPace(s.perMinute)}
	return r, nil
}

// identity is what keys call a server: what the user calls it, or its address
// without scheme.
func identity(address, server string) string {
	if server == "" {
		server = address
	}
	if _, rest, ok := strings.Cut(server, "://"); ok {
		server = rest
	}
	if _, rest, ok := strings.Cut(server, "@"); ok {
		server = rest // a password, which is refused elsewhere
	}
	return strings.TrimRight(server, "/")
}

// address is where requests go.
func address(s service) string {
	base := strings.TrimRight(s.url, "/")
	switch {
	case s.ending == "":
		return s.url
	case strings.HasSuffix(base, s.ending):
		return base
	case s.added != "":
		return base + s.added
	}
	return base + s.ending
}

// EmbedPassages implements [Embedder].
func (r *remote) EmbedPassages(ctx context.Context, texts []string, progress func(done int)) ([][]float32, Stats, error) {
	input, truncated := r.input(r.passage, texts)
	var mu sync.Mutex
	vectors, stats, done := make([][]float32, len(texts)), Stats{}, 0
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.concurrency)
	for _, b := range r.batches(input) {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			made, given, err := r.ask(ctx, input[b.from:b.to], asPassage)
			if err != nil {
				return fmt.Errorf("embed %d texts: %w", b.to-b.from, err)
			}
			mu.Lock()
			defer mu.Unlock()
			copy(vectors[b.from:b.to], made)
			stats, done = stats.add(given), done+b.to-b.from
			if progress != nil {
				progress(done)
			}
			return nil
		})
	}
	err := group.Wait()
	stats.Truncated = truncated
	return vectors, stats, err
}

// EmbedQuery implements [Embedder].
func (r *remote) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	v, _, err := r.EmbedQueryCounted(ctx, text)
	return v, err
}

// EmbedQueryCounted implements [QueryCounter].
func (r *remote) EmbedQueryCounted(ctx context.Context, text string) ([]float32, Stats, error) {
	input, truncated := r.input(r.query, []string{text})
	vectors, stats, err := r.ask(ctx, input, asQuery)
	if err != nil {
		return nil, stats, fmt.Errorf("embed %s: %w", quote(text), err)
	}
	stats.Truncated = truncated
	return vectors[0], stats, nil
}

// CountPassages implements [TokenCounter] by an estimate.
func (r *remote) CountPassages(texts []string) (Stats, error) {
	input, truncated := r.input(r.passage, texts)
	return Stats{Texts: len(texts), Tokens: estimate(input), Estimated: true, Truncated: truncated}, nil
}

// Price implements [Priced].
func (r *remote) Price() (usd float64, known bool) { return max(0, r.price), r.price >= 0 }

// Close implements [Embedder].
func (r *remote) Close() error { return nil }

// input is what is sent of texts: with the prefix, cut if need be.
func (r *remote) input(prefix string, texts []string) (input []string, truncated int) {
	input = make([]string, len(texts))
	for i, s := range texts {
		s = prefix + s
		if r.maxCharacters > 0 && len(s) > r.maxCharacters {
			if short := firstRunes(s, r.maxCharacters); len(short) < len(s) {
				s = short
				truncated++
			}
		}
		input[i] = s
	}
	return input, truncated
}

// firstRunes returns the first n characters of s.
func firstRunes(s string, n int) string {
	at := 0
	for ; n > 0 && at < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return s[:at]
}

// estimate reckons the tokens of texts. Tokenizers make one of four letters of
// English, and of about two of other alphabets, which take two bytes.
func estimate(texts []string) int {
	n := 0
	for _, s := range texts {
		n += max(1, (len(s)+3)/4)
	}
	return n
}

// span is a batch: the texts from one place to another.
type span struct{ from, to int }

// batches parts texts, in order, within the limits of a request.
func (r *remote) batches(input []string) []span {
	var out []span
	for from := 0; from < len(input); {
		to, tokens := from, 0
		for to < len(input) && to-from < r.batch {
			if tokens += estimate(input[to : to+1]); tokens > r.batchTokens && to > from {
				break
			}
			to++
		}
		out = append(out, span{from, to})
		from = to
	}
	return out
}

// ask makes one request and checks what comes.
func (r *remote) ask(ctx context.Context, input []string, as role) ([][]float32, Stats, error) {
	stats := Stats{Texts: len(input)}
	header, err := r.header()
	if err != nil {
		return nil, stats, err
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return nil, stats, context.Cause(ctx)
	}
	if err := r.gate.Wait(ctx); err != nil {
		return nil, stats, err
	}
	request := r.shape.request(r.url, header, input, as)
	request.Check = r.gate.check
	answer, err := r.client.Do(ctx, request)
	if err != nil {
		return nil, stats, err
	}
	r.gate.heed(answer.Header, estimate(input))
	got, err := r.shape.read(answer)
	if err == nil {
		err = r.check(got.vectors, input)
	}
	if err != nil {
		return nil, stats, fmt.Errorf("%s: %w", answer.URL, err)
	}
	if stats.Tokens = got.tokens; got.tokens == 0 {
		stats.Tokens, stats.Estimated = estimate(input), true
	}
	stats.Rescaled, err = r.finish(got.vectors, input)
	return got.vectors, stats, err
}

// header holds the key, where there is one.
func (r *remote) header() (http.Header, error) {
	header := http.Header{"Accept": {"application/json"}}
	if r.keyEnv == "" {
		return header, nil
	}
	key := strings.TrimSpace(r.getenv(r.keyEnv))
	if key == "" {
		return nil, param.Errorf("key_env", "the environment variable %s is not set", r.keyEnv)
	}
	header.Set("Authorization", "Bearer "+key)
	return header, nil
}

// check refuses what is not one vector for each text, all of one length, which is
// that of earlier answers.
func (r *remote) check(vectors [][]float32, input []string) error {
	if len(vectors) != len(input) {
		return fmt.Errorf("the server gave %d vectors for %d texts", len(vectors), len(input))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, v := range vectors {
		switch {
		case len(v) == 0:
			return fmt.Errorf("the server gave an empty vector for %s", quote(input[i]))
		case r.dimensions > 0 && len(v) != r.dimensions:
			return param.Errorf("dimensions", "%d were asked for and the server gave %d: the model lets nobody choose, or not so", r.dimensions, len(v))
		case r.dimension == 0:
			r.dimension = len(v)
		case len(v) != r.dimension:
			return fmt.Errorf("the server gave a vector of %d numbers after one of %d", len(v), r.dimension)
		}
	}
	return nil
}

// finish checks the numbers and scales vectors to unit length where they are not
// and normalize is set. It returns how many were scaled.
func (r *remote) finish(vectors [][]float32, input []string) (rescaled int, err error) {
	for i, v := range vectors {
		var sum float64
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		length := math.Sqrt(sum)
		switch {
		case math.IsNaN(length) || math.IsInf(length, 0):
			return rescaled, fmt.Errorf("embed %s: the server gave numbers that are not finite", quote(input[i]))
		case !r.normalize:
		case length == 0:
			return rescaled, fmt.Errorf("embed %s: %w", quote(input[i]), errors.New("the server gave a vector of zeros, which has no direction"))
		default:
			if math.Abs(length-1) > unitTolerance {
				rescaled++
			}
			if err := finish(v, true); err != nil {
				return rescaled, fmt.Errorf("embed %s: %w", quote(input[i]), err)
			}
		}
	}
	return rescaled, nil
}

// unitTolerance is how far from 1 the length of a vector is that servers round to
// 16 bits.
const unitTolerance = 2e-3
