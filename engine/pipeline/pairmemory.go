package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"raglab/axes/reranker"
	"raglab/cache"
	"raglab/engine"
)

// pairMemory remembers what pairs of question and passage scored under one
// reranker, over all runs and experiments: in the cache's memory of vectors, a
// vector for each pair. The first score of a pair stands, so that it is equal in all
// rows.
type pairMemory struct {
	// Whoever scores holds it, so that two stages never score the same pair and
	// times are of one question at a time.
	sync.Mutex
	space cache.Digest
	open  func(space cache.Digest) (*cache.Memo, error)
	// machine is the mark of this machine and how it runs models.
	machine float32

	sharing sync.Mutex // guards scorer
	scorer  reranker.PairScorer
}

// shared returns the first scorer that it was given, which scores pairs as all
// others of the space do.
func (m *pairMemory) shared(s reranker.PairScorer) reranker.PairScorer {
	m.sharing.Lock()
	defer m.sharing.Unlock()
	if m.scorer == nil {
		m.scorer = s
	}
	return m.scorer
}

// remembered is a pair as the memory has it.
type remembered struct {
	reranker.Pair
	// here says that it was scored on this machine, with as many threads.
	here bool
}

// The components of a pair's vector.
const (
	pairRaw = iota
	pairMilliseconds
	pairTokens
	pairTruncated
	pairSearches
	pairMachine
	pairComponents
)

// machineMark is a number for a machine that a 32-bit float holds exactly: one in
// sixteen million others has the same.
func machineMark(machine string, threads int) float32 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d threads on %s", threads, machine))
	return float32(binary.BigEndian.Uint32(sum[:]) >> 8)
}

func (m *pairMemory) vector(p reranker.Pair) []float32 {
	v := make([]float32, pairComponents)
	v[pairRaw] = p.Raw
	v[pairMilliseconds] = float32(milliseconds(p.Took))
	v[pairTokens] = float32(p.Tokens)
	if p.Truncated {
		v[pairTruncated] = 1
	}
	v[pairSearches] = float32(p.Searches)
	v[pairMachine] = m.machine
	return v
}

func (m *pairMemory) pair(v []float32) (remembered, error) {
	if len(v) != pairComponents {
		return remembered{}, fmt.Errorf("read memory of scores: a pair has %d numbers, expected %d", len(v), pairComponents)
	}
	return remembered{reranker.Pair{
		Raw:       v[pairRaw],
		Took:      time.Duration(float64(v[pairMilliseconds]) * float64(time.Millisecond)),
		Tokens:    int(v[pairTokens]),
		Truncated: v[pairTruncated] != 0,
		Searches:  float64(v[pairSearches]),
	}, v[pairMachine] == m.machine}, nil
}

// pairKey names a pair.
func pairKey(question, passage string) cache.Digest {
	return cache.DigestOf(engine.AppendValue(engine.AppendValue(nil, question), passage))
}

// get returns the pairs of those keys that are remembered.
func (m *pairMemory) get(ctx context.Context, keys []cache.Digest) (map[cache.Digest]remembered, error) {
	memo, err := m.open(m.space)
	if err != nil {
		return nil, fmt.Errorf("open memory of scores: %w", err)
	}
	vectors, err := memo.Get(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("look up scores: %w", err)
	}
	return m.pairs(keys, vectors)
}

func (m *pairMemory) pairs(keys []cache.Digest, vectors [][]float32) (map[cache.Digest]remembered, error) {
	known := make(map[cache.Digest]remembered, len(keys))
	for i, v := range vectors {
		if v == nil {
			continue
		}
		var err error
		if known[keys[i]], err = m.pair(v); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// put remembers pairs and returns them as they stand now: where another process was
// first, its score.
func (m *pairMemory) put(ctx context.Context, keys []cache.Digest, pairs []reranker.Pair) (map[cache.Digest]remembered, error) {
	memo, err := m.open(m.space)
	if err != nil {
		return nil, fmt.Errorf("open memory of scores: %w", err)
	}
	vectors := make([][]float32, len(pairs))
	for i, p := range pairs {
		vectors[i] = m.vector(p)
	}
	if vectors, err = memo.Put(ctx, keys, vectors); err != nil {
		return nil, fmt.Errorf("remember scores: %w", err)
	}
	return m.pairs(keys, vectors)
}
