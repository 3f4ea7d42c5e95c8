package workspace

import (
	"context"
	"fmt"
	"slices"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/pipeline"
	"raglab/spec"
)

// Outputs finds an output of a stage that is done, in a plan or an apply.
type Outputs func(s *engine.Stage, name string) (cache.Blob, bool)

// PlannedOutputs finds outputs that a plan knows.
func PlannedOutputs(p *engine.Plan) Outputs {
	return func(s *engine.Stage, name string) (cache.Blob, bool) {
		for _, b := range p.Stages[s.Index()].Outputs {
			if b.Name == name {
				return b, true
			}
		}
		return cache.Blob{}, false
	}
}

// Advance goes on to the next stage of a staged cross: it fixes the axis that
// the present rows vary at the option that did best on the dev questions, adds
// the rows that vary the next axis, and builds the pipeline anew. It reports
// false when there is no further stage, and for other modes of cross.
func (s *Session) Advance(ctx context.Context, outputs Outputs) (bool, error) {
	stages := s.Experiment.Cross().Stages()
	if stages == nil {
		return false, nil
	}
	axis, rows := stages.Next(s.best)
	if axis == "" {
		return false, nil
	}
	label, err := s.bestOnDev(ctx, axis, rows, outputs)
	if err != nil {
		return false, fmt.Errorf("fix the axis %s: %w", axis, err)
	}
	s.best[axis] = label
	next, rows := stages.Next(s.best)
	if next == "" {
		return false, nil
	}
	s.add(rows)
	return true, s.build(ctx)
}

// bestOnDev is the label whose row has the best mean of the primary metric on
// the dev questions; among equals the first, which is the base's.
func (s *Session) bestOnDev(ctx context.Context, axis string, rows []*spec.Configuration, outputs Outputs) (string, error) {
	best, label := 0.0, ""
	for _, c := range rows {
		i := slices.IndexFunc(s.Pipeline.Rows, func(r pipeline.Row) bool { return r.Configuration.Ordinal == c.Ordinal })
		if i < 0 {
			return "", fmt.Errorf("the row %s is not in the pipeline", c.Name())
		}
		mean, ok, err := s.devMean(ctx, s.Pipeline.Rows[i].Dev, outputs)
		if err != nil {
			return "", err
		}
		if ok && (label == "" || mean > best) {
			best, label = mean, c.Label(axis)
		}
	}
	if label == "" {
		return "", fmt.Errorf("no row was measured on the dev questions")
	}
	return label, nil
}

func (s *Session) devMean(ctx context.Context, dev *engine.Stage, outputs Outputs) (float64, bool, error) {
	if dev == nil {
		return 0, false, fmt.Errorf("a staged cross needs dev questions: give golden a split")
	}
	blob, ok := outputs(dev, "scores")
	if !ok {
		return 0, false, nil
	}
	raw, err := s.Store.ReadAll(ctx, blob.Digest)
	if err != nil {
		return 0, false, err
	}
	scores, err := pipeline.ReadScores(raw)
	if err != nil {
		return 0, false, err
	}
	i := slices.Index(scores.Metrics, s.Experiment.Score.Primary)
	if i < 0 || !scores.Summaries[i].Measured() {
		return 0, false, nil
	}
	return scores.Summaries[i].Mean, true, nil
}
