package main

import (
	"bufio"
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
	out := bufio.NewWriter(v.out)
	fmt.Fprint(out, crossLine(s.Experiment))
	if p.Partial {
		fmt.Fprintln(out, partialWarning)
	}
	showLines(out, linesOf(p, v.all))
	showNotes(out, p.Notes)
	fmt.Fprintf(out, "\n%s\n", summaryLine(workspace.Summarise(p), s.Experiment.Budget))
	return out.Flush()
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

var outcomeSign = map[engine.Outcome]string{
	engine.Cached: " ", engine.WillRun: "+", engine.Maybe: "?", engine.Blocked: "!",
}

// showLines writes lines, set apart from what stands before them.
func showLines(w io.Writer, lines []planLine) {
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
