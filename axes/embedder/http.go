package embedder

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"raglab/axes"
	"raglab/internal/param"
	"raglab/internal/web"
)

// HTTPParams are the parameters of the kind http.
type HTTPParams struct {
	URL           string  `hcl:"url" key:"-" example:"\"http://localhost:8080\"" doc:"Address of the server, to which /embed (tei) or /v2/embed (cohere) is added unless it ends in /embed; plain asks the address itself. Without its scheme it stands in keys as the server's name."`
	Server        string  `hcl:"server" default:"" key:"-" doc:"What keys call the server in place of its address: set it to the old address when the same server moves, so that what it gave stays known."`
	API           string  `hcl:"api" default:"tei" enum:"tei|cohere|plain" doc:"Shape of requests and answers."`
	Model         string  `hcl:"model" default:"" example:"\"BAAI/bge-m3\"" doc:"Model to ask for; cohere needs it. With tei it is not sent but says, in keys and for prefixes, which model the server has."`
	KeyEnv        string  `hcl:"key_env" default:"" key:"-" example:"\"COHERE_API_KEY\"" doc:"Environment variable that holds the key, which is sent as a bearer token; none is sent when empty."`
	Dimensions    int     `hcl:"dimensions" default:"0" min:"0" doc:"How many numbers a vector is to have, where the model lets one choose; 0 is the model's own."`
	QueryPrefix   string  `hcl:"query_prefix" default:"auto" doc:"Put before each question; auto is what the model was trained with, where its name is known: see the kind onnx."`
	PassagePrefix string  `hcl:"passage_prefix" default:"auto" doc:"Put before each passage; auto as for questions."`
	Normalize     bool    `hcl:"normalize" default:"true" doc:"Scale vectors to unit length where the server did not, so that the inner product is the cosine."`
	Truncate      bool    `hcl:"truncate" default:"true" doc:"With tei and cohere: texts that are longer than the model takes are cut by the server, which does not say how many, instead of refused."`
	MaxCharacters int     `hcl:"max_characters" default:"0" min:"0" unit:"characters" doc:"Longer texts are cut here, prefix included, and counted as truncated; 0 leaves it to the server."`
	Batch         int     `hcl:"batch" default:"32" min:"1" max:"10000" unit:"texts" key:"-" doc:"Most texts in one request; cohere takes 96."`
	BatchTokens   int     `hcl:"batch_tokens" default:"16384" min:"1" unit:"tokens" key:"-" doc:"Most tokens in one request, reckoned as one for four bytes, unless one text has more."`
	Concurrency   int     `hcl:"concurrency" default:"4" min:"1" max:"64" unit:"requests" key:"-" doc:"Most requests at once."`
	PerMinute     int     `hcl:"requests_per_minute" default:"0" min:"0" unit:"requests" key:"-" doc:"Most requests in a minute; 0 is no limit but the server's."`
	Timeout       int     `hcl:"timeout" default:"300" min:"1" max:"86400" unit:"seconds" key:"-" doc:"How long the server may say nothing."`
	Price         float64 `hcl:"price" default:"-1" min:"-1" unit:"USD per 1,000 tokens" key:"-" doc:"What the service bills, for costs in plans, reports and budgets; -1 is not known."`
}

// The values of the attribute api.
const (
	apiTEI    = "tei"
	apiCohere = "cohere"
	apiPlain  = "plain"
)

var overHTTP = axes.NeedsOf(axes.Define(axes.Meta{
	Name:    "http",
	Version: "1",
	Summary: "An embedder behind HTTP, in the shape of Text Embeddings Inference, of Cohere, or a plain one.",
	Doc: `The shapes, each with the texts of one request:

    tei     POST /embed    {"inputs": […], "normalize": …, "truncate": …}  gives  [[…], …]
    cohere  POST /v2/embed, its version 2, with the input types search_document
            and search_query
    plain   POST           {"model": "…", "role": "passage", "texts": […]}  gives
            {"embeddings": [[…], …], "tokens": 123} or [[…], …]; the role of a
            question is "query", and tokens may be left out
` + keyAndPrice,
	Resource: axes.Network,
	Volatile: true,
}, newHTTP), func(p HTTPParams) axes.Needs {
	return axes.Needs{Services: []string{identity(p.URL, p.Server)}}
})

func newHTTP(p HTTPParams, env axes.Env) (Embedder, error) {
	s := service{
		url: p.URL, keyEnv: p.KeyEnv, query: p.QueryPrefix, passage: p.PassagePrefix, model: p.Model,
		normalize: p.Normalize, maxCharacters: p.MaxCharacters, batch: p.Batch, batchTokens: p.BatchTokens,
		concurrency: p.Concurrency, perMinute: p.PerMinute, timeout: p.Timeout, price: p.Price, dimensions: p.Dimensions,
	}
	switch p.API {
	case apiCohere:
		if p.Model == "" {
			return nil, param.Errorf("model", "the api cohere needs the name of a model")
		}
		s.ending, s.added = "/embed", "/v2/embed"
		return newRemote(s, cohereShape{p}, env)
	case apiPlain:
		return newRemote(s, plainShape{p}, env)
	}
	s.ending = "/embed"
	return newRemote(s, teiShape{p}, env)
}

type teiShape struct{ params HTTPParams }

func (t teiShape) request(address string, header http.Header, texts []string, _ role) web.Request {
	body := map[string]any{"inputs": texts, "normalize": t.params.Normalize, "truncate": t.params.Truncate}
	if t.params.Dimensions > 0 {
		body["dimensions"] = t.params.Dimensions
	}
	return web.PostJSON(address, header, body)
}

func (t teiShape) read(a web.Answer) (reply, error) {
	vectors, err := readVectors(a.Body)
	tokens, _ := strconv.Atoi(a.Header.Get("x-compute-tokens"))
	return reply{vectors, max(0, tokens)}, err
}

type cohereShape struct{ params HTTPParams }

func (c cohereShape) request(address string, header http.Header, texts []string, r role) web.Request {
	body := map[string]any{
		"model": c.params.Model, "texts": texts, "embedding_types": []string{"float"}, "input_type": "search_document", "truncate": "NONE",
	}
	if r == asQuery {
		body["input_type"] = "search_query"
	}
	if c.params.Truncate {
		body["truncate"] = "END"
	}
	if c.params.Dimensions > 0 {
		body["output_dimension"] = c.params.Dimensions
	}
	return web.PostJSON(address, header, body)
}

func (c cohereShape) read(a web.Answer) (reply, error) {
	var answer struct {
		Embeddings struct {
			Float json.RawMessage `json:"float"`
		} `json:"embeddings"`
		Meta struct {
			Billed struct {
				Tokens float64 `json:"input_tokens"`
			} `json:"billed_units"`
		} `json:"meta"`
	}
	if err := json.Unmarshal(a.Body, &answer); err != nil {
		return reply{}, fmt.Errorf("read the answer: %w", err)
	}
	vectors, err := readVectors(answer.Embeddings.Float)
	return reply{vectors, max(0, int(answer.Meta.Billed.Tokens))}, err
}

type plainShape struct{ params HTTPParams }

func (p plainShape) request(address string, header http.Header, texts []string, r role) web.Request {
	body := map[string]any{"role": string(r), "texts": texts}
	if p.params.Model != "" {
		body["model"] = p.params.Model
	}
	if p.params.Dimensions > 0 {
		body["dimensions"] = p.params.Dimensions
	}
	return web.PostJSON(address, header, body)
}

func (p plainShape) read(a web.Answer) (reply, error) {
	var answer struct {
		Embeddings json.RawMessage `json:"embeddings"`
		Tokens     int             `json:"tokens"`
	}
	raw := json.RawMessage(a.Body)
	if json.Unmarshal(a.Body, &answer) == nil {
		raw = answer.Embeddings
	}
	vectors, err := readVectors(raw)
	return reply{vectors, max(0, answer.Tokens)}, err
}

// readVectors reads a list of lists of numbers.
func readVectors(raw json.RawMessage) ([][]float32, error) {
	var rows []json.RawMessage
	if len(raw) == 0 {
		return nil, errors.New("the answer has no vectors")
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		return nil, fmt.Errorf("the answer is no list of vectors: %w", err)
	}
	vectors := make([][]float32, len(rows))
	for i, row := range rows {
		v, err := readNumbers(row)
		if err != nil {
			return nil, fmt.Errorf("the vector of text %d: %w", i, err)
		}
		vectors[i] = v
	}
	return vectors, nil
}
