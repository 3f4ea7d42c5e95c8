package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/workspace"
	"raglab/internal/report"
)

const applyHelp = `Usage: raglab apply [SPEC|PLAN] [flags]

Computes what is not known yet, writes the outputs and shows the results. What
was computed stays in the cache: after an interruption or a crash the next apply
goes on where this one stopped. A stage that fails does not stop what does not
need it. Without SPEC it takes the spec that was applied last in this folder, or
the only one in it or in experiments/.

` + specHelp + `  -target ADDRESS      apply this stage alone, with what it needs; may be repeated
  -force ADDRESS       run this stage although its result is there; may be repeated
  -locked              refuse a spec whose sources and models are not all pinned
  -on WHERE            here (default), or river: hand the stages to workers through
                         the queue on RAGLAB_DSN; results move through RAGLAB_STORE
  -fail-fast           begin nothing more after the first failure
  -verify SHARE        make that share of the cached results again and compare, as 5% or 0.05
  -lock-timeout TIME   wait that long for another process, as 30s (default: as long as it takes)
  -progress MODE       auto, tty, plain or quiet (default auto)
  -quiet               results and failures only
  -json                one JSON object a line

With -on river, an interrupt leaves the run at work: the same apply attaches to it
again, raglab status shows it from anywhere, raglab cancel ends it.

Exit codes: 0 done, 1 error in the spec or in what it reads, 3 finished with
failed stages or at the end of the budget, 4 verification found a difference,
11 locked, 130 interrupted.
`

func applyCommand() command {
	return command{"apply", "compute it and show the results", applyHelp, runApply}
}

// applyArgs are the flags of apply.
type applyArgs struct {
	specArgs
	workspace.Selection
	on          string
	loaded      workspace.Loaded
	failFast    bool
	locked      bool
	verify      float64
	lockTimeout time.Duration
	progress    string
	quiet, json bool
}

func (a *applyArgs) register(set *flag.FlagSet) {
	a.specArgs.register(set)
	registerSelection(set, &a.Selection)
	set.Func("on", "", func(s string) error {
		if s != here && s != onRiver {
			return fmt.Errorf("%q is neither here nor river", s)
		}
		a.on = s
		return nil
	})
	set.BoolVar(&a.failFast, "fail-fast", false, "")
	set.BoolVar(&a.locked, "locked", false, "")
	set.Func("verify", "", func(s string) (err error) { a.verify, err = parseShare(s); return err })
	set.DurationVar(&a.lockTimeout, "lock-timeout", 0, "")
	set.StringVar(&a.progress, "progress", "auto", "")
	set.BoolVar(&a.quiet, "quiet", false, "")
	set.BoolVar(&a.json, "json", false, "")
}

// Where an apply's stages run.
const (
	here    = "here"
	onRiver = "river"
)

// parseShare reads 5% or 0.05.
func parseShare(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, fmt.Errorf("%q is not a share such as 5%% or 0.05", s)
	}
	return v, nil
}

func runApply(ctx context.Context, t terminal, argv []string) int {
	t = t.asked(argv)
	var a applyArgs
	set := flag.NewFlagSet("apply", flag.ContinueOnError)
	a.register(set)
	rest, err := parseFlags(t, set, applyHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	path, saved, err := a.savedOrSpec(t, rest)
	if err != nil {
		return t.fail("apply", err)
	}
	exp, diags := a.load(path)
	t = t.hiding(exp)
	view, err := newApplyView(t, a)
	if err != nil {
		return t.fail("apply", err)
	}
	t.showDiagnostics(exp, diags)
	if diags.HasErrors() {
		return exitError
	}
	w, err := a.workspace(t, "raglab apply "+path, false)
	if err != nil {
		return t.fail("apply", err)
	}
	defer closing(t, w.Close)
	a.loaded = workspace.Loaded{Spec: path, Vars: a.vars, VarFiles: a.varFiles}
	start := w.Start
	if a.on == onRiver {
		start = w.StartAway
	}
	s, err := start(ctx, exp)
	if err != nil {
		return t.showError("apply", exp, err)
	}
	defer closing(t, s.Close)
	if saved != nil {
		if err := saved.Stale(s); err != nil {
			return t.fail("apply", err)
		}
	}
	if err := w.RememberApplied(path); err != nil {
		t.warn(err.Error())
	}
	return a.apply(ctx, t, view, s)
}

// savedOrSpec tells a saved plan from a spec. A plan brings the variables, but
// sensitive ones, and the selection it was made with.
func (a *applyArgs) savedOrSpec(t terminal, rest []string) (string, *workspace.SavedPlan, error) {
	path, err := a.specOrLast(t, rest)
	if err != nil {
		return "", nil, err
	}
	info, err := os.Stat(path)
	if err != nil || info.IsDir() || strings.HasSuffix(path, ".hcl") {
		return path, nil, nil
	}
	saved, err := workspace.LoadPlan(path)
	if errors.Is(err, workspace.ErrNoPlan) {
		return path, nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	maps.Copy(a.vars, saved.Vars)
	a.varFiles, a.Selection = saved.VarFiles, saved.Selection
	return saved.Spec, saved, nil
}

func (a *applyArgs) apply(ctx context.Context, t terminal, view applyView, s *workspace.Session) int {
	pins := newPins(t, a.locked)
	if err := pins.check(s); err != nil {
		return t.fail("apply", err)
	}
	var away *workspace.Away
	if a.on == onRiver {
		q, err := s.Queue(ctx, workspace.QueueOptions{})
		if err != nil {
			return t.fail("apply", err)
		}
		defer closing(t, q.Close)
		away = &workspace.Away{Queue: q, Loaded: a.loaded, Submitted: a.submitted(ctx, t, q)}
	}
	if err := s.Prepare(ctx); err != nil {
		return t.fail("apply", err)
	}
	for lost := 0; ; {
		plan, err := s.Plan(ctx, a.Selection)
		if err != nil {
			return t.fail("apply", err)
		}
		out, err := a.once(ctx, t, view, s, plan, away)
		if out == nil {
			return t.fail("apply", err)
		}
		more := false
		if complete(plan, out) {
			// A staged cross goes on with what the results so far decide.
			if more, err = s.Advance(ctx, out.Output); err != nil {
				return t.fail("apply", err)
			}
		}
		if more {
			if err := pins.check(s); err != nil {
				return t.fail("apply", err)
			}
			continue
		}
		err = a.results(ctx, view, s, plan, out)
		if errors.As(err, new(*engine.LostInputError)) && lost < maxLost {
			// A result was damaged; it is set aside and will be made again.
			lost++
			continue
		}
		view.failures(out)
		if code := applyExit(out); err == nil || code == exitInterrupted {
			return code
		}
		return t.fail("apply", err)
	}
}

// maxLost bounds how often an apply begins anew because a result that it is about
// to show is damaged.
const maxLost = 3

// once applies one plan. The outcomes are nil when the apply itself could not go
// on.
func (a *applyArgs) once(ctx context.Context, t terminal, view applyView, s *workspace.Session, plan *engine.Plan, away *workspace.Away) (*engine.Outcomes, error) {
	if plan.Changes() {
		garbage.run()
	}
	view.begin(s, plan)
	told := make(chan struct{})
	untold := context.AfterFunc(ctx, func() {
		defer close(told)
		view.interrupted()
	})
	out, err := s.Apply(ctx, plan, workspace.ApplyOptions{
		FailFast: a.failFast, LockTimeout: a.lockTimeout, Verify: a.verify,
		Reason: "raglab " + strings.Join(os.Args[1:], " "), Events: view.event, Away: away,
	})
	if !untold() {
		<-told
	}
	view.end(out)
	if out != nil && err != nil {
		t.warn(err.Error())
	}
	return out, err
}

// complete reports whether an apply brought about all that the spec asks for.
func complete(plan *engine.Plan, out *engine.Outcomes) bool {
	return !plan.Partial && len(out.Failures) == 0 && !out.Interrupted && out.OverBudget == ""
}

// results writes the outputs and shows the tables. Results that are partial are
// shown and not written: a file must not pass for the whole experiment. Nothing is
// written, and no ranking read for it, where what an earlier apply wrote still stands.
// The error is for outputs that could not be written; the others are.
func (a *applyArgs) results(ctx context.Context, view applyView, s *workspace.Session, plan *engine.Plan, out *engine.Outcomes) error {
	ctx = context.WithoutCancel(ctx)
	whole := complete(plan, out)
	var shown *workspace.Shown
	if whole {
		shown = s.Shown(out)
	}
	if texts, asText := view.(textView); asText && shown != nil {
		texts.show(shown.Text, unchanged(shown), true)
		return nil
	}
	r, err := s.Report(ctx, out)
	if err != nil {
		return err
	}
	if !whole {
		r.Notes = append(r.Notes, "The results are partial.")
		view.results(r, nil, false)
		return nil
	}
	if shown != nil {
		view.results(r, unchanged(shown), true)
		return nil
	}
	written, err := writeOutputs(ctx, s, out, r)
	view.results(r, written, true)
	if err != nil {
		return err
	}
	return s.Remember(out, s.Experiment.Redact()(resultsText(r)))
}

// writeOutputs writes the files that the spec asks for, as many as can be.
func writeOutputs(ctx context.Context, s *workspace.Session, out *engine.Outcomes, r *report.Report) ([]writtenOutput, error) {
	var written []writtenOutput
	var errs []error
	details := sync.OnceValues(func() (*report.Details, error) { return s.Details(ctx, out, r) })
	for _, o := range s.Outputs {
		changed, err := report.WriteDetailed(o, r, details)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		written = append(written, writtenOutput{o.Path(), changed})
	}
	return written, errors.Join(errs...)
}

func unchanged(shown *workspace.Shown) []writtenOutput {
	var files []writtenOutput
	for _, f := range shown.Files {
		files = append(files, writtenOutput{f.Path, false})
	}
	return files
}

// writtenOutput is an output's file, and whether it changed.
type writtenOutput struct {
	Path    string `json:"path"`
	Changed bool   `json:"changed"`
}

func applyExit(out *engine.Outcomes) int {
	switch {
	case out.Interrupted:
		return exitInterrupted
	case len(out.Failures) > 0:
		var input *engine.InputError
		var store *engine.StoreError
		code := exitFailed
		for _, f := range out.Failures {
			if errors.Is(f.Err, cache.ErrLocked) {
				return exitLocked
			}
			if errors.As(f.Err, &input) || errors.As(f.Err, &store) {
				code = exitError
			}
		}
		return code
	case len(out.Different) > 0:
		return exitDifferent
	case out.OverBudget != "":
		return exitFailed
	}
	return exitOK
}
