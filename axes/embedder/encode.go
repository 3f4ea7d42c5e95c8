package embedder

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"raglab/internal/onnx"
	"raglab/internal/param"
	"raglab/internal/tokenizer"
)

// EmbedPassages implements [Embedder].
func (e *encoder) EmbedPassages(ctx context.Context, texts []string, progress func(done int)) ([][]float32, Stats, error) {
	tokens, model, err := e.tokenizer(ctx)
	if err != nil {
		return nil, Stats{}, err
	}
	session, release, err := e.session(ctx, many)
	if err != nil {
		return nil, Stats{}, err
	}
	defer release()
	ids, stats, err := e.encode(tokens, model, texts)
	if err != nil {
		return nil, stats, err
	}
	run := &embedding{session: session, pooling: model.pooling, dense: model.dense, asked: e.poolingAsked(), normalize: e.params.Normalize, texts: texts, ids: ids}
	run.vectors = make([][]float32, len(texts))
	if err := run.all(ctx, e.threads, progress); err != nil {
		return nil, stats, err
	}
	return run.vectors, stats, nil
}

// EmbedQuery implements [Embedder].
func (e *encoder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	tokens, model, err := e.tokenizer(ctx)
	if err != nil {
		return nil, err
	}
	session, release, err := e.session(ctx, single)
	if err != nil {
		return nil, err
	}
	defer release()
	ids, _ := tokens.EncodeTruncated(nil, model.query+text, model.maxTokens)
	if len(ids) == 0 {
		return nil, errNoTokens(text)
	}
	run := &embedding{session: session, pooling: model.pooling, dense: model.dense, asked: e.poolingAsked(), normalize: e.params.Normalize, texts: []string{text}, ids: [][]int32{ids}}
	run.vectors = make([][]float32, 1)
	if err := run.all(ctx, 1, nil); err != nil {
		return nil, err
	}
	return run.vectors[0], nil
}

// CountPassages implements [TokenCounter].
func (e *encoder) CountPassages(texts []string) (Stats, error) {
	tokens, model, err := e.tokenizer(context.Background())
	if err != nil {
		return Stats{}, err
	}
	_, stats, err := e.encode(tokens, model, texts)
	return stats, err
}

// encode returns each text's token ids, computed on all threads.
func (e *encoder) encode(t *tokenizer.Tokenizer, model *modelFiles, texts []string) ([][]int32, Stats, error) {
	ids := make([][]int32, len(texts))
	var next, total, truncated atomic.Int64
	var wg sync.WaitGroup
	for range min(e.threads, len(texts)) {
		wg.Go(func() {
			var scratch []int32
			for i := next.Add(1) - 1; i < int64(len(texts)); i = next.Add(1) - 1 {
				var cut bool
				scratch, cut = t.EncodeTruncated(scratch[:0], model.passage+texts[i], model.maxTokens)
				ids[i] = append([]int32(nil), scratch...)
				total.Add(int64(len(scratch)))
				if cut {
					truncated.Add(1)
				}
			}
		})
	}
	wg.Wait()
	stats := Stats{Texts: len(texts), Tokens: int(total.Load()), Truncated: int(truncated.Load())}
	for i, text := range texts {
		if len(ids[i]) == 0 {
			return nil, stats, errNoTokens(text)
		}
	}
	return ids, stats, nil
}

func errNoTokens(text string) error {
	return fmt.Errorf("embed %s: the model's tokenizer gives no tokens for it", quote(text))
}

// quote returns the beginning of a text for a message.
func quote(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", strings.ToValidUTF8(text, "�"))
}

// embedding is one call's work. Workers write disjoint entries of vectors.
type embedding struct {
	session   *onnx.Session
	pooling   string
	dense     string
	asked     bool // the user chose a pooling other than the mean
	normalize bool
	texts     []string
	ids       [][]int32
	vectors   [][]float32
}

// all embeds everything with that many runs at once.
func (r *embedding) all(ctx context.Context, workers int, progress func(done int)) error {
	err := r.session.RunAll(ctx, onnx.Texts{IDs: r.ids}, workers, func(places []int, tokens int, out []onnx.Matrix) error {
		return r.take(out[0], places, tokens)
	}, progress)
	if err != nil {
		return fmt.Errorf("embed %w", err)
	}
	return nil
}

// take makes the vectors of a batch from the model's output.
func (r *embedding) take(out onnx.Matrix, places []int, columns int) error {
	rows, dim := len(places), int(out.Dims[len(out.Dims)-1])
	perText := 1 // rows of the output for each text
	switch {
	case len(out.Dims) == 2 && out.Dims[0] == int64(rows):
		if r.asked {
			return param.Errorf("pooling", "the model pools by itself: its output has the shape %v", out.Dims)
		}
	case len(out.Dims) == 3 && out.Dims[0] == int64(rows) && out.Dims[1] == int64(columns):
		perText = columns
		if err := r.canPool(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%d texts of %d tokens: the model's output has the shape %v, expected [%d %d n] or [%d n]", rows, columns, out.Dims, rows, columns, rows)
	}
	if dim == 0 || len(out.Data) != rows*perText*dim {
		return fmt.Errorf("%d texts of %d tokens: the model's output of shape %v holds %d numbers", rows, columns, out.Dims, len(out.Data))
	}
	vectors := make([]float32, rows*dim)
	for i, p := range places {
		v := vectors[i*dim : (i+1)*dim : (i+1)*dim]
		pool(v, out.Data[i*perText*dim:(i+1)*perText*dim], r.pooling)
		if err := finish(v, r.normalize); err != nil {
			return fmt.Errorf("%s: %w", quote(r.texts[p]), err)
		}
		r.vectors[p] = v
	}
	return nil
}

func (e *encoder) poolingAsked() bool {
	return e.params.Pooling != auto && e.params.Pooling != poolMean
}

// canPool tells whether what the model does to its token vectors is known here.
func (r *embedding) canPool() error {
	const remedy = "export it as one graph whose output is sentence_embedding, into a folder, and set output"
	if way, unknown := strings.CutPrefix(r.pooling, unknownPooling); unknown {
		return param.Errorf("pooling", "the model pools by its %s, which raglab does not; set another, or %s", way, remedy)
	}
	if r.dense != "" {
		return param.Errorf("output", "the model's vectors pass through a module %s, which this output comes before; %s", r.dense, remedy)
	}
	return nil
}

// pool writes the pooled vector of a text's token vectors to v.
func pool(v, tokens []float32, pooling string) {
	switch {
	case pooling == poolCLS || len(tokens) == len(v):
		copy(v, tokens)
		return
	case pooling == poolLast:
		copy(v, tokens[len(tokens)-len(v):])
		return
	case pooling == poolMax:
		copy(v, tokens)
		for tokens = tokens[len(v):]; len(tokens) > 0; tokens = tokens[len(v):] {
			for i, x := range tokens[:len(v)] {
				v[i] = max(v[i], x)
			}
		}
		return
	}
	count := float32(len(tokens) / len(v))
	for len(tokens) > 0 {
		for i, x := range tokens[:len(v)] {
			v[i] += x
		}
		tokens = tokens[len(v):]
	}
	for i := range v {
		v[i] /= count
	}
}

// finish checks a vector and scales it to unit length if normalize is set.
func finish(v []float32, normalize bool) error {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	switch {
	case math.IsNaN(sum) || math.IsInf(sum, 0):
		return fmt.Errorf("the model gives numbers that are not finite")
	case !normalize:
		return nil
	case sum == 0:
		return fmt.Errorf("the model gives a vector of zeros, which has no direction")
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) * scale)
	}
	return nil
}
