package retriever

import (
	"slices"

	"raglab/axes"
	"raglab/internal/param"
)

// RRFParams are the parameters of the kind rrf.
type RRFParams struct {
	Legs    []string  `hcl:"legs" ref:"retriever" doc:"The retriever options to merge."`
	K       float64   `hcl:"k" default:"60" min:"0" doc:"How little the first ranks stand out: each hit counts 1 / (k + rank)."`
	Weights []float64 `hcl:"weights" default:"" doc:"One weight for each leg; all 1 when there is none."`
}

var rrf = axes.Define(axes.Meta{
	Name:    "rrf",
	Version: "1",
	Summary: "Reciprocal rank fusion: the sum of weight / (k + rank) over the legs.",
	Doc: `The rank counts from 1 within each leg, over all of the leg's hits (its depth is
that of the search). A chunk that a leg does not have gets nothing from it; a
leg of weight 0 takes no part. The sum is made in the order of the legs. Cormack,
Clarke and Büttcher, SIGIR 2009.`,
}, func(p RRFParams, _ axes.Env) (Fuser, error) {
	weights, err := legWeights(p.Legs, p.Weights)
	if err != nil {
		return nil, err
	}
	return reciprocal{p.Legs, weights, p.K}, nil
})

// reciprocal is the fuser of the kind rrf.
type reciprocal struct {
	legs    []string
	weights []float64
	k       float64
}

func (f reciprocal) Legs() []string { return f.legs }

func (f reciprocal) Fuse(legs [][]axes.Hit, depth int) []axes.Hit {
	var sum fusion
	for i, hits := range legs {
		if f.weights[i] == 0 {
			continue
		}
		for rank, h := range hits {
			sum.add(i, h.Ordinal, f.weights[i]/(f.k+float64(rank+1)))
		}
	}
	return sum.best(depth)
}

// legWeights checks the weights of a fuser's legs and returns one for each.
func legWeights(legs []string, weights []float64) ([]float64, error) {
	switch {
	case len(legs) == 0:
		return nil, param.Errorf("legs", "names no retriever option")
	case len(weights) == 0:
		return slices.Repeat([]float64{1}, len(legs)), nil
	case len(weights) != len(legs):
		return nil, param.Errorf("weights", "%d weights for %d legs", len(weights), len(legs))
	case !slices.ContainsFunc(weights, func(w float64) bool { return w > 0 }):
		return nil, param.Errorf("weights", "none is above 0")
	}
	for _, w := range weights {
		if !(w >= 0) { // NaN too
			return nil, param.Errorf("weights", "%v is less than 0", w)
		}
	}
	return weights, nil
}
