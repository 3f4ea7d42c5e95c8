package retriever

import (
	"raglab/axes"
	"raglab/internal/param"
)

// WeightedParams are the parameters of the kind weighted.
type WeightedParams struct {
	Legs    []string  `hcl:"legs" ref:"retriever" doc:"The retriever options to merge."`
	Alpha   float64   `hcl:"alpha" default:"0.5" min:"0" max:"1" doc:"With two legs: the weight of the first; the second has 1 - alpha."`
	Weights []float64 `hcl:"weights" default:"" doc:"One weight for each leg, in place of alpha; required unless there are two."`
}

// defaultAlpha is the default of WeightedParams.Alpha.
const defaultAlpha = 0.5

var weighted = axes.Define(axes.Meta{
	Name:    "weighted",
	Version: "1",
	Summary: "Weighted sum of scores, normalised by minimum and maximum for each question.",
	Doc: `Each leg's scores for the question are mapped to 0 to 1: (score - lowest) /
(highest - lowest) over the leg's hits. When they are all equal, each counts 1:
the leg has found these chunks and no others. A chunk that a leg does not have
gets 0 from it, as does the leg's last hit. A leg of weight 0 takes no part, so
that with alpha 0 or 1 the result is one leg's ranking. The sum is made in the
order of the legs.`,
}, func(p WeightedParams, _ axes.Env) (Fuser, error) {
	weights := p.Weights
	switch {
	case len(weights) > 0 && p.Alpha != defaultAlpha:
		return nil, param.Errorf("alpha", "cannot be set beside weights")
	case len(weights) == 0 && len(p.Legs) > 0 && len(p.Legs) != 2:
		return nil, param.Errorf("weights", "must be set for %d legs: alpha is for two", len(p.Legs))
	case len(weights) == 0:
		weights = []float64{p.Alpha, 1 - p.Alpha}
	}
	weights, err := legWeights(p.Legs, weights)
	if err != nil {
		return nil, err
	}
	return weightedSum{p.Legs, weights}, nil
})

// weightedSum is the fuser of the kind weighted.
type weightedSum struct {
	legs    []string
	weights []float64
}

func (f weightedSum) Legs() []string { return f.legs }

func (f weightedSum) Fuse(legs [][]axes.Hit, depth int) []axes.Hit {
	var sum fusion
	for i, hits := range legs {
		if f.weights[i] == 0 || len(hits) == 0 {
			continue
		}
		low, high := hits[0].Score, hits[0].Score
		for _, h := range hits {
			low, high = min(low, h.Score), max(high, h.Score)
		}
		for _, h := range hits {
			share := 1.0
			if high > low {
				share = (h.Score - low) / (high - low)
			}
			sum.add(i, h.Ordinal, f.weights[i]*share)
		}
	}
	return sum.best(depth)
}
