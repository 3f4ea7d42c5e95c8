package embedder

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"raglab/axes"
	"raglab/internal/assets"
	"raglab/internal/onnx"
	"raglab/internal/param"
	"raglab/internal/tokenizer"
)

// ONNXParams are the parameters of the kind onnx.
type ONNXParams struct {
	Model         string   `hcl:"model" default:"multilingual-e5-small-q4" example:"\"BAAI/bge-small-en-v1.5\"" doc:"multilingual-e5-small-q4, multilingual-e5-small, or any Hugging Face repository OWNER/NAME, with @REVISION behind it if need be, that has a graph in ONNX form; not read when folder is set."`
	Graph         string   `hcl:"graph" default:"onnx/model.onnx" example:"\"onnx/model_quantized.onnx\"" doc:"File of the repository that holds the graph."`
	Data          []string `hcl:"data" default:"" example:"[\"Constant_7_attr__value\"]" doc:"Further files that the graph reads, which stand beside it in the repository. One named as the graph with _data behind it is found without."`
	Folder        string   `hcl:"folder" default:"" path:"true" doc:"Folder with another sentence encoder: model.onnx and tokenizer.json."`
	QueryPrefix   string   `hcl:"query_prefix" default:"auto" doc:"Put before each question; auto is the model's own."`
	PassagePrefix string   `hcl:"passage_prefix" default:"auto" doc:"Put before each passage; auto is the model's own."`
	Pooling       string   `hcl:"pooling" default:"auto" enum:"auto|mean|cls|last|max" doc:"How token vectors become one: their mean, the first, the last, or the largest number of each place; auto is the model's own."`
	Normalize     bool     `hcl:"normalize" default:"true" doc:"Scale vectors to unit length, so that the inner product is the cosine."`
	MaxTokens     int      `hcl:"max_tokens" default:"0" min:"0" max:"131072" unit:"tokens" doc:"Longer texts are cut here, special tokens and prefix included; 0 is the model's own, or 512 where it says none."`
	Precision     string   `hcl:"precision" default:"auto" enum:"auto|f32|q4" doc:"How multilingual-e5-small-q4 computes: f32 widens its weights to 32-bit floats (fastest for many texts), q4 multiplies 4-bit weights with 8-bit activations (fastest for one short text); auto is f32 for passages, q4 for questions."`
	Output        string   `hcl:"output" default:"auto" doc:"Output of the model to use; auto is the first it has of last_hidden_state, token_embeddings, sentence_embedding."`
}

// auto is the value of an attribute that leaves the choice to the model.
const auto = "auto"

// graphVersion names how raglab turns the 4-bit file into a graph. It is part of
// the file's name: another graph is another file.
const graphVersion = "1"

// ONNX is the kind that runs a sentence encoder with ONNX Runtime on the CPU.
func ONNX() axes.Kind[Embedder] {
	kind := axes.Define(axes.Meta{
		Name: "onnx",
		// Raise it when vectors may change: pooling, batches, graphVersion.
		Version: "2",
		Summary: "A sentence encoder in ONNX form, run on this machine's CPU.",
		Doc: `multilingual-e5-small (100 languages, 384 dimensions, at most 512 tokens) comes with
4-bit weights by its Python package, or with 32-bit weights from Hugging Face. Any
other encoder is named by its Hugging Face repository, at the commit that raglab lock
pins, or given by a folder. A repository without a graph must be exported into one,
with the files beside it:

    optimum-cli export onnx --model OWNER/NAME --task feature-extraction FOLDER

Prefixes, pooling and the length at which texts are cut are the model's own unless
they are set: from config_sentence_transformers.json, 1_Pooling/config.json,
sentence_bert_config.json and config.json, where there are such files. Where there are
none, the pooling is the mean and the length 512. A model whose modules do more than
that to a vector, such as a dense layer, needs a graph whose output is
sentence_embedding.

Prefixes that are nowhere in such files but on model cards are known by the model's
name:

    multilingual-e5-*, e5-*       "query: " and "passage: "
    multilingual-e5-*-instruct    an instruction before questions, nothing before passages
    bge-*-en*, bge-*-zh*          an instruction before questions (bge-m3: nothing)
    mxbai-embed-large*            an instruction before questions
    snowflake-arctic-embed*       an instruction, or "query: " for v2, before questions
    nomic-embed-text*             "search_query: " and "search_document: "
    embeddinggemma*               "task: search result | query: " and "title: none | text: "

Texts are embedded in batches of equal length, so nothing is padded.

Weights beside the graph are got with it. BAAI/bge-m3 has one file of another name:
data = ["Constant_7_attr__value"].`,
		Volatile: true,
	}, newONNX)
	return axes.NeedsOf(kind, func(p ONNXParams) axes.Needs {
		needs := axes.Needs{Assets: []string{assets.ONNXRuntime().Name}}
		switch {
		case p.Folder != "":
			needs.Files = []string{p.Folder}
		case builtIn(p.Model) || p.checkRepository() == nil: // else no instance can be made
			needs.Assets = append(needs.Assets, p.asset())
		}
		return needs
	})
}

// builtIn tells whether a name is that of a model that raglab itself knows.
func builtIn(model string) bool {
	return model == assets.E5SmallQ4().Name || model == assets.E5Small().Name
}

// checkRepository tells what is wrong with the repository and its files.
func (p ONNXParams) checkRepository() error {
	if err := assets.CheckRepository(p.Model); err != nil || !strings.Contains(p.Model, "/") {
		return param.Errorf("model", "%q is neither %s nor %s nor a Hugging Face repository OWNER/NAME or OWNER/NAME@REVISION: a folder of your own is named by the attribute folder",
			p.Model, assets.E5SmallQ4().Name, assets.E5Small().Name)
	}
	if !strings.HasSuffix(p.Graph, ".onnx") || !plainPath(p.Graph) {
		return param.Errorf("graph", "%q is no file of a repository that ends in .onnx", p.Graph)
	}
	for _, name := range p.Data {
		if !plainPath(name) || strings.Contains(name, "/") {
			return param.Errorf("data", "%q is no name of a file beside the graph", name)
		}
	}
	return nil
}

func plainPath(at string) bool {
	return at == path.Clean(at) && !path.IsAbs(at) && at != "." && !strings.HasPrefix(at, "..") && !strings.ContainsAny(at, ",=:?\\")
}

// asset names the files of the model.
func (p ONNXParams) asset() string {
	if builtIn(p.Model) {
		return p.Model
	}
	files := map[string]string{graphFile: p.Graph, tokenizerFile: tokenizerFile, poolingFile: "1_Pooling/config.json?"}
	for _, name := range []string{"config.json", promptsFile, lengthFile, modulesFile} {
		files[name] = name + "?"
	}
	weights := p.Graph + "_data"
	files[path.Base(weights)] = weights + "?"
	for _, name := range p.Data {
		files[name] = path.Join(path.Dir(p.Graph), name)
	}
	return assets.HuggingFaceModel(p.Model, files).Name
}

// encoder is the kind's instance. The tokenizer and each session are opened when
// they are needed. Sessions are closed when nobody has used them for a while.
type encoder struct {
	params  ONNXParams
	threads int
	asset   func(ctx context.Context, name string) (string, error)

	sessions [2]*onnx.Shared

	mu     sync.Mutex // guards what follows
	model  *modelFiles
	tokens *tokenizer.Tokenizer
}

// The sessions of an encoder.
const (
	// many runs batches, each on one thread, as many at once as there are threads.
	many = iota
	// single runs one text on all threads.
	single
)

func newONNX(p ONNXParams, env axes.Env) (Embedder, error) {
	if p.Folder == "" && !builtIn(p.Model) {
		if err := p.checkRepository(); err != nil {
			return nil, err
		}
	}
	if p.MaxTokens > 0 && p.MaxTokens < leastTokens {
		return nil, param.Errorf("max_tokens", "%d leaves no room for a text between two special tokens", p.MaxTokens)
	}
	if p.Precision != auto && (p.Folder != "" || p.Model != assets.E5SmallQ4().Name) {
		return nil, param.Errorf("precision", "is a choice only for the model %s", assets.E5SmallQ4().Name)
	}
	if p.Folder == "" && builtIn(p.Model) && p.MaxTokens > e5Positions {
		return nil, param.Errorf("max_tokens", "%d is more than the %d that %s takes", p.MaxTokens, e5Positions, p.Model)
	}
	e := &encoder{params: p, threads: max(1, env.Threads), asset: env.Asset}
	for which := range e.sessions {
		e.sessions[which] = onnx.NewShared(func(ctx context.Context) (*onnx.Session, error) { return e.open(ctx, which) })
	}
	return e, nil
}

const (
	// e5Positions is how many positions multilingual-e5-small has.
	e5Positions = 512
	// usualTokens is where texts are cut for a model that says nothing of it.
	usualTokens = 512
	leastTokens = 3
)

// files finds the model's files. The caller holds the lock.
func (e *encoder) files(ctx context.Context) (*modelFiles, error) {
	if e.model != nil {
		return e.model, nil
	}
	m, err := e.find(ctx)
	if err != nil {
		return nil, err
	}
	m = m.with(e.params)
	if m.positions > 0 && m.maxTokens > m.positions {
		return nil, param.Errorf("max_tokens", "%d is more than the %d that the model in %s takes", m.maxTokens, m.positions, m.dir)
	}
	e.model = m
	return m, nil
}

// find finds what the model says of itself.
func (e *encoder) find(ctx context.Context) (*modelFiles, error) {
	switch {
	case e.params.Folder != "":
		return customFiles(e.params.Folder, "")
	case builtIn(e.params.Model):
		return e.assetFiles(ctx)
	}
	dir, err := e.folder(ctx, e.params.asset())
	if err != nil {
		return nil, err
	}
	return customFiles(dir, e.params.Model)
}

// modelFiles finds the model's files.
func (e *encoder) modelFiles(ctx context.Context) (*modelFiles, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.files(ctx)
}

func (e *encoder) assetFiles(ctx context.Context) (*modelFiles, error) {
	dir, err := e.folder(ctx, e.params.Model)
	if err != nil {
		return nil, err
	}
	known := prefixesOf(e.params.Model)
	m := &modelFiles{dir: dir, query: known.query, passage: known.passage, pooling: poolMean, positions: e5Positions, maxTokens: usualTokens}
	switch {
	case e.params.Model != assets.E5SmallQ4().Name:
	case e.params.Precision == auto:
		m.packed = [2]onnx.Precision{many: onnx.Float32Weights, single: onnx.FourBitWeights}
	default:
		m.packed = [2]onnx.Precision{onnx.Precision(e.params.Precision), onnx.Precision(e.params.Precision)}
	}
	return m, nil
}

func (e *encoder) folder(ctx context.Context, asset string) (string, error) {
	if e.asset == nil {
		return "", fmt.Errorf("open model: %w", errors.New("no assets are to be had here"))
	}
	return e.asset(ctx, asset)
}

// tokenizer returns the model's tokenizer and files.
func (e *encoder) tokenizer(ctx context.Context) (*tokenizer.Tokenizer, *modelFiles, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	m, err := e.files(ctx)
	if err != nil {
		return nil, nil, err
	}
	if e.tokens == nil {
		if e.tokens, err = onnx.OpenTokenizer(m.dir); err != nil {
			return nil, nil, err
		}
	}
	return e.tokens, m, nil
}

// session returns one of the encoder's sessions, to be given back by release.
func (e *encoder) session(ctx context.Context, which int) (session *onnx.Session, release func(), err error) {
	m, err := e.modelFiles(ctx)
	if err != nil {
		return nil, nil, err
	}
	if e.threads == 1 && m.packed[many] == m.packed[single] {
		which = many // the same thing
	}
	return e.sessions[which].Use(ctx)
}

// open opens a session.
func (e *encoder) open(ctx context.Context, which int) (*onnx.Session, error) {
	m, err := e.modelFiles(ctx)
	if err != nil {
		return nil, err
	}
	path, err := m.graph(ctx, which)
	if err != nil {
		return nil, err
	}
	dir, err := e.folder(ctx, assets.ONNXRuntime().Name)
	if err != nil {
		return nil, err
	}
	runtime, err := onnx.LoadFrom(dir)
	if err != nil {
		return nil, err
	}
	o := onnx.Options{
		Threads:  1,
		Inputs:   []string{onnx.InputIDs, onnx.AttentionMask, onnx.TokenTypeIDs},
		Required: []string{onnx.InputIDs},
		Outputs:  [][]string{{onnx.LastHiddenState, "token_embeddings", "sentence_embedding"}},
	}
	if m.dense != "" {
		o.Outputs = [][]string{{"sentence_embedding", onnx.LastHiddenState, "token_embeddings"}}
	}
	if e.params.Output != auto {
		o.Outputs = [][]string{{e.params.Output}}
	}
	if which == single {
		o.Threads = e.threads
	}
	return runtime.Open(path, o)
}

// Close implements [Embedder].
func (e *encoder) Close() error {
	return errors.Join(e.sessions[many].Close(), e.sessions[single].Close())
}
