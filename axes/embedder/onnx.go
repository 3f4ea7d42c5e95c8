package embedder

import (
	"context"
	"errors"
	"fmt"
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
	Model         string `hcl:"model" default:"multilingual-e5-small-q4" enum:"multilingual-e5-small-q4|multilingual-e5-small" doc:"Model that raglab gets; not read when folder is set."`
	Folder        string `hcl:"folder" default:"" path:"true" doc:"Folder with another sentence encoder: model.onnx and tokenizer.json."`
	QueryPrefix   string `hcl:"query_prefix" default:"auto" doc:"Put before each question; auto is the model's own."`
	PassagePrefix string `hcl:"passage_prefix" default:"auto" doc:"Put before each passage; auto is the model's own."`
	Pooling       string `hcl:"pooling" default:"auto" enum:"auto|mean|cls" doc:"How token vectors become one: their mean, or the first; auto is the model's own."`
	Normalize     bool   `hcl:"normalize" default:"true" doc:"Scale vectors to unit length, so that the inner product is the cosine."`
	MaxTokens     int    `hcl:"max_tokens" default:"512" min:"3" max:"131072" unit:"tokens" doc:"Longer texts are cut here, special tokens and prefix included."`
	Precision     string `hcl:"precision" default:"auto" enum:"auto|f32|q4" doc:"How multilingual-e5-small-q4 computes: f32 widens its weights to 32-bit floats (fastest for many texts), q4 multiplies 4-bit weights with 8-bit activations (fastest for one short text); auto is f32 for passages, q4 for questions."`
	Output        string `hcl:"output" default:"auto" doc:"Output of the model to use; auto is the first it has of last_hidden_state, token_embeddings, sentence_embedding."`
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
		Version: "1",
		Summary: "A sentence encoder in ONNX form, run on this machine's CPU.",
		Doc: "multilingual-e5-small (100 languages, 384 dimensions, at most 512 tokens) comes with 4-bit weights by its Python " +
			"package, or with 32-bit weights from Hugging Face at the commit that raglab lock pins. Its prefixes are " +
			"\"query: \" and \"passage: \", its pooling is the mean. Any other encoder is given by a folder with model.onnx, " +
			"tokenizer.json and, if it has them, the files of sentence-transformers (config_sentence_transformers.json, " +
			"1_Pooling/config.json), from which prefixes and pooling are read; without them there is no prefix and the " +
			"pooling is the mean. Texts are embedded in batches of equal length, so nothing is padded.",
		Volatile: true,
	}, newONNX)
	return axes.NeedsOf(kind, func(p ONNXParams) axes.Needs {
		if p.Folder != "" {
			return axes.Needs{Assets: []string{assets.ONNXRuntime().Name}, Files: []string{p.Folder}}
		}
		return axes.Needs{Assets: []string{assets.ONNXRuntime().Name, p.Model}}
	})
}

// encoder is the kind's instance. The tokenizer and each session are opened when
// they are needed. Sessions are closed when nobody has used them for a while.
type encoder struct {
	params  ONNXParams
	threads int
	asset   func(ctx context.Context, name string) (string, error)

	mu       sync.Mutex // guards opening
	model    *modelFiles
	tokens   *tokenizer.Tokenizer
	sessions [2]openSession
}

// The sessions of an encoder.
const (
	// many runs batches, each on one thread, as many at once as there are threads.
	many = iota
	// single runs one text on all threads.
	single
)

func newONNX(p ONNXParams, env axes.Env) (Embedder, error) {
	if strings.ContainsAny(p.Model, `/\`) {
		return nil, param.Errorf("model", "%q looks like a path: a folder of your own is named by the attribute folder", p.Model)
	}
	if p.Precision != auto && (p.Folder != "" || p.Model != assets.E5SmallQ4().Name) {
		return nil, param.Errorf("precision", "is a choice only for the model %s", assets.E5SmallQ4().Name)
	}
	if p.Folder == "" && p.MaxTokens > e5Positions {
		return nil, param.Errorf("max_tokens", "%d is more than the %d that %s takes", p.MaxTokens, e5Positions, p.Model)
	}
	return &encoder{params: p, threads: max(1, env.Threads), asset: env.Asset}, nil
}

// e5Positions is how many positions multilingual-e5-small has.
const e5Positions = 512

// files finds the model's files. The caller holds the lock.
func (e *encoder) files(ctx context.Context) (*modelFiles, error) {
	if e.model != nil {
		return e.model, nil
	}
	var m *modelFiles
	var err error
	if e.params.Folder != "" {
		m, err = customFiles(e.params.Folder)
	} else {
		m, err = e.assetFiles(ctx)
	}
	if err != nil {
		return nil, err
	}
	if e.params.MaxTokens > m.positions && m.positions > 0 {
		return nil, param.Errorf("max_tokens", "%d is more than the %d that the model in %s takes", e.params.MaxTokens, m.positions, e.params.Folder)
	}
	e.model = m.with(e.params)
	return e.model, nil
}

func (e *encoder) assetFiles(ctx context.Context) (*modelFiles, error) {
	dir, err := e.folder(ctx, e.params.Model)
	if err != nil {
		return nil, err
	}
	m := &modelFiles{dir: dir, query: "query: ", passage: "passage: ", pooling: poolMean, positions: e5Positions}
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
	e.mu.Lock()
	defer e.mu.Unlock()
	m, err := e.files(ctx)
	if err != nil {
		return nil, nil, err
	}
	if e.threads == 1 && m.packed[many] == m.packed[single] {
		which = many // the same thing
	}
	s := &e.sessions[which]
	if s.Session == nil {
		if s.Session, err = e.open(ctx, m, which); err != nil {
			return nil, nil, err
		}
	}
	s.users++
	return s.Session, sync.OnceFunc(func() { e.giveBack(s) }), nil
}

// open opens a session. The caller holds the lock.
func (e *encoder) open(ctx context.Context, m *modelFiles, which int) (*onnx.Session, error) {
	path, err := m.graph(ctx, which)
	if err != nil {
		return nil, err
	}
	runtime, err := e.runtime(ctx)
	if err != nil {
		return nil, err
	}
	o := onnx.Options{
		Threads:  1,
		Inputs:   []string{onnx.InputIDs, onnx.AttentionMask, onnx.TokenTypeIDs},
		Required: []string{onnx.InputIDs},
		Outputs:  [][]string{{onnx.LastHiddenState, "token_embeddings", "sentence_embedding"}},
	}
	if e.params.Output != auto {
		o.Outputs = [][]string{{e.params.Output}}
	}
	if which == single {
		o.Threads = e.threads
	}
	return runtime.Open(path, o)
}

func (e *encoder) runtime(ctx context.Context) (*onnx.Runtime, error) {
	dir, err := e.folder(ctx, assets.ONNXRuntime().Name)
	if err != nil {
		return nil, err
	}
	m, err := assets.ReadManifest(dir)
	if err != nil || len(m.Files) != 1 {
		return nil, fmt.Errorf("open model: no ONNX Runtime in %s: %w", dir, err)
	}
	return onnx.Load(assets.Paths{Dir: dir}.File(m.Files[0].Name))
}

// Close implements [Embedder].
func (e *encoder) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for i := range e.sessions {
		errs = append(errs, e.sessions[i].close())
	}
	return errors.Join(errs...)
}
