package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"raglab/engine"
	"raglab/engine/workspace"
	"raglab/spec"
)

// planView shows a plan.
type planView interface {
	plan(s *workspace.Session, p *engine.Plan) error
}

func newPlanView(t terminal, all bool) planView {
	if t.events != nil {
		return planJSON{t.events}
	}
	return planHuman{t, all}
}

// planHuman shows a plan to a person.
type planHuman struct {
	terminal
	all bool
}

func (v planHuman) plan(s *workspace.Session, p *engine.Plan) error {
	fmt.Fprint(v.out, crossLine(s.Experiment))
	if p.Partial {
		fmt.Fprintln(v.out, partialWarning)
	}
	showLines(v.out, planLines(p, v.all))
	showNotes(v.out, p.Notes)
	fmt.Fprintf(v.out, "\n%s\n", summaryLine(workspace.Summarise(p), s.Experiment.Budget))
	return nil
}

const partialWarning = "Warning: only the targets are planned; results will be partial."

// crossLine tells the size of the cross and what became of its combinations.
func crossLine(e *spec.Experiment) string {
	var factors []string
	all := 1
	for _, f := range e.Factors {
		if len(f.Options) > 1 {
			factors = append(factors, fmt.Sprintf("%s %d", f.Name, len(f.Options)))
			all *= len(f.Options)
		}
	}
	if len(factors) == 0 {
		return e.Name + ": one configuration\n"
	}
	a := e.Cross().Accounting
	line := fmt.Sprintf("%s: %s = %d combinations", e.Name, strings.Join(factors, " × "), all)
	if a.Product != all {
		// A cross that is not full.
		line += fmt.Sprintf(", of which %d", a.Product)
	}
	if a.Kept < a.Product {
		line += ": " + accounts(a)
	}
	if a.Included > 0 {
		line += fmt.Sprintf("; %d included", a.Included)
	}
	return line + "\n"
}

// accounts says what became of combinations, without what became of none.
func accounts(a spec.Accounting) string {
	var parts []string
	for _, n := range []struct {
		count int
		what  string
	}{{a.Kept, "kept"}, {a.Excluded, "excluded"}, {a.Impossible, "impossible"}, {a.Same, "the same as another"}} {
		if n.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	return strings.Join(parts, ", ")
}

// planLine is one or more stages with the same outcome and reason.
type planLine struct {
	address      string
	outcome      engine.Outcome
	reason, note string
	stages       int
	fresh, total int
	unit         string
}

func newPlanLine(address string, o engine.Outcome, r engine.Reason, note string, f *engine.Forecast) *planLine {
	l := &planLine{address: address, outcome: o, reason: reasonText(r), note: note, stages: 1}
	if f != nil {
		l.fresh, l.total, l.unit = f.New, f.Total, f.Unit
	}
	return l
}

// reasonText is the reason in words, without the key of a result that is missing
// or damaged: a key tells a reader nothing and sets apart what is alike.
func reasonText(r engine.Reason) string {
	if strings.HasPrefix(r.Field, "record ") {
		r.Field = "record"
	}
	return r.String()
}

// kind is the word that the address begins with.
func (l *planLine) kind() string {
	kind, _, _ := strings.Cut(l.address, "[")
	return kind
}

// planLines lists a plan's stages: those that would do something, the shards of
// one stage and the stages of one kind joined where the plan says the same of
// them, or really all, one by one.
func planLines(p *engine.Plan, all bool) []*planLine {
	var lines []*planLine
	for i := range p.Stages {
		ps := &p.Stages[i]
		if ps.Outcome != "" && (all || ps.Outcome != engine.Cached) {
			lines = append(lines, newPlanLine(ps.Stage.Address, ps.Outcome, ps.Reason, ps.Note, ps.Forecast))
		}
	}
	if all {
		return lines
	}
	return joinKinds(joinShards(lines))
}

// said is what the plan says of a line's stages.
type said struct {
	what         string
	outcome      engine.Outcome
	reason, note string
}

func (l *planLine) said(what string) said { return said{what, l.outcome, l.reason, l.note} }

// join adds a line's stages to the one that stands for them.
func (l *planLine) join(other *planLine) {
	l.stages, l.fresh, l.total = l.stages+other.stages, l.fresh+other.fresh, l.total+other.total
}

// joinShards joins the shards of one stage.
func joinShards(lines []*planLine) []*planLine {
	joined := map[said]*planLine{}
	var out []*planLine
	for _, l := range lines {
		base := engine.WithoutShard(l.address)
		if shard := l.address[len(base):]; shard != "" { // what follows a shard is of the same one
			l.reason = strings.ReplaceAll(l.reason, "]"+shard, "]")
		}
		k := l.said(base)
		if j, ok := joined[k]; ok {
			j.join(l)
			continue
		}
		l.address = base
		joined[k] = l
		out = append(out, l)
	}
	return out
}

// manyLines is how many lines of one kind, outcome and reason are shown one by
// one.
const manyLines = 6

// joinKinds joins the lines of one kind of stage where they are many.
func joinKinds(lines []*planLine) []*planLine {
	count := map[said]int{}
	for _, l := range lines {
		count[l.said(l.kind())]++
	}
	joined := map[said]*planLine{}
	var out []*planLine
	for _, l := range lines {
		k := l.said(l.kind())
		if count[k] <= manyLines {
			out = append(out, l)
			continue
		}
		if j, ok := joined[k]; ok {
			j.join(l)
			continue
		}
		l.address = l.kind() + "[…]"
		joined[k] = l
		out = append(out, l)
	}
	return out
}

var outcomeSign = map[engine.Outcome]string{
	engine.Cached: " ", engine.WillRun: "+", engine.Maybe: "?", engine.Blocked: "!",
}

// showLines writes lines, set apart from what stands before them.
func showLines(w io.Writer, lines []*planLine) {
	if len(lines) > 0 {
		fmt.Fprintln(w)
	}
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

// showNotes writes what a reader of a plan must know.
func showNotes(w io.Writer, notes []string) {
	for _, note := range notes {
		fmt.Fprintf(w, "\nNote: %s\n", note)
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

func summaryLine(s workspace.PlanSummary, budget spec.Budget) string {
	if s.Run+s.Maybe+s.Blocked == 0 {
		return fmt.Sprintf("Nothing to do: all %d stages are cached.", s.Cached)
	}
	line := fmt.Sprintf("Plan: %d to run, %d maybe, %d blocked, %d cached.", s.Run, s.Maybe, s.Blocked, s.Cached)
	known := s.Run + s.Maybe - s.Unestimated
	switch {
	case known <= 0:
		line += " No earlier measurement tells how long it takes."
	case s.Unestimated > 0:
		line += fmt.Sprintf(" At most %s by earlier measurements; %d stages were never measured.", rounded(s.EstimateSeconds), s.Unestimated)
	default:
		line += fmt.Sprintf(" At most %s by earlier measurements.", rounded(s.EstimateSeconds))
	}
	if budget.Seconds > 0 {
		line += fmt.Sprintf(" The budget is %s", time.Duration(budget.Seconds*float64(time.Second)))
		if known > 0 && s.EstimateSeconds > budget.Seconds {
			line += fmt.Sprintf(": about %.0f %% of it will fit", 100*budget.Seconds/s.EstimateSeconds)
		}
		line += "."
	}
	return line + costLine(s, budget.USD)
}

// costLine tells what a plan costs in money; nothing when nobody bills for it.
func costLine(s workspace.PlanSummary, budget float64) string {
	line := ""
	if s.EstimateUSD > 0 {
		line += fmt.Sprintf(" It costs about %s USD by the prices stated", dollars(s.EstimateUSD))
	}
	if s.Unpriced > 0 {
		billed := fmt.Sprintf("%s that %s billed and whose texts are not made yet", plural(s.Unpriced, "stage", "stages"), isAre(s.Unpriced))
		if line == "" {
			line = " What it costs is not known yet: there are " + billed
			if s.Unpriced == 1 {
				line = " What it costs is not known yet: there is " + billed
			}
		} else {
			line += ", without " + billed
		}
	}
	if line != "" {
		line += "."
	}
	if budget > 0 {
		line += fmt.Sprintf(" The budget is %s USD", dollars(budget))
		if s.EstimateUSD > budget {
			line += fmt.Sprintf(": about %.0f %% of it will fit", 100*budget/s.EstimateUSD)
		}
		line += "."
	}
	return line
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// dollars shows an amount with at least two decimals and two digits that count.
func dollars(usd float64) string {
	if usd >= 0.1 || usd == 0 {
		return strconv.FormatFloat(usd, 'f', 2, 64)
	}
	return strconv.FormatFloat(usd, 'f', 1-int(math.Floor(math.Log10(usd))), 64)
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
