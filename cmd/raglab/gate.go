package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"raglab/internal/gate"
	"raglab/internal/report"
)

const gateHelp = `Usage: raglab gate [RESULTS] [BASELINE] [flags]

Passes results or does not, for a CI to go by. RESULTS and BASELINE are files that an
output of kind json wrote, such files in a commit, as COMMIT:PATH, or specs, whose
results are taken from the cache; nothing is run. Without RESULTS it takes the spec
that was applied last in this folder, or the only one in it or in experiments/.

Results do not pass when
  - a figure that an expect block states is off or missing,
  - a row is below a floor or above a bound, or has no value to tell,
  - a row's mean fell below the baseline's: when the data can tell the drop from noise
    (paired randomisation test over the questions that both have, Holm-corrected over
    the rows that changed, p < 0.05) and it is larger than allowed. Rows are matched
    by their options.
Floors, bounds and allowed drops are those of the spec's gate blocks, which results
files have too (raglab docs gate), and of the flags. A gate that nothing could close
is an error.

  -floor METRIC=VALUE  the lowest mean that passes, as ndcg@10=0.5; may be repeated
  -max COST=VALUE      the highest p50 or p95 (ms), index (MB) or ingest (s) that
                       passes, as p95=50; may be repeated
  -allow METRIC=VALUE  how far a mean may fall below the baseline's; may be repeated.
                       The primary metric may not fall unless it is named; other
                       metrics are compared when they are named
  -row FACTOR=LABEL    that -floor and -max are about these rows, not the best one,
                       and that only these are compared; FACTOR=LABEL,FACTOR=LABEL
                       for rows with both; may be repeated for further rows
  -all                 list what passed, too
  -junit FILE          write the checks as a JUnit report
  -json                one JSON object
` + specHelp + `
Exit codes: 0 passed, 1 could not be checked, 3 did not pass.
`

func gateCommand() command {
	return command{"gate", "pass results, or fail, against figures, floors and a baseline", gateHelp, runGate}
}

type gateArgs struct {
	specArgs
	rule      report.GateRule
	rows      []map[string]string
	junit     string
	all, json bool
}

func (a *gateArgs) register(set *flag.FlagSet) {
	a.specArgs.register(set)
	a.rule = report.GateRule{Floors: map[string]float64{}, Allow: map[string]float64{}, Max: map[string]float64{}}
	for name, into := range map[string]map[string]float64{"floor": a.rule.Floors, "allow": a.rule.Allow, "max": a.rule.Max} {
		set.Func(name, "", func(s string) error { return parseFigure(s, into, name == "floor") })
	}
	set.Func("row", "", func(s string) error {
		row, err := parseLabels(s)
		a.rows = append(a.rows, row)
		return err
	})
	set.StringVar(&a.junit, "junit", "", "")
	set.BoolVar(&a.all, "all", false, "")
	set.BoolVar(&a.json, "json", false, "")
}

// parseFigure reads NAME=VALUE.
func parseFigure(s string, into map[string]float64, negative bool) error {
	name, text, ok := strings.Cut(s, "=")
	v, err := strconv.ParseFloat(text, 64)
	if !ok || name == "" || err != nil || v != v {
		return fmt.Errorf("%q is not NAME=NUMBER, as ndcg@10=0.5", s)
	}
	if v < 0 && !negative {
		return fmt.Errorf("%q is below 0", s)
	}
	into[name] = v
	return nil
}

// parseLabels reads FACTOR=LABEL,FACTOR=LABEL.
func parseLabels(s string) (map[string]string, error) {
	labels := map[string]string{}
	for part := range strings.SplitSeq(s, ",") {
		factor, label, ok := strings.Cut(part, "=")
		factor, label = strings.TrimSpace(factor), strings.TrimSpace(label)
		if !ok || factor == "" || label == "" {
			return nil, fmt.Errorf("%q is not FACTOR=LABEL, as retriever=dense", part)
		}
		labels[factor] = label
	}
	return labels, nil
}

func runGate(ctx context.Context, t terminal, argv []string) int {
	var a gateArgs
	set := flag.NewFlagSet("gate", flag.ContinueOnError)
	a.register(set)
	rest, err := parseFlags(t, set, gateHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	if len(rest) > 2 {
		return t.fail("gate", errors.New("give results and a baseline, no more"))
	}
	request, t, code := a.request(ctx, t, rest)
	if code != exitOK {
		return code
	}
	outcome, err := gate.Run(request)
	if err != nil {
		return t.fail("gate", err)
	}
	if err := a.tell(t, request, outcome); err != nil {
		return t.fail("gate", err)
	}
	if !outcome.Passed {
		return exitFailed
	}
	return exitOK
}

// request reads the results and the baseline. The rules of the flags weigh more than
// those of the spec. The terminal hides the secrets of specs.
func (a *gateArgs) request(ctx context.Context, t terminal, names []string) (gate.Request, terminal, int) {
	given, code := a.results(ctx, t, "gate", names[:min(1, len(names))]...)
	if code != exitOK {
		return gate.Request{}, t, code
	}
	t = given.terminal
	q := gate.Request{Results: given.report, Rules: append(slices.Clone(given.report.Gates), a.rules()...), Rows: a.rows}
	baseline := given.baseline
	if len(names) == 2 {
		baseline = names[1]
	}
	if baseline == "" {
		return q, t, exitOK
	}
	if _, err := os.Stat(baseline); len(names) < 2 && errors.Is(err, os.ErrNotExist) {
		return q, t, t.fail("gate", fmt.Errorf("there is no baseline %s, which the gate block names: put results there that are good, as an output of kind json writes them", shortPath(baseline)))
	}
	against, code := a.results(ctx, t, "gate", baseline)
	if code != exitOK {
		return q, t, code
	}
	q.Baseline, q.BaselineName = against.report, shortPath(against.name)
	return q, against.terminal, exitOK
}

// rules are those of the flags: one for each row that is meant.
func (a *gateArgs) rules() []report.GateRule {
	if len(a.rule.Floors)+len(a.rule.Allow)+len(a.rule.Max) == 0 {
		return nil
	}
	if len(a.rows) == 0 {
		return []report.GateRule{a.rule}
	}
	var rules []report.GateRule
	for _, where := range a.rows {
		rule := a.rule
		rule.Where = maps.Clone(where)
		rules = append(rules, rule)
	}
	return rules
}

// shortPath is a path relative to this folder where it lies below it.
func shortPath(name string) string {
	folder, err := os.Getwd()
	if err != nil || !filepath.IsAbs(name) {
		return name
	}
	if rel, err := filepath.Rel(folder, name); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return name
}

func (a *gateArgs) tell(t terminal, q gate.Request, o *gate.Outcome) error {
	if a.junit != "" {
		b, err := o.JUnit(q.Results.Generated)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(a.junit), 0o755); err != nil {
			return fmt.Errorf("write JUnit report: %w", err)
		}
		if err := os.WriteFile(a.junit, b, 0o644); err != nil {
			return fmt.Errorf("write JUnit report: %w", err)
		}
	}
	if a.json {
		return t.writeJSON(o)
	}
	return o.WriteText(t.out, a.all)
}
