package reranker

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"raglab/axes"
)

// Pair is what scoring one passage as an answer to a question gave and took.
type Pair struct {
	// Raw is the model's own score before any activation; the higher the better. It
	// is finite.
	Raw float32
	// Tokens is the pair's length as the model was given it, 0 where it does not say.
	Tokens int
	// Truncated says that the pair was longer than the model takes.
	Truncated bool
	// Searches is the pair's share of the searches that a service bills.
	Searches float64
	// Took is the pair's share of the time that its question took.
	Took time.Duration
}

// PairScorer is implemented by rerankers that score a passage by the question and
// that passage alone. Their rankings can be made of scores that are remembered: a
// pair need not be scored again for another depth, or another first stage.
type PairScorer interface {
	Reranker
	// Depth is how many of the first hits are scored and put in order.
	Depth() int
	// ScorePairs scores each passage, in order. What a pair's score is must not
	// depend on the other passages, but for rounding.
	ScorePairs(ctx context.Context, question string, passages []string) ([]Pair, error)
	// Score is the score that a ranking shows for a raw one. It does not fall where
	// the raw one rises.
	Score(raw float32) float64
}

// Priced is implemented by scorers that may cost money.
type Priced interface {
	// USD is what pairs cost in US dollars that come to so many searches and tokens,
	// and false where no price is known.
	USD(searches float64, tokens int) (usd float64, known bool)
	// Expect reckons what scoring passages would come to.
	Expect(question string, passages []string) (searches float64, tokens int)
}

// Warmer is implemented by rerankers that take long to answer the first time.
type Warmer interface {
	// Warm answers that first time, for nothing.
	Warm(ctx context.Context, question, passage string) error
}

// Reorder puts the first len(raw) hits in the order of their raw scores, from the
// highest; equal ones stay in the order that they had. The hits beyond keep their
// places. It returns a new ranking.
//
// The function show gives the scores that the new ranking bears. A run is ordered
// by score, ties by the lower ordinal: where that would say otherwise, a score is
// lowered to the next smaller number, so that the order is the one described. A hit
// that was not scored has no score to show; it gets the lowest one less 1, the next
// less 2, and so on, which say nothing but its place.
func Reorder(hits []axes.Hit, raw []float32, show func(raw float32) float64) []axes.Hit {
	places := make([]int, len(raw))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(raw[b], raw[a]) })
	out := make([]axes.Hit, 0, len(hits))
	for _, p := range places {
		out = append(out, below(out, axes.Hit{Ordinal: hits[p].Ordinal, Score: show(raw[p])}))
	}
	if len(raw) == 0 {
		return append(out, hits...)
	}
	lowest := out[len(out)-1].Score
	for i, h := range hits[len(raw):] {
		out = append(out, below(out, axes.Hit{Ordinal: h.Ordinal, Score: lowest - float64(i+1)}))
	}
	return out
}

// below lowers a hit's score as far as it must to stand after a ranking.
func below(ranking []axes.Hit, h axes.Hit) axes.Hit {
	if len(ranking) == 0 {
		return h
	}
	last := ranking[len(ranking)-1]
	h.Score = min(h.Score, last.Score)
	if !last.Before(h) {
		h.Score = math.Nextafter(last.Score, math.Inf(-1))
	}
	return h
}

// rerankPairs is Rerank for a scorer of pairs.
func rerankPairs(ctx context.Context, s PairScorer, q axes.Query, hits []axes.Hit, passage func(ordinal uint32) (string, error)) ([]axes.Hit, error) {
	passages := make([]string, min(s.Depth(), len(hits)))
	for i := range passages {
		var err error
		if passages[i], err = passage(hits[i].Ordinal); err != nil {
			return nil, err
		}
	}
	if len(passages) == 0 {
		return hits, nil
	}
	pairs, err := s.ScorePairs(ctx, q.Text, passages)
	if err != nil {
		return nil, err
	}
	if err := CheckPairs(pairs, len(passages)); err != nil {
		return nil, err
	}
	raw := make([]float32, len(pairs))
	for i, p := range pairs {
		raw[i] = p.Raw
	}
	return Reorder(hits, raw, s.Score), nil
}

// share divides the time that some pairs took among them: by their tokens, equally
// where those are not known.
func share(pairs []Pair, took time.Duration) {
	total := 0
	for _, p := range pairs {
		total += p.Tokens
	}
	for i := range pairs {
		part := 1 / float64(len(pairs))
		if total > 0 {
			part = float64(pairs[i].Tokens) / float64(total)
		}
		pairs[i].Took = time.Duration(part * float64(took))
	}
}

// CheckPairs refuses what no ranking could be made of.
func CheckPairs(pairs []Pair, n int) error {
	if len(pairs) != n {
		return fmt.Errorf("the reranker gave %d scores for %d passages", len(pairs), n)
	}
	for i, p := range pairs {
		if x := float64(p.Raw); math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("the reranker gave passage %d of %d the score %v, which is not finite", i+1, n, p.Raw)
		}
	}
	return nil
}
