package embedder

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"

	"raglab/axes"
	"raglab/internal/param"
	"raglab/internal/web"
)

// OpenAIParams are the parameters of the kind openai.
type OpenAIParams struct {
	Model         string  `hcl:"model" default:"text-embedding-3-small" doc:"Model to ask for."`
	URL           string  `hcl:"url" default:"https://api.openai.com/v1" key:"-" example:"\"http://localhost:11434/v1\"" doc:"Address of the API, to which /embeddings is added unless it ends so. Without its scheme it stands in keys as the server's name."`
	Server        string  `hcl:"server" default:"" key:"-" doc:"What keys call the server in place of its address: set it to the old address when the same server moves, so that what it gave stays known."`
	KeyEnv        string  `hcl:"key_env" default:"auto" key:"-" example:"\"MISTRAL_API_KEY\"" doc:"Environment variable that holds the API key; auto is OPENAI_API_KEY for OpenAI's own address and none for others; empty sends none."`
	Dimensions    int     `hcl:"dimensions" default:"0" min:"0" doc:"How many numbers a vector is to have, where the model lets one choose; 0 is the model's own."`
	QueryPrefix   string  `hcl:"query_prefix" default:"auto" doc:"Put before each question; auto is what the model was trained with, where its name is known: see the kind onnx."`
	PassagePrefix string  `hcl:"passage_prefix" default:"auto" doc:"Put before each passage; auto as for questions."`
	Normalize     bool    `hcl:"normalize" default:"true" doc:"Scale vectors to unit length where the server did not, so that the inner product is the cosine."`
	MaxCharacters int     `hcl:"max_characters" default:"0" min:"0" unit:"characters" doc:"Longer texts are cut here, prefix included, and counted as truncated; 0 leaves it to the server, which may refuse them."`
	Batch         int     `hcl:"batch" default:"128" min:"1" max:"10000" unit:"texts" key:"-" doc:"Most texts in one request."`
	BatchTokens   int     `hcl:"batch_tokens" default:"50000" min:"1" unit:"tokens" key:"-" doc:"Most tokens in one request, reckoned as one for four bytes, unless one text has more."`
	Concurrency   int     `hcl:"concurrency" default:"4" min:"1" max:"64" unit:"requests" key:"-" doc:"Most requests at once."`
	PerMinute     int     `hcl:"requests_per_minute" default:"0" min:"0" unit:"requests" key:"-" doc:"Most requests in a minute; 0 is no limit but the server's."`
	Timeout       int     `hcl:"timeout" default:"120" min:"1" max:"86400" unit:"seconds" key:"-" doc:"How long the server may say nothing."`
	Encoding      string  `hcl:"encoding" default:"float" enum:"float|base64" key:"-" doc:"How vectors are to come. Base64 is smaller, and not every server knows it. Either is read, whatever was asked for."`
	Price         float64 `hcl:"price" default:"-1" min:"-1" unit:"USD per 1,000 tokens" key:"-" doc:"What the service bills, for costs in plans, reports and budgets; -1 is not known."`
}

const (
	openAIHost = "api.openai.com"
	openAIKey  = "OPENAI_API_KEY"
)

// keyAndPrice is how every kind that asks a server ends its documentation.
const keyAndPrice = `
The API key is read from the environment variable that key_env names and goes to
the server alone; it is in no plan, key of a result, log or report, and is not sent
over plain http but to this machine. Broken connections and the statuses 408, 429
and 5xx are tried again, as late as Retry-After or the x-ratelimit headers say.

Vectors are remembered by text, model and server: a text is asked for, and paid,
once. What came before an interrupt or an error stays. Two servers may serve
different models under one name, so a server's address, without its scheme, is part
of what a vector is remembered by; see the attribute server. Every answer is checked:
one vector for each text, of one length, of finite numbers.

With a price, costs are in plans, in the report and in what a budget of usd counts.
Tokens are the server's own count where it says one, else one for four bytes of text,
and then called an estimate. Passages that were remembered are estimates, too.`

var openAI = axes.NeedsOf(axes.Define(axes.Meta{
	Name:    "openai",
	Version: "1",
	Summary: "Any server that speaks OpenAI's embeddings API: OpenAI, Mistral, Ollama, vLLM, llama.cpp and others.",
	Doc: "Texts are sent to POST url/embeddings, many at a time, questions one at a time as a user would ask them." +
		"\n" + keyAndPrice,
	Resource: axes.Network,
	Volatile: true,
}, newOpenAI), func(p OpenAIParams) axes.Needs {
	return axes.Needs{Services: []string{identity(p.URL, p.Server)}}
})

func newOpenAI(p OpenAIParams, env axes.Env) (Embedder, error) {
	s := service{
		url: p.URL, ending: "/embeddings", keyEnv: p.KeyEnv, query: p.QueryPrefix, passage: p.PassagePrefix, model: p.Model,
		normalize: p.Normalize, maxCharacters: p.MaxCharacters, batch: p.Batch, batchTokens: p.BatchTokens,
		concurrency: p.Concurrency, perMinute: p.PerMinute, timeout: p.Timeout, price: p.Price, dimensions: p.Dimensions,
	}
	if p.Model == "" {
		return nil, param.Errorf("model", "must name the model to ask for")
	}
	if s.keyEnv == auto {
		s.keyEnv = ""
		if strings.HasPrefix(identity(p.URL, ""), openAIHost+"/") {
			s.keyEnv = openAIKey
		}
	}
	return newRemote(s, openAIShape{p}, env)
}

// openAIShape is the shape of requests and answers.
type openAIShape struct{ params OpenAIParams }

func (o openAIShape) request(address string, header http.Header, texts []string, _ role) web.Request {
	body := map[string]any{"model": o.params.Model, "input": texts, "encoding_format": o.params.Encoding}
	if o.params.Dimensions > 0 {
		body["dimensions"] = o.params.Dimensions
	}
	return web.PostJSON(address, header, body)
}

func (o openAIShape) read(a web.Answer) (reply, error) {
	var answer struct {
		Data []struct {
			Index     *int            `json:"index"`
			Embedding json.RawMessage `json:"embedding"`
		} `json:"data"`
		Usage struct {
			Prompt int `json:"prompt_tokens"`
			Total  int `json:"total_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(a.Body, &answer); err != nil {
		return reply{}, fmt.Errorf("read the answer: %w", err)
	}
	if answer.Data == nil {
		return reply{}, errors.New(`the answer has no list "data": is the address that of an embeddings API?`)
	}
	r := reply{tokens: max(0, answer.Usage.Prompt, answer.Usage.Total), vectors: make([][]float32, len(answer.Data))}
	for i, d := range answer.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= len(r.vectors) || r.vectors[at] != nil {
			return reply{}, fmt.Errorf("the answer gives text %d of %d twice, or does not have it", at, len(r.vectors))
		}
		v, err := readEmbedding(d.Embedding)
		if err != nil {
			return reply{}, fmt.Errorf("the vector of text %d: %w", at, err)
		}
		r.vectors[at] = v
	}
	return r, nil
}

// readEmbedding reads a list of numbers, or a string with the bytes of little-endian
// 32-bit floats in base64.
func readEmbedding(raw json.RawMessage) ([]float32, error) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return readNumbers(raw)
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data)%4 != 0 {
		return nil, errors.New("it is a string, but not the base64 form of 32-bit floats")
	}
	v := make([]float32, len(data)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return v, nil
}

// readNumbers reads a list of numbers. JSON has none that is not finite, so that
// servers write null for it.
func readNumbers(raw json.RawMessage) ([]float32, error) {
	var numbers []*float64
	if err := json.Unmarshal(raw, &numbers); err != nil {
		return nil, fmt.Errorf("it is no list of numbers: %w", err)
	}
	if numbers == nil {
		return nil, errors.New("it is missing")
	}
	v := make([]float32, len(numbers))
	for i, x := range numbers {
		if x == nil {
			return nil, fmt.Errorf("number %d is null", i)
		}
		v[i] = float32(*x)
	}
	return v, nil
}
