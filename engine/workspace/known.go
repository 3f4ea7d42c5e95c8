package workspace

import (
	"context"
	"errors"
	"fmt"

	"raglab/engine"
	"raglab/internal/report"
)

// Known is what the cache holds of an experiment's results.
type Known struct {
	Report *report.Report
	// Complete tells that nothing is missing.
	Complete bool

	session  *Session
	outcomes *engine.Outcomes
}

// ErrNothingKnown says that no configuration of an experiment has been measured.
var ErrNothingKnown = errors.New("no result is in the cache: run raglab apply first")

// Known collects the results that are in the cache. It runs no stage. A report of
// some of the results says so in its notes; without any it is [ErrNothingKnown].
func (s *Session) Known(ctx context.Context) (*Known, error) {
	plan, err := s.Plan(ctx, Selection{})
	if err != nil {
		return nil, err
	}
	k := &Known{Complete: !plan.Changes(), session: s, outcomes: plan.Known()}
	if k.Report, err = s.Report(ctx, k.outcomes); err != nil {
		return nil, err
	}
	measured := 0
	for _, c := range k.Report.Configurations {
		if c.Key != "" {
			measured++
		}
	}
	if measured == 0 {
		return nil, fmt.Errorf("%s: %w", s.Experiment.Name, ErrNothingKnown)
	}
	if !k.Complete {
		k.Report.Notes = append(k.Report.Notes, fmt.Sprintf("The results are partial: %d of %d stages have theirs in the cache, and %d of %d configurations are measured. raglab plan says what is missing.",
			k.outcomes.Cached, len(plan.Stages), measured, len(k.Report.Configurations)))
	}
	return k, nil
}

// Question looks a question up in the rankings of all rows, see
// [raglab/engine/pipeline.Pipeline.Lookup].
func (k *Known) Question(ctx context.Context, id string) (*report.Lookup, error) {
	l, err := k.session.Pipeline.Lookup(ctx, k.session.Store, k.outcomes, id)
	if l == nil || err != nil {
		return nil, err
	}
	for _, q := range k.Report.Golden {
		if q.ID == id {
			l.Tags, l.Part = q.Tags, q.Part
		}
	}
	return l, nil
}

// Details collects the rankings behind the report, see [Session.Details].
func (k *Known) Details(ctx context.Context) (*report.Details, error) {
	return k.session.Details(ctx, k.outcomes, k.Report)
}
