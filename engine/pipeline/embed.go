package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"raglab/axes"
	"raglab/axes/embedder"
	"raglab/cache"
	"raglab/engine"
	"raglab/engine/artifact"
)

// embedWork is the work of stages that embed.
type embedWork struct {
	make  func() (embedder.Embedder, error)
	space cache.Digest
	memo  func(space cache.Digest) (*cache.Memo, error)
}

// embedKind embeds the chunks of one shard. A text that was embedded before, in
// any shard of any experiment, is remembered.
var embedKind = &engine.Kind{
	Name: "embed", Version: "1", Outputs: []string{"vectors"}, Run: runEmbed, Forecast: forecastEmbed, Same: sameVectors,
}

// batchTexts is how many new texts are embedded before they are remembered: a
// crash costs at most so many.
const batchTexts = 512

func runEmbed(ctx context.Context, t *engine.Task) error {
	w := t.Work.(embedWork)
	texts, err := indexedTexts(t)
	if err != nil {
		return err
	}
	vectors, made, err := w.vectors(ctx, t, texts)
	if err != nil {
		return err
	}
	all, err := countTokens(w, texts, made)
	if err != nil {
		return err
	}
	t.Measure("tokens", all.Tokens)
	t.Measure("tokens_estimated", all.Estimated)
	made.measure(t, w, len(texts))
	t.Measure("truncated", all.Truncated)
	if all.Truncated > 0 {
		t.Log.Info("texts truncated", "stage", t.Address, "texts", all.Truncated)
	}
	if made.rescaled > 0 {
		t.Log.Info("the server's vectors are not of unit length and were scaled", "stage", t.Address, "vectors", made.rescaled)
	}
	return writeVectors(t, vectors)
}

// vectors are those of texts, from memory or new.
func (w embedWork) vectors(ctx context.Context, t *engine.Task, texts []string) ([][]float32, freshVectors, error) {
	memo, err := w.memo(w.space)
	if err != nil {
		return nil, freshVectors{}, fmt.Errorf("open memory of embeddings: %w", err)
	}
	hashes := textHashes(texts)
	vectors := make([][]float32, len(texts))
	if !t.Fresh {
		if vectors, err = memo.Get(ctx, hashes); err != nil {
			return nil, freshVectors{}, fmt.Errorf("look up embeddings: %w", err)
		}
	}
	made, err := embedFresh(ctx, t, w, memo, texts, hashes, missing(hashes, vectors))
	if price, known := w.price(); known {
		t.Measure(engine.PaidUSD, float64(made.tokens)*price/1000)
	}
	if err != nil {
		return nil, made, serverError(err)
	}
	for i := range vectors {
		if vectors[i] == nil {
			vectors[i] = made.vectors[hashes[i]]
		}
	}
	return vectors, made, nil
}

// measure measures the embedding of so many texts.
func (f freshVectors) measure(t *engine.Task, w embedWork, texts int) {
	t.Measure("texts", texts)
	t.Measure("new_texts", len(f.vectors))
	t.Measure("new_tokens", f.tokens)
	t.Measure("rescaled", f.rescaled)
	t.Measure("embed_seconds", f.seconds)
	t.Measure("space", w.space.String())
}

// indexedTexts are the texts of a shard's chunks as they are embedded.
func indexedTexts(t *engine.Task) ([]string, error) {
	in, err := t.Open("chunks")
	if err != nil {
		return nil, err
	}
	var texts []string
	for chunk, err := range artifact.ReadLines[axes.Chunk](in) {
		if err != nil {
			return nil, fmt.Errorf("read chunks: %w", err)
		}
		texts = append(texts, chunk.Indexed())
	}
	return texts, nil
}

func textHashes(texts []string) []cache.Digest {
	hashes := make([]cache.Digest, len(texts))
	for i, s := range texts {
		hashes[i] = cache.DigestOf([]byte(s))
	}
	return hashes
}

// missing lists the first place of each text without a vector.
func missing(hashes []cache.Digest, vectors [][]float32) []int {
	var fresh []int
	seen := map[cache.Digest]bool{}
	for i, v := range vectors {
		if v == nil && !seen[hashes[i]] {
			seen[hashes[i]] = true
			fresh = append(fresh, i)
		}
	}
	return fresh
}

// freshVectors are the vectors of texts that were not remembered.
type freshVectors struct {
	vectors map[cache.Digest][]float32
	tokens  int
	// estimated says that the tokens are reckoned from the length of texts; reckoned
	// is what such an estimate of them is where they are not.
	estimated bool
	reckoned  int
	rescaled  int
	seconds   float64
}

// add counts what an embedder was given.
func (f *freshVectors) add(s embedder.Stats) {
	f.tokens, f.estimated, f.rescaled = f.tokens+s.Tokens, f.estimated || s.Estimated, f.rescaled+s.Rescaled
}

// reckon adds the estimate of new texts, of an embedder that can only estimate
// before it has embedded.
func (f *freshVectors) reckon(model embedder.Embedder, texts []string) error {
	counter, ok := model.(embedder.TokenCounter)
	if _, billed := model.(embedder.Priced); !ok || !billed {
		return nil
	}
	stats, err := counter.CountPassages(texts)
	if err != nil {
		return fmt.Errorf("count tokens: %w", err)
	}
	f.reckoned += stats.Tokens
	return nil
}

// embedFresh embeds new texts, a batch at a time, and remembers each batch.
// Where another process was first, its vectors are taken.
func embedFresh(ctx context.Context, t *engine.Task, w embedWork, memo *cache.Memo, texts []string, hashes []cache.Digest, fresh []int) (freshVectors, error) {
	out := freshVectors{vectors: make(map[cache.Digest][]float32, len(fresh))}
	if len(fresh) == 0 {
		return out, nil
	}
	model, err := w.make()
	if err != nil {
		return out, err
	}
	for done := 0; done < len(fresh); {
		batch := fresh[done:min(done+batchTexts, len(fresh))]
		keys, input := make([]cache.Digest, len(batch)), make([]string, len(batch))
		for i, at := range batch {
			keys[i], input[i] = hashes[at], texts[at]
		}
		start := time.Now()
		vectors, stats, err := model.EmbedPassages(ctx, input, func(n int) { t.Progress(done+n, len(fresh), "texts") })
		out.add(stats)
		if err != nil {
			err = fmt.Errorf("embed: %w", err)
			if !t.Fresh {
				err = errors.Join(err, rememberSome(ctx, memo, keys, vectors))
			}
			return out, err
		}
		out.seconds += time.Since(start).Seconds()
		if err := checkVectors(vectors, len(batch)); err != nil {
			return out, err
		}
		if err := out.reckon(model, input); err != nil {
			return out, err
		}
		if !t.Fresh {
			if vectors, err = memo.Put(ctx, keys, vectors); err != nil {
				return out, fmt.Errorf("remember embeddings: %w", err)
			}
		}
		for i, k := range keys {
			out.vectors[k] = vectors[i]
		}
		done += len(batch)
	}
	return out, nil
}

// rememberSome keeps the vectors that were made before an error: what was paid for
// is not paid twice.
func rememberSome(ctx context.Context, memo *cache.Memo, keys []cache.Digest, vectors [][]float32) error {
	var some [][]float32
	var their []cache.Digest
	for i, v := range vectors {
		if v != nil {
			some, their = append(some, v), append(their, keys[i])
		}
	}
	if len(some) == 0 || checkVectors(some, len(some)) != nil {
		return nil
	}
	if _, err := memo.Put(context.WithoutCancel(ctx), their, some); err != nil {
		return fmt.Errorf("remember embeddings: %w", err)
	}
	return nil
}

// countTokens counts the tokens of all texts, remembered ones included, so that
// costs can be told for the whole. Where the embedder can only estimate them, and
// somebody counted those of new texts, the estimate of the others is as far off as
// that of the new ones was.
func countTokens(w embedWork, texts []string, made freshVectors) (embedder.Stats, error) {
	model, err := w.make()
	if err != nil {
		return embedder.Stats{}, err
	}
	counter, ok := model.(embedder.TokenCounter)
	if !ok {
		return embedder.Stats{}, nil
	}
	stats, err := counter.CountPassages(texts)
	if err != nil {
		return embedder.Stats{}, fmt.Errorf("count tokens: %w", err)
	}
	stats.Estimated = stats.Estimated && len(texts) > 0
	if stats.Estimated && !made.estimated && made.reckoned > 0 {
		stats.Tokens = int(math.Round(float64(stats.Tokens) * float64(made.tokens) / float64(made.reckoned)))
		stats.Estimated = len(made.vectors) < distinct(texts)
	}
	return stats, nil
}

func distinct(texts []string) int {
	seen := make(map[string]struct{}, len(texts))
	for _, s := range texts {
		seen[s] = struct{}{}
	}
	return len(seen)
}

// checkVectors refuses what no index could use.
func checkVectors(vectors [][]float32, n int) error {
	if len(vectors) != n {
		return fmt.Errorf("the embedder gave %d vectors for %d texts", len(vectors), n)
	}
	for i, v := range vectors {
		if len(v) == 0 || len(v) != len(vectors[0]) {
			return fmt.Errorf("the embedder gave a vector of %d numbers for text %d, after vectors of %d", len(v), i, len(vectors[0]))
		}
		for _, x := range v {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return fmt.Errorf("the embedder gave a number that is not finite for text %d", i)
			}
		}
	}
	return nil
}

func writeVectors(t *engine.Task, vectors [][]float32) error {
	m := artifact.Matrix{Rows: len(vectors)}
	if len(vectors) > 0 {
		m.Dim = len(vectors[0])
	}
	m.Data = make([]float32, 0, m.Rows*m.Dim)
	for _, v := range vectors {
		m.Data = append(m.Data, v...)
	}
	w, err := t.Create("vectors")
	if err != nil {
		return err
	}
	return artifact.WriteMatrix(w, m)
}

// forecastEmbed counts the texts that are not remembered.
func forecastEmbed(ctx context.Context, t *engine.Task) (engine.Forecast, error) {
	texts, err := indexedTexts(t)
	if err != nil {
		return engine.Forecast{}, err
	}
	return t.Work.(embedWork).forecast(ctx, texts)
}

func (w embedWork) forecast(ctx context.Context, texts []string) (engine.Forecast, error) {
	memo, err := w.memo(w.space)
	if err != nil {
		return engine.Forecast{}, err
	}
	known, err := memo.Has(ctx, textHashes(texts))
	if err != nil {
		return engine.Forecast{}, err
	}
	f := engine.Forecast{Total: len(texts), Unit: "texts"}
	var fresh []string
	for i, k := range known {
		if !k {
			f.New++
			fresh = append(fresh, texts[i])
		}
	}
	f.USD, err = w.usd(fresh)
	return f, err
}

// vectorTolerance is how far the cosine of two embeddings of one text may be
// from 1: other batches and other machines round differently.
const vectorTolerance = 1e-3

func sameVectors(_ string, old, again io.Reader) error {
	a, err := readWhole(old)
	if err != nil {
		return err
	}
	b, err := readWhole(again)
	if err != nil {
		return err
	}
	if a.Rows != b.Rows || a.Dim != b.Dim {
		return fmt.Errorf("%d × %d vectors in the cache, %d × %d made again", a.Rows, a.Dim, b.Rows, b.Dim)
	}
	for i := range a.Rows {
		if c := cosine(a.Row(i), b.Row(i)); !(c >= 1-vectorTolerance) {
			return fmt.Errorf("vector %d made again has cosine %.6f with the one in the cache", i, c)
		}
	}
	return nil
}

func readWhole(r io.Reader) (artifact.Matrix, error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return artifact.Matrix{}, err
	}
	return artifact.ParseMatrix(raw)
}

func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i, x := range a {
		y := b[i]
		dot += float64(x) * float64(y)
		aa += float64(x) * float64(x)
		bb += float64(y) * float64(y)
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}
