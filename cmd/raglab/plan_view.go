package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"raglab/engine"
	"raglab/engine/workspace"
	"raglab/spec"
)

// planView shows a plan.
type planView interface {
	diagnostics(exp *spec.Experiment, diags hcl.Diagnostics)
	plan(s *workspace.Session, p *engine.Plan) error
}

func newPlanView(t terminal, a planArgs) planView {
	if a.json {
		return planJSON{t, newEvents(t.out)}
	}
	return planHuman{t, a.all}
}

// planHuman shows a plan to a person.
type planHuman struct {
	terminal
	all bool
}

func (v planHuman) diagnostics(exp *spec.Experiment, diags hcl.Diagnostics) {
	v.showDiagnostics(exp, diags)
}

func (v planHuman) plan(s *workspace.Session, p *engine.Plan) error {
	fmt.Fprint(v.out, crossLine(s.Experiment))
	if p.Partial {
		fmt.Fprintln(v.out, "Warning: only the targets are planned; results will be partial.")
	}
	lines := planLines(p, v.all)
	if len(lines) > 0 {
		fmt.Fprintln(v.out)
	}
	writePlanLines(v.out, lines)
	fmt.Fprintf(v.out, "\n%s\n", summaryLine(workspace.Summarise(p), s.Experiment.Budget.Seconds))
	return nil
}

// crossLine tells the size of the cross and what became of its combinations.
func crossLine(e *spec.Experiment) string {
	var factors []string
	for _, f := range e.Factors {
		if len(f.Options) > 1 {
			factors = append(factors, fmt.Sprintf("%s %d", f.Name, len(f.Options)))
		}
	}
	size := "one configuration"
	if len(factors) > 0 {
		size = strings.Join(factors, " × ")
	}
	a := e.Cross().Accounting
	line := fmt.Sprintf("%s: %s = %d combinations: %d kept, %d excluded, %d impossible, %d the same as another", e.Name, size, a.Product, a.Kept, a.Excluded, a.Impossible, a.Same)
	if a.Included > 0 {
		line += fmt.Sprintf("; %d included", a.Included)
	}
	return line + "\n"
}

// planLine is one or more stages with the same outcome and reason.
type planLine struct {
	kind, address string
	outcome       engine.Outcome
	reason, note  string
	stages        int
	fresh, total  int
	unit          string
}

// planLines joins stages that the plan says the same of: the shards of one
// stage, and, unless all are wanted, the stages of one kind where they are many.
func planLines(p *engine.Plan, all bool) []*planLine {
	var lines []*planLine
	index := map[string]*planLine{}
	for i := range p.Stages {
		ps := &p.Stages[i]
		if ps.Outcome == "" || ps.Outcome == engine.Cached && !all {
			continue
		}
		base, _, _ := strings.Cut(ps.Stage.Address, "#")
		if all {
			base = ps.Stage.Address
		}
		key := strings.Join([]string{base, string(ps.Outcome), ps.Reason.String(), ps.Note}, "\x00")
		l, ok := index[key]
		if !ok {
			l = &planLine{kind: ps.Stage.Kind.Name, address: base, outcome: ps.Outcome, reason: ps.Reason.String(), note: ps.Note}
			index[key] = l
			lines = append(lines, l)
		}
		l.add(ps)
	}
	if all {
		return lines
	}
	return joinKinds(lines)
}

func (l *planLine) add(ps *engine.PlannedStage) {
	l.stages++
	if ps.Forecast != nil {
		l.fresh, l.total, l.unit = l.fresh+ps.Forecast.New, l.total+ps.Forecast.Total, ps.Forecast.Unit
	}
}

// manyLines is how many lines of one kind, outcome and reason are shown one by
// one.
const manyLines = 6

func joinKinds(lines []*planLine) []*planLine {
	type id struct {
		kind         string
		outcome      engine.Outcome
		reason, note string
	}
	count := map[id]int{}
	for _, l := range lines {
		count[id{l.kind, l.outcome, l.reason, l.note}]++
	}
	joined := map[id]*planLine{}
	var out []*planLine
	for _, l := range lines {
		k := id{l.kind, l.outcome, l.reason, l.note}
		if count[k] <= manyLines {
			out = append(out, l)
			continue
		}
		j, ok := joined[k]
		if !ok {
			j = &planLine{kind: l.kind, address: l.kind + "[…]", outcome: l.outcome, reason: l.reason, note: l.note, unit: l.unit}
			joined[k] = j
			out = append(out, j)
		}
		j.stages, j.fresh, j.total = j.stages+l.stages, j.fresh+l.fresh, j.total+l.total
	}
	return out
}

var outcomeSign = map[engine.Outcome]string{
	engine.Cached: " ", engine.WillRun: "+", engine.Maybe: "?", engine.Blocked: "!",
}

func writePlanLines(w io.Writer, lines []*planLine) {
	for _, l := range lines {
		fmt.Fprintf(w, "  %s %-7s %s", outcomeSign[l.outcome], l.outcome, l.address)
		if l.stages > 1 {
			fmt.Fprintf(w, " (%d stages)", l.stages)
		}
		fmt.Fprintln(w)
		if text := l.explanation(); text != "" {
			fmt.Fprintf(w, "            %s\n", text)
		}
	}
}

func (l *planLine) explanation() string {
	text := l.reason
	if l.note != "" {
		text = l.note
	}
	if l.unit != "" {
		text += fmt.Sprintf("; %d of %d %s are new", l.fresh, l.total, l.unit)
	}
	return text
}

func summaryLine(s workspace.PlanSummary, budget float64) string {
	if s.Run+s.Maybe+s.Blocked == 0 {
		return fmt.Sprintf("Nothing to do: all %d stages are cached.", s.Cached)
	}
	line := fmt.Sprintf("Plan: %d to run, %d maybe, %d blocked, %d cached.", s.Run, s.Maybe, s.Blocked, s.Cached)
	known := s.Run + s.Maybe - s.Unestimated
	switch {
	case known <= 0:
		line += " No earlier measurement tells how long it takes."
	case s.Unestimated > 0:
		line += fmt.Sprintf(" At most %s by earlier measurements, and %d stages never measured.", rounded(s.EstimateSeconds), s.Unestimated)
	default:
		line += fmt.Sprintf(" At most %s by earlier measurements.", rounded(s.EstimateSeconds))
	}
	if budget > 0 {
		line += fmt.Sprintf(" The budget is %s", rounded(budget))
		if known > 0 && s.EstimateSeconds > budget {
			line += fmt.Sprintf(": about %.0f %% of it will fit", 100*budget/s.EstimateSeconds)
		}
		line += "."
	}
	return line
}

func rounded(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < 100*time.Millisecond:
		return "0.1s"
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
