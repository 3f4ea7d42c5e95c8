package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/internal/report"
	"raglab/internal/stats"
	"raglab/spec"
)

// Report collects the results of an apply. A row whose score was not made is
// there with its values unmeasured.
func (p *Pipeline) Report(ctx context.Context, store cache.Store, out *engine.Outcomes) (*report.Report, error) {
	c := &collector{
		ctx: ctx, store: store, out: out, p: p,
		measured: map[*engine.Stage]*measurement{}, scores: map[*engine.Stage]*Scores{}, machines: map[string]bool{},
	}
	r := &report.Report{
		Version: report.Version, Experiment: p.Experiment.Name, Title: p.Experiment.Title,
		Metrics: p.Experiment.Score.Metrics, Primary: p.Experiment.Score.Primary, Depth: p.Experiment.Score.Depth,
		Accounting: accounting(p),
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
	if err := c.questions(r); err != nil {
		return nil, err
	}
	for _, row := range p.Rows {
		conf, err := c.row(row)
		if err != nil {
			return nil, fmt.Errorf("collect %s: %w", row.Configuration.Name(), err)
		}
		r.Configurations = append(r.Configurations, conf)
	}
	c.scored(r)
	if err := c.tuning(r); err != nil {
		return nil, err
	}
	if err := c.ingest(r); err != nil {
		return nil, err
	}
	c.expectations(r)
	r.Generated = c.newest
	for m := range c.machines {
		r.Machines = append(r.Machines, m)
	}
	slices.Sort(r.Machines)
	r.Complete()
	return r, nil
}

type collector struct {
	ctx      context.Context
	store    cache.Store
	out      *engine.Outcomes
	p        *Pipeline
	measured map[*engine.Stage]*measurement
	scores   map[*engine.Stage]*Scores
	machines map[string]bool
	newest   time.Time
}

// measurement is what was observed while a stage ran.
type measurement struct {
	values map[string]json.RawMessage
	wall   float64 // seconds
}

// number reads a measured number, and false when it was not measured.
func (m *measurement) number(name string) (float64, bool) {
	raw, ok := m.values[name]
	if !ok {
		return 0, false
	}
	var v float64
	return v, json.Unmarshal(raw, &v) == nil
}

func accounting(p *Pipeline) string {
	a := p.Experiment.Cross().Accounting
	s := fmt.Sprintf("%d kept, %d excluded, %d impossible, %d the same as another, together %d combinations", a.Kept, a.Excluded, a.Impossible, a.Same, a.Product)
	if a.Included > 0 {
		s += fmt.Sprintf("; %d included", a.Included)
	}
	return s
}

// measure reads what was observed while the stage's result was made; nil when
// there is no result or its record is gone.
func (c *collector) measure(s *engine.Stage) *measurement {
	if m, ok := c.measured[s]; ok {
		return m
	}
	m := c.readMeasurement(s)
	c.measured[s] = m
	return m
}

func (c *collector) readMeasurement(s *engine.Stage) *measurement {
	if c.out.State[s.Index()] != engine.StateDone {
		return nil
	}
	record, err := c.store.Get(c.ctx, c.out.Keys[s.Index()])
	if err != nil {
		return nil
	}
	m := &measurement{}
	var made struct {
		Started time.Time         `json:"started"`
		WallMS  float64           `json:"wall_ms"`
		By      map[string]string `json:"by"`
	}
	if json.Unmarshal(record.Measurements, &m.values) != nil || json.Unmarshal(record.Provenance, &made) != nil {
		return nil
	}
	m.wall = made.WallMS / 1000
	if made.Started.After(c.newest) {
		c.newest = made.Started.UTC().Truncate(time.Second)
	}
	if machine := made.By["machine"]; machine != "" {
		c.machines[machine] = true
	}
	return m
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
		Name: row.Configuration.Name(), Options: row.Configuration.Labels(),
		Metrics: map[string]*float64{}, PerQuestion: map[string]map[string]*float64{},
	}
	for _, m := range c.p.Experiment.Score.Metrics {
		conf.Metrics[m] = nil
	}
	raw, err := c.read(row.Score, "scores")
	if err != nil || raw == nil {
		return conf, err
	}
	conf.Key = c.out.Keys[row.Score.Index()].String()
	scores, ok := c.scores[row.Score]
	if !ok {
		if scores, err = ReadScores(raw); err != nil {
			return conf, err
		}
		c.scores[row.Score] = scores
	}
	conf.Lost = scores.Lost
	c.fill(&conf, scores)
	conf.Latency = c.latency(row, scores)
	conf.IndexBytes = c.indexBytes(row.Indexes)
	conf.IngestSeconds = c.seconds(row.Ingest)
	return conf, nil
}

func (c *collector) fill(conf *report.Configuration, scores *Scores) {
	primary := slices.Index(scores.Metrics, c.p.Experiment.Score.Primary)
	for i, name := range scores.Metrics {
		s := scores.Summaries[i]
		if s.Measured() {
			mean := s.Mean
			conf.Metrics[name] = &mean
		}
		conf.Empty, conf.Missing = s.Empty, s.Missing
	}
	for _, q := range scores.Questions {
		values := make(map[string]*float64, len(scores.Metrics))
		for i, name := range scores.Metrics {
			values[name] = nil
			if v, ok := q.Value(i); ok {
				values[name] = &v
			}
		}
		conf.PerQuestion[q.ID] = values
		if v, ok := q.Value(primary); ok {
			conf.Values = append(conf.Values, v)
		}
	}
}

// latency sums, for each scored question, the time it spent in each stage.
func (c *collector) latency(row Row, scores *Scores) *report.Latency {
	var parts []map[string]float64
	for _, s := range row.Ask {
		m := c.measure(s)
		if m == nil {
			return nil
		}
		var part map[string]float64
		if json.Unmarshal(m.values["latency_ms"], &part) != nil {
			return nil
		}
		parts = append(parts, part)
	}
	var totals []float64
	for _, q := range scores.Questions {
		total := 0.0
		for _, part := range parts {
			ms, ok := part[q.ID]
			if !ok {
				return nil
			}
			total += ms
		}
		totals = append(totals, total)
	}
	if len(totals) == 0 {
		return nil
	}
	p := stats.NearestRanks(totals, 50, 95)
	return &report.Latency{P50: p[0], P95: p[1]}
}

func (c *collector) indexBytes(indexes []*engine.Stage) *int64 {
	total := int64(0)
	for _, s := range indexes {
		m := c.measure(s)
		if m == nil {
			return nil
		}
		v, ok := m.number("index_bytes")
		if !ok {
			return nil
		}
		total += int64(v)
	}
	return &total
}

// seconds sums the time that stages took, or would have taken had no embedding
// been remembered; nil when that is not known of one of them.
func (c *collector) seconds(stages []*engine.Stage) *float64 {
	total := 0.0
	for _, s := range stages {
		v := c.cost(s)
		if v == nil {
			return nil
		}
		total += *v
	}
	return &total
}

// cost is the time of a stage. An embed stage that found texts remembered costs
// what its own texts say of a token, or those of another shard.
func (c *collector) cost(s *engine.Stage) *float64 {
	m := c.measure(s)
	if m == nil {
		return nil
	}
	if s.Kind != embedKind {
		return &m.wall
	}
	tokens, _ := m.number("tokens")
	fresh, _ := m.number("new_tokens")
	if fresh >= tokens {
		return &m.wall
	}
	rate := c.embedRate(s, m)
	if rate == nil {
		return nil
	}
	v := tokens * *rate
	return &v
}

// embedRate is the seconds that a token takes, as measured by the shards of the
// same options.
func (c *collector) embedRate(s *engine.Stage, own *measurement) *float64 {
	rate := func(m *measurement) *float64 {
		fresh, _ := m.number("new_tokens")
		spent, ok := m.number("embed_seconds")
		if !ok || fresh == 0 {
			return nil
		}
		v := spent / fresh
		return &v
	}
	if v := rate(own); v != nil {
		return v
	}
	space := own.values["space"]
	var seconds, tokens float64
	for _, row := range c.p.Rows {
		for _, o := range row.Ingest {
			if o.Kind != embedKind {
				continue
			}
			m := c.measure(o)
			if m == nil || string(m.values["space"]) != string(space) {
				continue
			}
			fresh, _ := m.number("new_tokens")
			spent, _ := m.number("embed_seconds")
			seconds, tokens = seconds+spent, tokens+fresh
		}
	}
	if tokens == 0 {
		return nil
	}
	v := seconds / tokens
	return &v
}

// scored counts the questions of the means, from any row that has them.
func (c *collector) scored(r *report.Report) {
	for _, row := range c.p.Rows {
		if s, ok := c.scores[row.Score]; ok && len(s.Summaries) > 0 {
			r.Questions.Scored, r.Questions.Excluded = s.Summaries[0].Scored, s.Summaries[0].Excluded
			return
		}
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
				out.Chosen = p.Values
			}
		}
		r.Tuning = append(r.Tuning, out)
	}
	return nil
}

// ingest lists the cost of each index once.
func (c *collector) ingest(r *report.Report) error {
	seen := map[*engine.Stage]bool{}
	for _, row := range c.p.Rows {
		for _, index := range row.Indexes {
			if seen[index] {
				continue
			}
			seen[index] = true
			r.Ingest = append(r.Ingest, c.ingestOf(index))
		}
	}
	return nil
}

func (c *collector) ingestOf(index *engine.Stage) report.Ingest {
	var chunks, embeds []*engine.Stage
	for _, in := range index.Inputs {
		switch in.From.Kind.Name {
		case "chunk":
			chunks = append(chunks, in.From)
		case "embed":
			embeds = append(embeds, in.From)
		}
	}
	name := index.Address[len("index[") : len(index.Address)-1]
	out := report.Ingest{Name: name, Chunk: c.seconds(chunks), Index: c.cost(index), IndexBytes: c.indexBytes([]*engine.Stage{index})}
	n, tokens := 0.0, 0.0
	for _, s := range chunks {
		if m := c.measure(s); m != nil {
			count, _ := m.number("chunks")
			length, _ := m.number("tokens")
			n, tokens = n+count, tokens+length
		}
	}
	out.Chunks = int(n)
	if len(embeds) > 0 {
		out.Embed = c.seconds(embeds)
		tokens = 0
		truncated := 0
		for _, s := range embeds {
			if m := c.measure(s); m != nil {
				length, _ := m.number("tokens")
				cut, _ := m.number("truncated")
				tokens, truncated = tokens+length, truncated+int(cut)
			}
		}
		out.Truncated = &truncated
	}
	if n > 0 && tokens > 0 {
		mean := tokens / n
		out.MeanTokens = &mean
	}
	out.Total = c.seconds(append(append(chunks, embeds...), index))
	return out
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
