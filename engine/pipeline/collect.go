package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/internal/report"
	"raglab/internal/stats"
	"raglab/spec"
)

// Report collects the results of an apply. A row whose score was not made is
// there with its values unmeasured. The memory holds comparisons of earlier reports;
// it may be nil.
func (p *Pipeline) Report(ctx context.Context, store cache.Store, out *engine.Outcomes, memory *report.Memory) (*report.Report, error) {
	c := &collector{
		ctx: ctx, store: store, out: out, p: p,
		traced: map[*engine.Stage]*tracing{}, measured: map[*engine.Stage]*measurement{}, scores: map[*engine.Stage]*Scores{}, machines: map[string]bool{}, rates: map[string]*float64{},
	}
	r := &report.Report{
		Version: report.Version, Experiment: p.Experiment.Name, Title: p.Experiment.Title,
		Metrics: p.Experiment.Score.Metrics, Primary: p.Experiment.Score.Primary, Depth: p.Experiment.Score.Depth, WarmUp: warmUp,
		Accounting: accounting(p), CostOrder: p.Experiment.Score.Cheap,
	}
	for _, f := range p.Experiment.Factors {
		factor := report.Factor{Name: f.Name, Axis: len(f.Options) > 1}
		for _, o := range f.Options {
			factor.Labels = append(factor.Labels, o.Label)
		}
		r.Factors = append(r.Factors, factor)
	}
	switch p.Experiment.Cross().Mode {
	case spec.OneAtATime:
		r.Notes = append(r.Notes, "One axis at a time was varied around a base: what options do together, other than with the base, was not measured.")
	case spec.StagedCross:
		r.Notes = append(r.Notes, "Axes were fixed one after the other, each at its best option on the dev questions: combinations with options that lost earlier were not measured.")
	}
	if err := c.details(r); err != nil {
		return nil, err
	}
	if err := c.questions(r); err != nil {
		return nil, err
	}
	if err := c.golden(r); err != nil {
		return nil, err
	}
	c.readAhead()
	for _, row := range p.Rows {
		conf, err := c.row(row)
		if err != nil {
			return nil, fmt.Errorf("collect %s: %w", row.Configuration.Name(), err)
		}
		r.Configurations = append(r.Configurations, conf)
		c.spans(r, row)
	}
	if err := c.losses(r); err != nil {
		return nil, err
	}
	if err := c.abstentions(r); err != nil {
		return nil, err
	}
	c.scored(r)
	c.termlessNotes(r)
	c.rerankNotes(r)
	if err := c.tuning(r); err != nil {
		return nil, err
	}
	if err := c.ingest(r); err != nil {
		return nil, err
	}
	c.expectations(r)
	for _, g := range p.Experiment.Gates {
		r.Gates = append(r.Gates, report.GateRule{Where: g.Where, Floors: g.Floors, Allow: g.Allow, Max: g.Max})
	}
	r.Generated = c.newest
	for m := range c.machines {
		r.Machines = append(r.Machines, m)
	}
	slices.Sort(r.Machines)
	r.Provenance = c.provenance()
	r.Complete(memory)
	return r, nil
}

type collector struct {
	ctx      context.Context
	store    cache.Store
	out      *engine.Outcomes
	p        *Pipeline
	ahead    ahead
	measured map[*engine.Stage]*measurement
	scores   map[*engine.Stage]*Scores
	traced   map[*engine.Stage]*tracing // by the first stage that cuts their chunks
	rates    map[string]*float64        // seconds for a token, by embedding space
	machines map[string]bool
	newest   time.Time
}

func accounting(p *Pipeline) string {
	a := p.Experiment.Cross().Accounting
	s := fmt.Sprintf("%d kept, %d excluded, %d impossible, %d the same as another, together %d combinations", a.Kept, a.Excluded, a.Impossible, a.Same, a.Product)
	if a.Included > 0 {
		s += fmt.Sprintf("; %d included", a.Included)
	}
	return s
}

func (c *collector) read(s *engine.Stage, output string) ([]byte, error) {
	blob, ok := c.out.Output(s, output)
	if !ok {
		return nil, nil
	}
	raw, err := c.store.ReadAll(c.ctx, blob.Digest)
	if err != nil {
		return nil, &engine.LostInputError{Input: output, From: s, Err: err}
	}
	return raw, nil
}

func (c *collector) questions(r *report.Report) error {
	m := c.measure(c.p.Questions)
	if m == nil {
		return nil
	}
	for name, into := range map[string]*int{"questions": &r.Questions.Total, "dev": &r.Questions.Dev, "test": &r.Questions.Test} {
		if v, ok := m.number(name); ok {
			*into = int(v)
		}
	}
	return nil
}

func (c *collector) row(row Row) (report.Configuration, error) {
	conf := report.Configuration{
		Name: row.Configuration.Name(), Options: row.Configuration.Labels(), Services: services(row),
		Metrics: map[string]*float64{}, PerQuestion: map[string]map[string]*float64{},
	}
	for _, m := range c.p.Experiment.Score.Metrics {
		conf.Metrics[m] = nil
	}
	scores, err := c.scoresOf(row.Score)
	if err != nil || scores == nil {
		return conf, err
	}
	conf.Key = c.out.Keys[row.Score.Index()].String()
	conf.Lost = scores.Lost
	c.fill(&conf, scores)
	conf.Latency = c.latency(row, scores)
	conf.Termless = c.termless(row)
	conf.IndexBytes, conf.HeapBytes = c.bytes(row.Indexes, "index_bytes"), c.heapBytes(row.Indexes)
	conf.IngestSeconds = c.seconds(row.Ingest)
	conf.Cost = c.rowCost(row)
	conf.Approximate = len(row.Checks) > 0
	conf.Rounded = slices.ContainsFunc(row.Checks, comparesScores)
	conf.ANNRecall, conf.ScoreDifference, err = c.annRecall(row.Checks)
	return conf, err
}

// scoresOf reads the scores of a stage once; nil when there are none.
func (c *collector) scoresOf(s *engine.Stage) (*Scores, error) {
	if known := c.scores[s]; known != nil {
		return known, nil
	}
	scores := c.ahead.scores[s]
	if scores == nil {
		var err error
		if scores, err = c.readScores(s); err != nil || scores == nil {
			return nil, err
		}
	}
	c.scores[s] = scores
	return scores, nil
}

func (c *collector) readScores(s *engine.Stage) (*Scores, error) {
	raw, err := c.read(s, "scores")
	if err != nil || raw == nil {
		return nil, err
	}
	return ReadScores(raw)
}

func (c *collector) fill(conf *report.Configuration, scores *Scores) {
	conf.Columns = make(map[string][]float64, len(scores.Metrics))
	for i, name := range scores.Metrics {
		s := scores.Summaries[i]
		if s.Measured() {
			mean := s.Mean
			conf.Metrics[name] = &mean
		}
		conf.Empty, conf.Missing = s.Empty, s.Missing
		column := make([]float64, len(scores.Questions))
		for q := range column {
			v, ok := scores.Questions[q].Value(i)
			if !ok {
				v = math.NaN()
			}
			column[q] = v
		}
		conf.Columns[name] = column
	}
	conf.Values = conf.Columns[c.p.Experiment.Score.Primary]
	conf.PerQuestion = make(map[string]map[string]*float64, len(scores.Questions))
	for _, q := range scores.Questions {
		values := make(map[string]*float64, len(scores.Metrics))
		for i, name := range scores.Metrics {
			values[name] = (*float64)(q.Values[i])
		}
		conf.PerQuestion[q.ID] = values
	}
}

// scored counts the questions of the means, from any row that has them.
func (c *collector) scored(r *report.Report) {
	for _, row := range c.p.Rows {
		if s, ok := c.scores[row.Score]; ok && len(s.Summaries) > 0 {
			r.Questions.Scored, r.Questions.Excluded = s.Summaries[0].Scored, s.Summaries[0].Excluded
			for _, q := range s.Questions {
				r.Order = append(r.Order, q.ID)
			}
			return
		}
	}
}

// spans notes what a row's chunker made of the answer spans.
func (c *collector) spans(r *report.Report, row Row) {
	if s := c.scores[row.Score]; s != nil && s.Spans != nil {
		r.AddSpans(report.Spans{Chunker: row.Chunks, Coverage: c.p.Experiment.Golden.Coverage, SpanCounts: *s.Spans})
	}
}

func (c *collector) tuning(r *report.Report) error {
	for _, t := range c.p.Tunes {
		raw, err := c.read(t.Stage, "curve")
		if err != nil {
			return err
		}
		if raw == nil {
			continue
		}
		curve, err := ReadCurve(raw)
		if err != nil {
			return err
		}
		out := report.Tuning{Flat: curve.Flat, Edge: curve.Edge}
		for _, v := range curve.Variables {
			out.Names = append(out.Names, v.Name)
		}
		for i, p := range curve.Points {
			out.Points = append(out.Points, report.Point{Values: p.Values, Mean: p.Mean})
			if i == curve.Chosen {
				out.Chosen, out.Dev = p.Values, p.Mean
			}
		}
		out.Test = c.testMean(r, t.Rows)
		r.Tuning = append(r.Tuning, out)
	}
	return nil
}

// testMean is the primary metric's mean over rows, each measurement once, as
// the dev mean is; nil when one is not measured.
func (c *collector) testMean(r *report.Report, rows []int) *float64 {
	var sum stats.Accumulator
	seen := map[*engine.Stage]bool{}
	for _, i := range rows {
		if seen[c.p.Rows[i].Score] {
			continue
		}
		seen[c.p.Rows[i].Score] = true
		m := r.Configurations[i].Metrics[r.Primary]
		if m == nil {
			return nil
		}
		sum.Add(*m)
	}
	if len(seen) == 0 {
		return nil
	}
	mean := sum.Sum() / float64(len(seen))
	return &mean
}

func (c *collector) expectations(r *report.Report) {
	for _, x := range c.p.Experiment.Expects {
		found := false
		for i, row := range c.p.Rows {
			if !x.Matches(row.Configuration) {
				continue
			}
			found = true
			conf := r.Configurations[i]
			e := report.Expectation{Row: conf.Name, Metric: x.Metric, Value: x.Value, Within: x.Tolerance, Source: x.Source, Measured: conf.Metrics[x.Metric]}
			e.Verdict = verdictOf(e)
			r.Expectations = append(r.Expectations, e)
		}
		if !found {
			r.Expectations = append(r.Expectations, report.Expectation{Metric: x.Metric, Value: x.Value, Within: x.Tolerance, Source: x.Source, Verdict: "missing: no row is meant"})
		}
	}
}

func verdictOf(e report.Expectation) string {
	if e.Measured == nil {
		return "missing"
	}
	off := *e.Measured - e.Value
	if off <= e.Within && -off <= e.Within {
		return "OK"
	}
	return fmt.Sprintf("off by %+.4g", off)
}
