package embedder

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

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
	ids, stats, err := e.encode(tokens, model.passage, texts)
	if err != nil {
		return nil, stats, err
	}
	run := &embedding{session: session, pooling: model.pooling, normalize: e.params.Normalize, texts: texts, ids: ids}
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
	ids, _ := tokens.EncodeTruncated(nil, model.query+text, e.params.MaxTokens)
	if len(ids) == 0 {
		return nil, errNoTokens(text)
	}
	run := &embedding{session: session, pooling: model.pooling, normalize: e.params.Normalize, texts: []string{text}, ids: [][]int32{ids}}
	run.vectors = make([][]float32, 1)
	if err := run.batch(ctx, []int{0}, &inputs{}); err != nil {
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
	_, stats, err := e.encode(tokens, model.passage, texts)
	return stats, err
}

// encode returns each text's token ids, computed on all threads.
func (e *encoder) encode(t *tokenizer.Tokenizer, prefix string, texts []string) ([][]int32, Stats, error) {
	ids := make([][]int32, len(texts))
	var next, total, truncated atomic.Int64
	var wg sync.WaitGroup
	for range min(e.threads, len(texts)) {
		wg.Go(func() {
			var scratch []int32
			for i := next.Add(1) - 1; i < int64(len(texts)); i = next.Add(1) - 1 {
				var cut bool
				scratch, cut = t.EncodeTruncated(scratch[:0], prefix+texts[i], e.params.MaxTokens)
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
	normalize bool
	texts     []string
	ids       [][]int32
	vectors   [][]float32
}

// all embeds everything with that many runs at once.
func (r *embedding) all(ctx context.Context, workers int, progress func(done int)) error {
	work := batches(r.ids)
	var next atomic.Int64
	var mu sync.Mutex
	done := 0
	group, ctx := errgroup.WithContext(ctx)
	for range min(workers, len(work)) {
		group.Go(func() error {
			var in inputs
			for i := next.Add(1) - 1; i < int64(len(work)); i = next.Add(1) - 1 {
				if err := r.batch(ctx, work[i], &in); err != nil {
					return err
				}
				mu.Lock()
				done += len(work[i])
				if progress != nil {
					progress(done)
				}
				mu.Unlock()
			}
			return nil
		})
	}
	return group.Wait()
}

// inputs is the memory of the inputs of a run, used again by the next.
type inputs struct{ ids, ones, zeros []int64 }

// grow makes room for n elements each.
func (in *inputs) grow(n int) {
	for len(in.ones) < n {
		in.ones = append(in.ones, 1)
		in.zeros = append(in.zeros, 0)
	}
	if len(in.ids) < n {
		in.ids = make([]int64, n)
	}
}

// batch embeds the texts at those places, which have equal token lengths.
func (r *embedding) batch(ctx context.Context, places []int, in *inputs) error {
	rows, columns := len(places), len(r.ids[places[0]])
	n := rows * columns
	in.grow(n)
	at := 0
	for _, p := range places {
		for _, id := range r.ids[p] {
			in.ids[at] = int64(id)
			at++
		}
	}
	var values [][]int64
	for _, v := range r.session.Inputs() {
		switch v.Name {
		case onnx.InputIDs:
			values = append(values, in.ids[:n])
		case onnx.AttentionMask: // there is no padding
			values = append(values, in.ones[:n])
		default:
			values = append(values, in.zeros[:n])
		}
	}
	out, err := r.session.Run(ctx, rows, columns, values...)
	if err != nil {
		return fmt.Errorf("embed %d texts of %d tokens: %w", rows, columns, err)
	}
	return r.take(out[0], places, columns)
}

// take makes the vectors of a batch from the model's output.
func (r *embedding) take(out onnx.Matrix, places []int, columns int) error {
	rows, dim := len(places), int(out.Dims[len(out.Dims)-1])
	perText := 1 // rows of the output for each text
	switch {
	case len(out.Dims) == 2 && out.Dims[0] == int64(rows):
		if r.pooling == poolCLS {
			return param.Errorf("pooling", "the model pools by itself: its output has the shape %v", out.Dims)
		}
	case len(out.Dims) == 3 && out.Dims[0] == int64(rows) && out.Dims[1] == int64(columns):
		perText = columns
	default:
		return fmt.Errorf("embed %d texts of %d tokens: the model's output has the shape %v, expected [%d %d n] or [%d n]", rows, columns, out.Dims, rows, columns, rows)
	}
	if dim == 0 || len(out.Data) != rows*perText*dim {
		return fmt.Errorf("embed %d texts of %d tokens: the model's output of shape %v holds %d numbers", rows, columns, out.Dims, len(out.Data))
	}
	vectors := make([]float32, rows*dim)
	for i, p := range places {
		v := vectors[i*dim : (i+1)*dim : (i+1)*dim]
		pool(v, out.Data[i*perText*dim:(i+1)*perText*dim], r.pooling)
		if err := finish(v, r.normalize); err != nil {
			return fmt.Errorf("embed %s: %w", quote(r.texts[p]), err)
		}
		r.vectors[p] = v
	}
	return nil
}

// pool writes the pooled vector of a text's token vectors to v.
func pool(v, tokens []float32, pooling string) {
	if pooling == poolCLS || len(tokens) == len(v) {
		copy(v, tokens)
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
