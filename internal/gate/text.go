package gate

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteText says what failed and why, and counts what passed; with all it lists that
// too.
func (o *Outcome) WriteText(w io.Writer, all bool) error {
	out := bufio.NewWriter(w)
	verdict := "passed"
	if !o.Passed {
		verdict = "failed"
	}
	fmt.Fprintf(out, "%s: %s, %d of %s\n", o.Experiment, verdict, o.verdictCount(), plural(len(o.Checks), "check"))
	if o.Baseline != "" {
		fmt.Fprintf(out, "held against %s, on %s\n", o.Baseline, plural(o.Questions.Both, "question"))
	}
	for _, n := range o.Notes {
		fmt.Fprintf(out, "note: %s\n", n)
	}
	for _, c := range o.Checks {
		if !c.Passed || all {
			c.text(out)
		}
	}
	if passed := o.counts(); passed != "" && !all {
		fmt.Fprintf(out, "passed: %s\n", passed)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the outcome: %w", err)
	}
	return nil
}

// verdictCount is how many checks passed, or failed if any did.
func (o *Outcome) verdictCount() int {
	if o.Passed {
		return len(o.Checks)
	}
	return o.Failed
}

func (c Check) text(out *bufio.Writer) {
	mark := "ok  "
	if !c.Passed {
		mark = "FAIL"
	}
	fmt.Fprintf(out, "%s  %-6s  %s\n", mark, c.Kind, c.Text)
	for _, q := range c.Regressed {
		fmt.Fprintf(out, "        %s: %s → %s\n", q.Question, figure(q.Old), figure(q.New))
	}
	if c.Comparison != nil && len(c.Regressed) > 0 && c.Comparison.Losses > len(c.Regressed) {
		fmt.Fprintf(out, "        and %d more\n", c.Comparison.Losses-len(c.Regressed))
	}
}

// counts are the checks that passed, by kind.
func (o *Outcome) counts() string {
	var parts []string
	for _, kind := range Kinds {
		n := 0
		for _, c := range o.Checks {
			if c.Kind == kind && c.Passed {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	return strings.Join(parts, ", ")
}
