package reranker

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"raglab/axes"
	"raglab/internal/param"
	"raglab/internal/web"
)

// HTTPParams are the parameters of the kind http.
type HTTPParams struct {
	URL        string  `hcl:"url" key:"-" example:"\"https://api.cohere.com\"" doc:"Address of the server, such as http://localhost:8080, to which /rerank (tei) or /v2/rerank (cohere) is added unless it ends in /rerank. Without its scheme it stands in keys as the server's name."`
	Server     string  `hcl:"server" default:"" key:"-" doc:"What keys call the server in place of its address: set it to the old address when the same server moves, so that what it gave stays known."`
	API        string  `hcl:"api" default:"tei" enum:"tei|cohere" example:"\"cohere\"" doc:"Shape of requests and answers: that of Hugging Face's Text Embeddings Inference, or of Cohere's version 2."`
	Model      string  `hcl:"model" default:"" example:"\"rerank-v3.5\"" doc:"Model to ask for; cohere needs it. With tei it only says, in the key, which model the server has."`
	KeyEnv     string  `hcl:"key_env" default:"" key:"-" example:"\"COHERE_API_KEY\"" doc:"Environment variable that holds the key, which is sent as a bearer token; none is sent when empty."`
	Depth      int     `hcl:"depth" default:"50" min:"1" max:"100000" unit:"hits" at:"order" doc:"How many of the first hits are scored and put in order; those beyond keep their places."`
	Batch      int     `hcl:"batch" default:"32" min:"1" max:"1000" unit:"passages" doc:"Most passages in one request; a question with more takes several."`
	RawScores  bool    `hcl:"raw_scores" default:"true" doc:"With tei, ask for the model's output itself instead of its sigmoid, in which high scores become equal."`
	PerMinute  int     `hcl:"requests_per_minute" default:"0" min:"0" unit:"requests" key:"-" doc:"Most requests in a minute, waits for which count in no latency; 0 is no limit."`
	Timeout    int     `hcl:"timeout" default:"300" min:"1" max:"86400" unit:"seconds" key:"-" doc:"How long the server may say nothing."`
	Price      float64 `hcl:"price" default:"-1" min:"-1" unit:"USD per 1,000 searches" key:"-" doc:"What the service bills, for costs in reports; -1 is not known. Searches are counted as its answers say, else one for each 100 passages begun of a request."`
	TokenPrice float64 `hcl:"token_price" default:"-1" min:"-1" unit:"USD per 1,000 tokens" key:"-" doc:"What the service bills for tokens, as its answers count them; -1 is not known."`
}

// The values of the attribute api.
const (
	apiTEI    = "tei"
	apiCohere = "cohere"
)

var overHTTP = axes.NeedsOf(axes.Define(axes.Meta{
	Name:    "http",
	Version: "1",
	Summary: "A reranker behind HTTP, in the shape of Text Embeddings Inference or of Cohere.",
	Doc: `Only the first depth hits are scored and put in order by score; equal scores keep
the order that they had, and what lies beyond keeps its rank, with scores that only
say its place. Scores are remembered by question and passage, as those of cross_encoder
are: they are asked for, and paid, once for all depths and first stages. Two servers
may serve different models under one name, so a server's address, without its scheme,
is part of what a score is remembered by; see the attribute server. Passages that
are too long are cut by the server, which does not say how many.

The key is read from the environment variable that key_env names and goes to the
server alone; it is in no plan, key of a result, log or report, and is not sent over
plain http but to this machine. Broken connections and the statuses 408, 429 and 5xx
are tried again, as late as Retry-After says. An answer that lacks a passage, has one
twice or a score that is no finite number is an error: no ranking is made of it.`,
	Resource: axes.Network,
	Volatile: true,
}, newHTTP), func(p HTTPParams) axes.Needs {
	return axes.Needs{Services: []string{web.Identity(p.URL, p.Server)}}
})

// remote is the kind's instance.
type remote struct {
	params HTTPParams
	url    string
	client *web.Client
	pace   *web.Pace
}

func newHTTP(p HTTPParams, env axes.Env) (Reranker, error) {
	u, err := url.Parse(p.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, param.Errorf("url", "expected an address such as http://localhost:8080")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, param.Errorf("url", "must hold no user, password or query: a key is given by key_env, the name of an environment variable")
	case p.KeyEnv != "" && web.Secure(p.URL) != nil:
		return nil, param.Errorf("url", "a key is not sent over plain http: expected an https address")
	case p.API == apiCohere && p.Model == "":
		return nil, param.Errorf("model", "the api cohere needs the name of a model")
	}
	r := &remote{params: p, url: endpoint(p), client: web.New(web.Config{
		UserAgent: web.Agent(env.Version, ""), StallAfter: time.Duration(p.Timeout) * time.Second,
	})}
	r.pace = web.NewPace(p.PerMinute)
	return r, nil
}

// endpoint is the address that is asked.
func endpoint(p HTTPParams) string {
	base := strings.TrimRight(p.URL, "/")
	switch {
	case strings.HasSuffix(base, "/rerank"):
		return base
	case p.API == apiCohere:
		return base + "/v2/rerank"
	}
	return base + "/rerank"
}

func (r *remote) UsesText() bool { return true }

func (r *remote) Depth() int { return r.params.Depth }

// Score implements [PairScorer]: the server's score as it is.
func (r *remote) Score(raw float32) float64 { return float64(raw) }

// USD implements [Priced].
func (r *remote) USD(searches float64, tokens int) (usd float64, known bool) {
	usd = (searches*max(0, r.params.Price) + float64(tokens)*max(0, r.params.TokenPrice)) / 1000
	return usd, r.params.Price >= 0 || r.params.TokenPrice >= 0
}

// Expect implements [Priced]. A token is reckoned as four bytes.
func (r *remote) Expect(question string, passages []string) (searches float64, tokens int) {
	for from := 0; from < len(passages); from += r.params.Batch {
		searches += math.Ceil(float64(min(r.params.Batch, len(passages)-from)) / perSearch)
	}
	for _, p := range passages {
		tokens += (len(question) + len(p) + 3) / 4
	}
	return searches, tokens
}

func (r *remote) Rerank(ctx context.Context, q axes.Query, hits []axes.Hit, passage func(uint32) (string, error)) ([]axes.Hit, error) {
	return rerankPairs(ctx, r, q, hits, passage)
}

// ScorePairs implements [PairScorer], one request after the other.
func (r *remote) ScorePairs(ctx context.Context, question string, passages []string) ([]Pair, error) {
	header, err := r.header()
	if err != nil {
		return nil, err
	}
	pairs := make([]Pair, 0, len(passages))
	for len(passages) > 0 {
		n := min(r.params.Batch, len(passages))
		if err := r.pace.Wait(ctx); err != nil {
			return nil, err
		}
		start := time.Now()
		batch, err := r.ask(ctx, header, question, passages[:n])
		if err != nil {
			return nil, fmt.Errorf("rerank %d passages: %w", n, err)
		}
		share(batch, time.Since(start))
		pairs, passages = append(pairs, batch...), passages[n:]
	}
	return pairs, nil
}

// header holds the key, where there is one.
func (r *remote) header() (http.Header, error) {
	if r.params.KeyEnv == "" {
		return nil, nil
	}
	key := strings.TrimSpace(os.Getenv(r.params.KeyEnv))
	if key == "" {
		return nil, param.Errorf("key_env", "the environment variable %s is not set", r.params.KeyEnv)
	}
	return http.Header{"Authorization": {"Bearer " + key}}, nil
}

// scored is one entry of an answer. The fields are pointers so that a missing one
// is told from 0.
type scored struct {
	Index     *int     `json:"index"`
	Score     *float64 `json:"score"`           // tei
	Relevance *float64 `json:"relevance_score"` // cohere
}

// ask makes one request.
func (r *remote) ask(ctx context.Context, header http.Header, question string, passages []string) ([]Pair, error) {
	if r.params.API == apiCohere {
		return r.askCohere(ctx, header, question, passages)
	}
	var answer []scored
	err := r.client.JSON(ctx, web.PostJSON(r.url, header, map[string]any{
		"query": question, "texts": passages, "raw_scores": r.params.RawScores, "truncate": true,
	}), &answer)
	if err != nil {
		return nil, err
	}
	pairs, err := placed(answer, len(passages), func(s scored) *float64 { return s.Score })
	bill(pairs, 0, 0)
	return pairs, err
}

func (r *remote) askCohere(ctx context.Context, header http.Header, question string, passages []string) ([]Pair, error) {
	var answer struct {
		Results []scored `json:"results"`
		Meta    struct {
			Billed struct {
				Searches float64 `json:"search_units"`
			} `json:"billed_units"`
		} `json:"meta"`
		Usage struct {
			Tokens int `json:"total_tokens"`
		} `json:"usage"`
	}
	err := r.client.JSON(ctx, web.PostJSON(r.url, header, map[string]any{
		"model": r.params.Model, "query": question, "documents": passages, "top_n": len(passages),
	}), &answer)
	if err != nil {
		return nil, err
	}
	pairs, err := placed(answer.Results, len(passages), func(s scored) *float64 { return s.Relevance })
	bill(pairs, answer.Meta.Billed.Searches, answer.Usage.Tokens)
	return pairs, err
}

// placed puts the scores of an answer, which come in any order, in the order of the
// passages.
func placed(answer []scored, n int, score func(scored) *float64) ([]Pair, error) {
	if len(answer) != n {
		return nil, fmt.Errorf("the server gave %d scores for %d passages", len(answer), n)
	}
	pairs, seen := make([]Pair, n), make([]bool, n)
	for _, s := range answer {
		if s.Index == nil || *s.Index < 0 || *s.Index >= n {
			return nil, fmt.Errorf("the server gave a score for no passage: expected indexes from 0 to %d", n-1)
		}
		v := score(s)
		switch i := *s.Index; {
		case seen[i]:
			return nil, fmt.Errorf("the server gave passage %d two scores", i)
		case v == nil:
			return nil, fmt.Errorf("the server gave passage %d no score", i)
		case math.Abs(*v) > math.MaxFloat32: // JSON has no other numbers that are not finite
			return nil, fmt.Errorf("the server gave passage %d the score %g, which is no 32-bit number", i, *v)
		default:
			pairs[i].Raw, seen[i] = float32(*v), true
		}
	}
	return pairs, nil
}

// perSearch is how many passages a search has at most by the custom of services.
const perSearch = 100

// bill shares among some pairs what their request is billed for.
func bill(pairs []Pair, searches float64, tokens int) {
	if searches == 0 {
		searches = math.Ceil(float64(len(pairs)) / perSearch)
	}
	for i := range pairs {
		pairs[i].Searches = searches / float64(len(pairs))
		// The first ones bear what is left over.
		pairs[i].Tokens = tokens / len(pairs)
		if i < tokens%len(pairs) {
			pairs[i].Tokens++
		}
	}
}
