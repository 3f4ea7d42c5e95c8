package reranker

import (
	"context"
	"sort"

	"raglab/axes"
)

// ThresholdParams are the parameters of the kind threshold.
type ThresholdParams struct {
	Min      float64 `hcl:"min" doc:"Lowest score that stays, in the retriever's own unit."`
	Relative float64 `hcl:"relative" default:"0" min:"0" max:"1" doc:"Lowest share of the question's highest score that stays; 0 keeps all."`
}

var threshold = axes.Define(axes.Meta{
	Name:    "threshold",
	Version: "1",
	Summary: "Cuts the ranking where scores fall too low, to an empty one if need be.",
	Doc: `A hit stays when its score is at least min and at least relative times the
question's highest score. The second rule applies when relative is above 0 and
the highest score is, too. Scores of different retrievers have different units:
inner products lie between -1 and 1, BM25 has no upper end, rrf with k = 60 stays
below 1/61 for each leg.`,
}, func(p ThresholdParams, _ axes.Env) (Reranker, error) { return cutOff{p.Min, p.Relative}, nil })

type cutOff struct{ min, relative float64 }

func (cutOff) UsesText() bool { return false }

func (c cutOff) Rerank(_ context.Context, _ axes.Query, hits []axes.Hit, _ func(uint32) (string, error)) ([]axes.Hit, error) {
	if len(hits) == 0 {
		return hits, nil
	}
	least := c.min
	if top := hits[0].Score; c.relative > 0 && top > 0 {
		least = max(least, c.relative*top)
	}
	n := sort.Search(len(hits), func(i int) bool { return hits[i].Score < least })
	return hits[:n:n], nil
}
