package main

import (
	"context"
	"flag"

	"raglab/engine"
	"raglab/engine/workspace"
)

const planHelp = `Usage: raglab plan [SPEC] [flags]

Says what an apply would compute, stage by stage, and why. It writes nothing,
takes no lock and needs no network. Without SPEC it takes the spec that was
applied last in this folder, or the only one in it or in experiments/.

` + specHelp + `  -target ADDRESS      plan this stage alone, with what it needs; may be repeated
  -force ADDRESS       run this stage although its result is there; may be repeated
  -out FILE            save the plan, to be applied as it is
  -all                 list cached stages too
  -json                one JSON object a line
  -locked              refuse a spec whose sources and models are not all pinned
  -detailed-exitcode   exit with 2 when there is something to do

Exit codes: 0 done, 1 error, 2 changes (with -detailed-exitcode).
`

func planCommand() command {
	return command{"plan", "say what an apply would compute, and why", planHelp, runPlan}
}

// planArgs are the flags of plan.
type planArgs struct {
	specArgs
	workspace.Selection
	out      string
	all      bool
	json     bool
	detailed bool
	locked   bool
}

func (a *planArgs) register(set *flag.FlagSet) {
	a.specArgs.register(set)
	registerSelection(set, &a.Selection)
	set.StringVar(&a.out, "out", "", "")
	set.BoolVar(&a.all, "all", false, "")
	set.BoolVar(&a.json, "json", false, "")
	set.BoolVar(&a.detailed, "detailed-exitcode", false, "")
	set.BoolVar(&a.locked, "locked", false, "")
}

func registerSelection(set *flag.FlagSet, s *workspace.Selection) {
	set.Func("target", "", func(v string) error { s.Targets = append(s.Targets, v); return nil })
	set.Func("force", "", func(v string) error { s.Force = append(s.Force, v); return nil })
}

func runPlan(ctx context.Context, t terminal, argv []string) int {
	t = t.asked(argv)
	var a planArgs
	set := flag.NewFlagSet("plan", flag.ContinueOnError)
	a.register(set)
	rest, err := parseFlags(t, set, planHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	path, err := a.specOrLast(t, rest)
	if err != nil {
		return t.fail("plan", err)
	}
	exp, diags := a.load(path)
	t = t.hiding(exp)
	t.showDiagnostics(exp, diags)
	if diags.HasErrors() {
		return exitError
	}
	w, err := a.workspace(t, "raglab plan", true)
	if err != nil {
		return t.fail("plan", err)
	}
	defer closing(t, w.Close)
	s, err := w.Start(ctx, exp)
	if err != nil {
		return t.showError("plan", exp, err)
	}
	defer closing(t, s.Close)
	if err := newPins(t, a.locked).check(s); err != nil {
		return t.fail("plan", err)
	}
	plan, err := s.Plan(ctx, a.Selection)
	if err != nil {
		return t.fail("plan", err)
	}
	if err := newPlanView(t, a.all).plan(s, plan); err != nil {
		return t.fail("plan", err)
	}
	if a.out != "" {
		if err := workspace.SavePlan(a.out, s, plan, workspace.SavedPlan{Spec: path, Vars: a.vars, VarFiles: a.varFiles, Selection: a.Selection}); err != nil {
			return t.fail("plan", err)
		}
	}
	if failed := inputErrors(plan); len(failed) > 0 {
		for _, err := range failed {
			t.problem("plan", err)
		}
		return exitError
	}
	if a.detailed && plan.Changes() {
		return exitChanges
	}
	return exitOK
}

// inputErrors are the errors of stages that the plan ran in memory, each once.
func inputErrors(plan *engine.Plan) []error {
	var errs []error
	seen := map[string]bool{}
	for i := range plan.Stages {
		if err := plan.Stages[i].Err; err != nil && !seen[err.Error()] {
			seen[err.Error()] = true
			errs = append(errs, err)
		}
	}
	return errs
}

// closing closes at the end of a command and reports what went wrong.
func closing(t terminal, close func() error) {
	if err := close(); err != nil {
		t.warn(err.Error())
	}
}
