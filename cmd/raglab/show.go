package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"

	"raglab/engine/workspace"
	"raglab/spec"
)

const showHelp = `Usage: raglab show PLAN [flags]

Shows a plan that raglab plan -out saved, stale or not.

  -json                one JSON object
  -detailed-exitcode   exit with 2 when there is something to do

Exit codes: 0 done, 1 error, 2 changes (with -detailed-exitcode).
`

func showCommand() command {
	return command{"show", "show a saved plan", showHelp, runShow}
}

func runShow(_ context.Context, t terminal, argv []string) int {
	set := flag.NewFlagSet("show", flag.ContinueOnError)
	asJSON := set.Bool("json", false, "")
	detailed := set.Bool("detailed-exitcode", false, "")
	rest, err := parseFlags(t, set, showHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	if len(rest) != 1 {
		return t.fail("show", errors.New("name one saved plan"))
	}
	p, err := workspace.LoadPlan(rest[0])
	if err != nil {
		return t.fail("show", err)
	}
	if *asJSON {
		b, err := json.MarshalIndent(p, "", "  ")
		if err != nil {
			return t.fail("show", err)
		}
		fmt.Fprintf(t.out, "%s\n", b)
	} else {
		showPlan(t, p)
	}
	if *detailed && p.Summary.Run+p.Summary.Maybe+p.Summary.Blocked > 0 {
		return exitChanges
	}
	return exitOK
}

func showPlan(t terminal, p *workspace.SavedPlan) {
	fmt.Fprintf(t.out, "%s, planned by raglab %s\n", p.Spec, p.Program)
	if p.Summary.Partial {
		fmt.Fprintln(t.out, partialWarning)
	}
	var lines []*planLine
	for _, s := range p.Stages {
		lines = append(lines, newPlanLine(s.Address, s.Outcome, s.Reason, s.Note, s.Forecast))
	}
	showLines(t.out, joinKinds(joinShards(lines)))
	showNotes(t.out, p.Notes)
	fmt.Fprintf(t.out, "\n%s\n", summaryLine(p.Summary, spec.Budget{}))
}
