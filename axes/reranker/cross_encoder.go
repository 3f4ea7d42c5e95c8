package reranker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"raglab/axes"
	"raglab/internal/assets"
	"raglab/internal/onnx"
	"raglab/internal/param"
	"raglab/internal/tokenizer"
)

// CrossEncoderParams are the parameters of the kind cross_encoder.
type CrossEncoderParams struct {
	Model      string `hcl:"model" default:"BAAI/bge-reranker-base" example:"\"cross-encoder/ms-marco-MiniLM-L-6-v2\"" doc:"Hugging Face repository OWNER/NAME, with @REVISION behind it if need be, with onnx/model.onnx, tokenizer.json and config.json; not read when folder is set."`
	Folder     string `hcl:"folder" default:"" path:"true" doc:"Folder with a cross-encoder: model.onnx, tokenizer.json and, if there is one, config.json."`
	Depth      int    `hcl:"depth" default:"50" min:"1" max:"100000" unit:"hits" at:"order" doc:"How many of the first hits are scored and put in order; those beyond keep their places."`
	MaxTokens  int    `hcl:"max_tokens" default:"512" min:"8" max:"131072" unit:"tokens" doc:"Longer pairs are cut here, special tokens included."`
	Truncation string `hcl:"truncation" default:"longest_first" enum:"longest_first|passage" doc:"What of a pair that is too long is cut: the longer of the two until they are of one length, then both; or the passage as long as there is one."`
	Activation string `hcl:"activation" default:"sigmoid" enum:"sigmoid|none" at:"order" doc:"What is shown as the score: the sigmoid of the model's output, between 0 and 1, or that output itself. The order is the same."`
}

// The values of the attributes truncation and activation.
const (
	cutPassage = "passage"
	rawLogits  = "none"
)

var crossEncoder = axes.NeedsOf(axes.Define(axes.Meta{
	Name: "cross_encoder",
	// Raise it when scores or their order may change.
	Version: "1",
	Summary: "A cross-encoder in ONNX form, run on this machine's CPU: it reads question and passage together.",
	Doc: `Any model for sequence classification with one output, logits, such as
BAAI/bge-reranker-base or cross-encoder/ms-marco-MiniLM-L-6-v2. raglab lock pins the
commit of a repository; its file onnx/model.onnx must hold the weights. The pair is encoded by
the template of the model's tokenizer.json, token types included where the model
wants them. Pairs are scored in batches of equal length, so nothing is padded.

Only the first depth hits are scored and put in order by score; equal scores keep the
order that they had, and what lies beyond keeps its rank. A hit that was not scored
bears a score that only says its place: the lowest one less 1, less 2 and so on.

The depth may be an axis of its own, axis "rerank_depth" { values = [20, 30, 50, 60] },
read by depth = axis.rerank_depth. What a pair's score is depends on neither depth nor activation, and is remembered:
depths 20, 30, 50 and 60 together compute what 60 does, in whatever order they run, and
another first stage or an edited spec computes the pairs that are new. A question's
latency is then the sum of the times that its pairs took when they were scored, each
its share of the time of the question that it was scored for. Reports say where
latencies are composed so, and leave them unmeasured where a pair was scored on another
machine.`,
	Volatile: true,
}, newCrossEncoder), func(p CrossEncoderParams) axes.Needs {
	needs := axes.Needs{Assets: []string{assets.ONNXRuntime().Name}}
	switch {
	case p.Folder != "":
		needs.Files = []string{p.Folder}
	case isRepository(p.Model): // else no instance can be made
		needs.Assets = append(needs.Assets, modelAsset(p.Model))
	}
	return needs
})

func isRepository(model string) bool {
	return assets.CheckRepository(model) == nil && strings.Contains(model, "/")
}

// modelAsset is the name of the asset that a repository's model is.
func modelAsset(model string) string {
	return assets.HuggingFaceModel(model, map[string]string{
		"model.onnx": "onnx/model.onnx", "tokenizer.json": "tokenizer.json", "config.json": "config.json",
	}).Name
}

// encoder is the kind's instance. The tokenizer and the session are opened when
// they are needed; the session is closed when nobody has used it for a while.
type encoder struct {
	params  CrossEncoderParams
	threads int
	asset   func(ctx context.Context, name string) (string, error)
	session *onnx.Shared

	mu     sync.Mutex // guards what follows
	dir    string
	tokens *tokenizer.Tokenizer
}

func newCrossEncoder(p CrossEncoderParams, env axes.Env) (Reranker, error) {
	if p.Folder == "" && !isRepository(p.Model) {
		return nil, param.Errorf("model", "%q is no Hugging Face repository OWNER/NAME or OWNER/NAME@REVISION: a folder of your own is named by the attribute folder", p.Model)
	}
	e := &encoder{params: p, threads: max(1, env.Threads), asset: env.Asset}
	e.session = onnx.NewShared(e.open)
	return e, nil
}

func (e *encoder) UsesText() bool { return true }

func (e *encoder) Depth() int { return e.params.Depth }

// Score implements [PairScorer].
func (e *encoder) Score(raw float32) float64 {
	if e.params.Activation == rawLogits {
		return float64(raw)
	}
	return 1 / (1 + math.Exp(-float64(raw)))
}

func (e *encoder) Rerank(ctx context.Context, q axes.Query, hits []axes.Hit, passage func(uint32) (string, error)) ([]axes.Hit, error) {
	return rerankPairs(ctx, e, q, hits, passage)
}

// Warm implements [Warmer]: it loads the model and lets it score one pair.
func (e *encoder) Warm(ctx context.Context, question, passage string) error {
	_, err := e.ScorePairs(ctx, question, []string{passage})
	return err
}

// ScorePairs implements [PairScorer].
func (e *encoder) ScorePairs(ctx context.Context, question string, passages []string) ([]Pair, error) {
	if len(passages) == 0 {
		return nil, nil
	}
	tokens, err := e.tokenizer(ctx)
	if err != nil {
		return nil, err
	}
	session, release, err := e.session.Use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	start := time.Now()
	pairs := make([]Pair, len(passages))
	texts := e.encode(tokens, question, passages, pairs)
	err = session.RunAll(ctx, texts, e.threads, func(places []int, _ int, out []onnx.Matrix) error {
		return take(pairs, places, out[0])
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("score %w", err)
	}
	share(pairs, time.Since(start))
	return pairs, nil
}

// encode encodes the pairs and notes their lengths.
func (e *encoder) encode(t *tokenizer.Tokenizer, question string, passages []string, pairs []Pair) onnx.Texts {
	texts := onnx.Texts{IDs: make([][]int32, len(passages)), Types: make([][]int32, len(passages))}
	encode := t.EncodePairTruncated
	if e.params.Truncation == cutPassage {
		encode = t.EncodePairSecond
	}
	for i, passage := range passages {
		texts.IDs[i], texts.Types[i], pairs[i].Truncated = encode(nil, nil, question, passage, e.params.MaxTokens)
		pairs[i].Tokens = len(texts.IDs[i])
	}
	return texts
}

// take notes the scores of a batch.
func take(pairs []Pair, places []int, out onnx.Matrix) error {
	rows := int64(len(places))
	single := len(out.Dims) == 1 && out.Dims[0] == rows
	if !single && (len(out.Dims) != 2 || out.Dims[0] != rows || out.Dims[1] != 1) {
		return fmt.Errorf("%d pairs: the model's output has the shape %v, expected one number for each pair, [%d 1]: is it a cross-encoder with one label?", rows, out.Dims, rows)
	}
	for i, p := range places {
		pairs[p].Raw = out.Data[i]
	}
	return nil
}

// folder finds the model's folder. The caller holds the lock.
func (e *encoder) folder(ctx context.Context) (string, error) {
	if e.dir != "" {
		return e.dir, nil
	}
	dir := e.params.Folder
	if dir == "" {
		var err error
		if dir, err = e.assetFolder(ctx, modelAsset(e.params.Model)); err != nil {
			return "", err
		}
	}
	for _, name := range []string{"model.onnx", "tokenizer.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf("open model: the folder %s must hold model.onnx and tokenizer.json: %w", dir, err)
		}
	}
	positions, err := onnx.Positions(dir)
	if err != nil {
		return "", fmt.Errorf("open model: %w", err)
	}
	if positions > 0 && e.params.MaxTokens > positions {
		return "", param.Errorf("max_tokens", "%d is more than the %d that the model in %s takes", e.params.MaxTokens, positions, dir)
	}
	e.dir = dir
	return dir, nil
}

func (e *encoder) assetFolder(ctx context.Context, asset string) (string, error) {
	if e.asset == nil {
		return "", fmt.Errorf("open model: %w", errors.New("no assets are to be had here"))
	}
	return e.asset(ctx, asset)
}

func (e *encoder) tokenizer(ctx context.Context) (*tokenizer.Tokenizer, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tokens != nil {
		return e.tokens, nil
	}
	dir, err := e.folder(ctx)
	if err != nil {
		return nil, err
	}
	e.tokens, err = onnx.OpenTokenizer(dir)
	return e.tokens, err
}

// open opens the session. Each run is on one thread, as many at once as there are
// threads.
func (e *encoder) open(ctx context.Context) (*onnx.Session, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	dir, err := e.folder(ctx)
	if err != nil {
		return nil, err
	}
	library, err := e.assetFolder(ctx, assets.ONNXRuntime().Name)
	if err != nil {
		return nil, err
	}
	runtime, err := onnx.LoadFrom(library)
	if err != nil {
		return nil, err
	}
	return runtime.Open(filepath.Join(dir, "model.onnx"), onnx.Options{
		Threads:  1,
		Inputs:   []string{onnx.InputIDs, onnx.AttentionMask, onnx.TokenTypeIDs},
		Required: []string{onnx.InputIDs},
		Outputs:  [][]string{{"logits", "scores", "score"}},
	})
}

// Close frees the model.
func (e *encoder) Close() error { return e.session.Close() }
