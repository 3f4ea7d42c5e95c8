package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"raglab/engine/workspace"
	"raglab/internal/report"
	"raglab/spec"
)

const showHelp = `Usage: raglab show [CONFIGURATION|QUESTION|KEY|PLAN] [flags]

Shows one thing from the cache, and runs nothing: a configuration by its name, as
"sentence / simple" or sentence,simple; a question by its id, with what is judged
and where each configuration ranks it; a result by its key, or the beginning of
one; or a plan that raglab plan -out saved, stale or not. Without a name it shows
the results at a glance.

  -spec SPEC           of this spec (default: the one applied last in this folder, or
                       the only one in it or in experiments/)
  -json                one JSON object
  -detailed-exitcode   of a plan: exit with 2 when there is something to do
  -var NAME=VALUE      set a variable of the spec; may be repeated
  -var-file FILE       set variables from a file; may be repeated
  -cache DIR           use this cache folder (or RAGLAB_CACHE)
  -store URL           and this store of many machines behind it (or RAGLAB_STORE)

Exit codes: 0 done, 1 error, 2 changes (with -detailed-exitcode).
`

func showCommand() command {
	return command{"show", "show a configuration, a question, a result or a saved plan", showHelp, runShow}
}

type showArgs struct {
	specArgs
	spec           string
	json, detailed bool
}

func runShow(ctx context.Context, t terminal, argv []string) int {
	var a showArgs
	set := flag.NewFlagSet("show", flag.ContinueOnError)
	a.register(set)
	set.StringVar(&a.spec, "spec", "", "")
	set.BoolVar(&a.json, "json", false, "")
	set.BoolVar(&a.detailed, "detailed-exitcode", false, "")
	rest, err := parseFlags(t, set, showHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	if len(rest) > 1 {
		return t.fail("show", errors.New("name one configuration, question, key or plan; a name with blanks needs quotes"))
	}
	name := strings.Join(rest, "")
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		return a.plan(t, name)
	}
	if done, code := a.key(ctx, t, name); done {
		return code
	}
	var of []string
	if a.spec != "" {
		of = []string{a.spec}
	}
	return a.known(ctx, t, "show", of, true, func(t terminal, _ *workspace.Session, k *workspace.Known) error {
		return a.find(ctx, t, k, name)
	})
}

// plan shows a saved plan.
func (a *showArgs) plan(t terminal, path string) int {
	p, err := workspace.LoadPlan(path)
	if err != nil {
		return t.fail("show", err)
	}
	if a.json {
		if err := t.writeJSON(p); err != nil {
			return t.fail("show", err)
		}
	} else {
		showPlan(t, p)
	}
	if a.detailed && p.Summary.Run+p.Summary.Maybe+p.Summary.Blocked > 0 {
		return exitChanges
	}
	return exitOK
}

func (t terminal) writeJSON(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	fmt.Fprintf(t.out, "%s\n", b)
	return nil
}

// leastKey is how many digits of a key tell it from a name.
const leastKey = 6

// key shows the result whose key begins so, and reports whether there is one.
func (a *showArgs) key(ctx context.Context, t terminal, name string) (done bool, code int) {
	if len(name) < leastKey || strings.Trim(name, "0123456789abcdef") != "" {
		return false, 0
	}
	w, err := a.workspace(t, "raglab show", true)
	if err != nil {
		return true, t.fail("show", err)
	}
	defer closing(t, w.Close)
	x, err := explainKey(ctx, w.Cache, name)
	if err != nil {
		return false, 0 // a question may be called so
	}
	if a.json {
		return true, explainJSON(t, []explained{x})
	}
	x.write(t)
	return true, exitOK
}

// find shows what of an experiment has the name.
func (a *showArgs) find(ctx context.Context, t terminal, k *workspace.Known, name string) error {
	if name == "" {
		return a.show(t, k, report.Pick(k.Report.Tables(), []string{"glance"}), k.Report)
	}
	if c := configurationOf(k.Report, name); c != nil {
		return a.show(t, k, k.Report.ConfigurationTables(c), c)
	}
	l, err := k.Question(ctx, name)
	if err != nil {
		return err
	}
	if l != nil {
		return a.show(t, k, k.Report.QuestionTables(l), l)
	}
	return notFound(k.Report, name)
}

func (a *showArgs) show(t terminal, k *workspace.Known, tables []report.Table, v any) error {
	if a.json {
		return t.writeJSON(v)
	}
	if err := report.WriteText(t.out, tables, t.style()); err != nil {
		return err
	}
	for _, n := range k.Report.Notes {
		fmt.Fprintln(t.out, "\n"+t.style().Apply(n))
	}
	return nil
}

// configurationOf finds a row by its name, its labels joined by commas, or its
// options as in chunker=whole,text=simple, where axes may be left out that tell no
// row from another; nil when none or several are meant.
func configurationOf(r *report.Report, name string) *report.Configuration {
	if c := r.Row(name); c != nil {
		return c
	}
	separator := ","
	if strings.Contains(name, "/") {
		separator = "/"
	}
	parts := strings.Split(name, separator)
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	if c := r.Row(strings.Join(parts, " / ")); c != nil {
		return c
	}
	var found *report.Configuration
	for i := range r.Configurations {
		c := &r.Configurations[i]
		if !hasOptions(c, parts) {
			continue
		}
		if found != nil {
			return nil
		}
		found = c
	}
	return found
}

// hasOptions reports whether a row has all of some options, as factor=label.
func hasOptions(c *report.Configuration, options []string) bool {
	for _, o := range options {
		factor, label, ok := strings.Cut(o, "=")
		if !ok || c.Options[factor] != label {
			return false
		}
	}
	return true
}

func notFound(r *report.Report, name string) error {
	var names []string
	for _, c := range r.Configurations {
		names = append(names, c.Name)
	}
	for _, q := range r.Golden {
		names = append(names, q.ID)
	}
	err := fmt.Errorf("%s has no configuration and no question called %q, and no result's key begins so", r.Experiment, name)
	if _, statErr := os.Stat(name); errors.Is(statErr, fs.ErrNotExist) && strings.ContainsAny(name, "./") {
		err = fmt.Errorf("%w; nor is it a plan's file", err)
	}
	if near := spec.Suggest(name, names); near != "" {
		return fmt.Errorf("%w; did you mean %q?", err, near)
	}
	return fmt.Errorf("%w; raglab report -sections full lists the configurations", err)
}

func showPlan(t terminal, p *workspace.SavedPlan) {
	fmt.Fprintf(t.out, "%s, planned by raglab %s\n", p.Spec, p.Program)
	if p.Summary.Partial {
		fmt.Fprintln(t.out, partialWarning)
	}
	lines := newPlanLines()
	for _, s := range p.Stages {
		lines.add(s.Address, s.Outcome, s.Reason, s.Note, s.Forecast)
	}
	showLines(t.out, lines.lines())
	showNotes(t.out, p.Notes)
	fmt.Fprintf(t.out, "\n%s\n", summaryLine(p.Summary, spec.Budget{}))
}
