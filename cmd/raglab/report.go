package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"

	"raglab/engine/workspace"
	"raglab/internal/report"
	"raglab/spec"
)

const reportHelp = `Usage: raglab report [SPEC] [flags]

Prints the results that are in the cache, and runs nothing: all sections, or those
that are named. Sections that there is nothing to say in are left out. Without
SPEC it takes the spec that was applied last in this folder, or the only one in it
or in experiments/.

  -sections NAMES      of glance, recommended, mattered, best, worst, axes, tags,
                       interactions, not_measured, spans, losses, latency, ingest,
                       cost, tuning, golden, abstention, expected, limits, full;
                       joined by commas
  -markdown            as Markdown
  -json                everything, as in an output of kind json
  -write               write the outputs of the spec as well, if nothing is missing
  -var NAME=VALUE      set a variable of the spec; may be repeated
  -var-file FILE       set variables from a file; may be repeated
  -cache DIR           use this cache folder (or RAGLAB_CACHE)
  -store URL           and this store of many machines behind it (or RAGLAB_STORE)

Exit codes: 0 done, 1 error or nothing measured yet, 3 printed, but not all results
are in the cache.
`

func reportCommand() command {
	return command{"report", "print results again, or write them, from the cache alone", reportHelp, runReport}
}

type reportArgs struct {
	specArgs
	sections              string
	markdown, json, write bool
}

func runReport(ctx context.Context, t terminal, argv []string) int {
	var a reportArgs
	set := flag.NewFlagSet("report", flag.ContinueOnError)
	a.register(set)
	set.StringVar(&a.sections, "sections", "", "")
	set.BoolVar(&a.markdown, "markdown", false, "")
	set.BoolVar(&a.json, "json", false, "")
	set.BoolVar(&a.write, "write", false, "")
	rest, err := parseFlags(t, set, reportHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	sections, err := a.names()
	if err != nil {
		return t.fail("report", err)
	}
	code := exitOK
	shown := a.known(ctx, t, "report", rest, !a.write, func(t terminal, s *workspace.Session, k *workspace.Known) error {
		if !k.Complete {
			code = exitFailed
		}
		if err := a.print(t, k.Report, sections); err != nil || !a.write {
			return err
		}
		if !k.Complete {
			return errors.New("the results are partial: no output is written")
		}
		return a.outputs(ctx, t, s, k)
	})
	if shown != exitOK {
		return shown
	}
	return code
}

// names are the sections to print; none means all.
func (a *reportArgs) names() ([]string, error) {
	if a.markdown && a.json {
		return nil, errors.New("-markdown and -json cannot both be")
	}
	if a.sections == "" {
		return nil, nil
	}
	names := strings.Split(a.sections, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	for _, name := range names {
		if slices.Contains(report.Sections, name) {
			continue
		}
		err := fmt.Errorf("-sections: %q is none of %s", name, strings.Join(report.Sections, ", "))
		if near := spec.Suggest(name, report.Sections); near != "" {
			err = fmt.Errorf("%w; did you mean %q?", err, near)
		}
		return nil, err
	}
	return names, nil
}

func (a *reportArgs) print(t terminal, r *report.Report, sections []string) error {
	var b strings.Builder
	switch {
	case a.json:
		raw, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return fmt.Errorf("encode report: %w", err)
		}
		b.Write(append(raw, '\n'))
	case a.markdown:
		b.WriteString(report.Markdown(report.Pick(r.Tables(), sections)))
	default:
		if err := report.WriteText(&b, report.Pick(r.Tables(), sections), t.style()); err != nil {
			return err
		}
		for _, n := range r.Notes {
			b.WriteString("\n" + t.style().Apply(n) + "\n")
		}
	}
	fmt.Fprint(t.out, b.String())
	return nil
}

// outputs writes the spec's output files, and tells which changed.
func (a *reportArgs) outputs(ctx context.Context, t terminal, s *workspace.Session, k *workspace.Known) error {
	var errs []error
	details := sync.OnceValues(func() (*report.Details, error) { return k.Details(ctx) })
	for _, o := range s.Outputs {
		changed, err := report.WriteDetailed(o, k.Report, details)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		state := "unchanged"
		if changed {
			state = "written"
		}
		fmt.Fprintf(t.err, "%s (%s)\n", o.Path(), state)
	}
	return errors.Join(errs...)
}

// known loads a spec and hands on what the cache holds of its results.
func (a *specArgs) known(ctx context.Context, t terminal, name string, rest []string, readOnly bool, take func(terminal, *workspace.Session, *workspace.Known) error) int {
	path, err := a.specOrLast(t, rest)
	if err != nil {
		return t.fail(name, err)
	}
	exp, diags := a.load(path)
	t = t.hiding(exp)
	if diags.HasErrors() {
		t.showDiagnostics(exp, diags)
		return exitError
	}
	w, err := a.workspace(t, "raglab "+name, readOnly)
	if err != nil {
		return t.fail(name, err)
	}
	defer closing(t, w.Close)
	s, err := w.Start(ctx, exp)
	if err != nil {
		return t.showError(name, exp, err)
	}
	defer closing(t, s.Close)
	k, err := s.Known(ctx)
	if err != nil {
		return t.fail(name, err)
	}
	if err := take(t, s, k); err != nil {
		return t.fail(name, err)
	}
	return exitOK
}
