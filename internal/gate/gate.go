// Package gate decides whether results are good enough to go on with: by the figures
// that they were expected to have, by floors and bounds, and against a baseline.
package gate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"raglab/internal/pairing"
	"raglab/internal/report"
)

// Request is what to check.
type Request struct {
	Results *report.Report
	// Baseline may be nil: nothing is compared then. BaselineName is for people.
	Baseline     *report.Report
	BaselineName string
	// Rules are in ascending order of weight: the last that is about a row and names a
	// metric says how far it may fall.
	Rules []report.GateRule
	// Rows narrow the comparison to rows that have all labels of one of them; none
	// means those that some rule is about, or all.
	Rows []map[string]string
}

// The kinds of [Check].
const (
	Expect = "expect" // a stated figure
	Floor  = "floor"
	Max    = "max"
	Drop   = "drop" // against the baseline
)

// Kinds are in the order of the checks.
var Kinds = []string{Expect, Floor, Max, Drop}

// Check is one thing that passed or failed.
type Check struct {
	Kind string `json:"kind"`
	// Row names the row, or says which ones were meant when there is none.
	Row string `json:"configuration"`
	// Metric is a metric, or one of p50, p95, index and ingest.
	Metric string `json:"metric"`
	Passed bool   `json:"passed"`
	// Text says it in one sentence.
	Text string `json:"text"`
	// Measured is null when it is not.
	Measured *float64 `json:"measured"`
	// Limit is the figure expected, the floor, the bound, or how far the mean may fall.
	Limit float64 `json:"limit"`
	// Comparison is that of a drop.
	Comparison *pairing.Comparison `json:"comparison,omitempty"`
	// Regressed are the questions that lost most, of a drop that failed.
	Regressed []pairing.Change `json:"regressed,omitempty"`
}

// Outcome is what all checks came to.
type Outcome struct {
	Experiment string  `json:"experiment"`
	Passed     bool    `json:"passed"`
	Failed     int     `json:"failed"`
	Checks     []Check `json:"checks"`
	// Baseline names it, and Questions compares its questions with the results'; both
	// are left out without one.
	Baseline  string             `json:"baseline,omitempty"`
	Questions *pairing.Questions `json:"questions,omitempty"`
	// Notes are sentences about what was not, or not fully, compared.
	Notes []string `json:"notes,omitempty"`
}

// ErrNothing says that there was nothing to check: a gate that nothing can close
// must not be taken for one that passed.
var ErrNothing = errors.New("there is nothing to check: give the spec expect or gate blocks, or name a floor, a bound or a baseline")

// Run makes all checks. An error means that something could not be checked.
func Run(q Request) (*Outcome, error) {
	o := &Outcome{Experiment: q.Results.Experiment}
	if err := q.valid(); err != nil {
		return nil, err
	}
	o.expectations(q.Results)
	for _, rule := range q.Rules {
		o.limits(q.Results, rule)
	}
	if q.Baseline != nil {
		if err := o.compare(q); err != nil {
			return nil, err
		}
	}
	if len(o.Checks) == 0 {
		return nil, ErrNothing
	}
	for _, c := range o.Checks {
		if !c.Passed {
			o.Failed++
		}
	}
	o.Passed = o.Failed == 0
	return o, nil
}

// costs are what a bound may be on, with the unit that people read.
var costs = map[string]string{"p50": "ms", "p95": "ms", "index": "MB", "ingest": "s"}

// valid refuses names that the results lack.
func (q Request) valid() error {
	for _, rule := range q.Rules {
		for _, values := range []map[string]float64{rule.Floors, rule.Allow} {
			for _, m := range slices.Sorted(maps.Keys(values)) {
				if !slices.Contains(q.Results.Metrics, m) {
					return fmt.Errorf("the results have no metric %q; they have %s", m, strings.Join(q.Results.Metrics, ", "))
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(rule.Max)) {
			if costs[name] == "" {
				return fmt.Errorf("there is no cost %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(costs)), ", "))
			}
		}
	}
	for _, where := range q.Rows {
		if len(rowsOf(q.Results, where)) == 0 {
			return fmt.Errorf("no row of the results has %s", Words(where))
		}
	}
	return nil
}

// rowsOf are the rows that have all labels.
func rowsOf(r *report.Report, where map[string]string) []*report.Configuration {
	var rows []*report.Configuration
	for i := range r.Configurations {
		if c := &r.Configurations[i]; c.Has(where) {
			rows = append(rows, c)
		}
	}
	return rows
}

// Words names the labels of a row, as retriever = dense.
func Words(where map[string]string) string {
	var parts []string
	for _, f := range slices.Sorted(maps.Keys(where)) {
		parts = append(parts, f+" = "+where[f])
	}
	return strings.Join(parts, ", ")
}

func (o *Outcome) expectations(r *report.Report) {
	for _, x := range r.Expectations {
		c := Check{Kind: Expect, Row: cmp.Or(x.Row, "no row"), Metric: x.Metric, Passed: x.Verdict == "OK", Measured: x.Measured, Limit: x.Value}
		source := ""
		if x.Source != "" {
			source = ", as " + x.Source + " has it"
		}
		c.Text = fmt.Sprintf("%s of %s is expected to be %s ± %s%s: %s.", x.Metric, c.Row, figure(x.Value), figure(x.Within), source, x.Verdict)
		o.Checks = append(o.Checks, c)
	}
}

// limits checks a rule's floors and bounds.
func (o *Outcome) limits(r *report.Report, rule report.GateRule) {
	if len(rule.Floors)+len(rule.Max) == 0 {
		return
	}
	var rows []*report.Configuration
	if len(rule.Where) > 0 {
		rows = rowsOf(r, rule.Where)
	} else if ranked := r.Ranked(); len(ranked) > 0 {
		rows = ranked[:1]
	}
	for _, m := range slices.Sorted(maps.Keys(rule.Floors)) {
		o.limit(Floor, m, rule.Floors[m], rows, rule.Where, func(c *report.Configuration) *float64 { return c.Metrics[m] })
	}
	for _, name := range slices.Sorted(maps.Keys(rule.Max)) {
		o.limit(Max, name, rule.Max[name], rows, rule.Where, func(c *report.Configuration) *float64 { return costOf(c, name) })
	}
}

// limit checks one floor or bound on rows. That there is no row fails it.
func (o *Outcome) limit(kind, name string, limit float64, rows []*report.Configuration, where map[string]string, get func(*report.Configuration) *float64) {
	if len(rows) == 0 {
		o.Checks = append(o.Checks, Check{Kind: kind, Row: cmp.Or(Words(where), "no row"), Metric: name, Limit: limit, Text: fmt.Sprintf("No row has %s: %s is unmeasured.", Words(where), name)})
		return
	}
	for _, row := range rows {
		v := get(row)
		c := Check{Kind: kind, Row: row.Name, Metric: name, Measured: v, Limit: limit}
		c.Passed = v != nil && (kind == Floor && *v >= limit || kind == Max && *v <= limit)
		c.Text = c.sentence()
		o.Checks = append(o.Checks, c)
	}
}

// sentence says what came of a floor or a bound.
func (c Check) sentence() string {
	what, unit := "floor", ""
	if c.Kind == Max {
		what, unit = "bound", " "+costs[c.Metric]
	}
	if c.Measured == nil {
		return fmt.Sprintf("%s of %s is unmeasured; its %s is %s%s.", c.Metric, c.Row, what, figure(c.Limit), unit)
	}
	side := map[string]map[bool]string{
		Floor: {true: "not below", false: "below"},
		Max:   {true: "not above", false: "above"},
	}[c.Kind][c.Passed]
	return fmt.Sprintf("%s of %s is %s%s, %s the %s of %s%s.", c.Metric, c.Row, figure(*c.Measured), unit, side, what, figure(c.Limit), unit)
}

// costOf is a row's cost in its unit; nil when it is unmeasured.
func costOf(c *report.Configuration, name string) *float64 {
	switch {
	case name == "p50" && c.Latency != nil:
		return &c.Latency.P50
	case name == "p95" && c.Latency != nil:
		return &c.Latency.P95
	case name == "index" && c.IndexBytes != nil:
		megabytes := float64(*c.IndexBytes) / 1e6
		return &megabytes
	case name == "ingest":
		return c.IngestSeconds
	}
	return nil
}
