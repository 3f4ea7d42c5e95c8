package reranker

import (
	"context"

	"raglab/axes"
)

// NoneParams are the parameters of the kind none: there are none.
type NoneParams struct{}

var none = axes.Define(axes.Meta{
	Name:    "none",
	Version: "1",
	Summary: "Leaves the ranking as it is.",
}, func(NoneParams, axes.Env) (Reranker, error) { return identity{}, nil })

type identity struct{}

func (identity) UsesText() bool { return false }

func (identity) Rerank(_ context.Context, _ axes.Query, hits []axes.Hit, _ func(uint32) (string, error)) ([]axes.Hit, error) {
	return hits, nil
}
