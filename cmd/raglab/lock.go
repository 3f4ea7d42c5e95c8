package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"time"

	"raglab/engine/workspace"
	"raglab/spec"
)

const lockHelp = `Usage: raglab lock [SPEC] [flags]

Asks the sources of a spec what they hold now, and the repositories of its models
which commit they are at, and writes that into lock files: a source's into the
file that its attribute lock names, the models' into models.lock.json beside the
spec, which the specs of a folder share. What a lock file pins is fetched as it
was, or not at all. Without SPEC it takes the only one in this folder or in
experiments/. What was fetched for a lock is kept, so that an interrupted lock
goes on where it stopped.

` + specHelp + `  -only WHAT           lock the corpus, the golden questions or the models alone; may be repeated
  -check               write nothing; exit with 2 when a lock file would change
  -json                one JSON object a line

Exit codes: 0 done, 1 error, 2 a lock file would change (with -check).
`

func lockCommand() command {
	return command{"lock", "pin what a spec fetches", lockHelp, runLock}
}

// lockArgs are the flags of lock.
type lockArgs struct {
	specArgs
	only        []string
	check, json bool
}

func (a *lockArgs) register(set *flag.FlagSet) {
	a.specArgs.register(set)
	set.Func("only", "", func(v string) error {
		names := []string{"corpus", "golden", "models"}
		if !slices.Contains(names, v) {
			return fmt.Errorf("%q is not corpus, golden or models%s", v, didYouMean(v, names))
		}
		a.only = append(a.only, v)
		return nil
	})
	set.BoolVar(&a.check, "check", false, "")
	set.BoolVar(&a.json, "json", false, "")
}

func didYouMean(given string, names []string) string {
	if near := spec.Suggest(given, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

func runLock(ctx context.Context, t terminal, argv []string) int {
	t = t.asked(argv)
	var a lockArgs
	set := flag.NewFlagSet("lock", flag.ContinueOnError)
	a.register(set)
	rest, err := parseFlags(t, set, lockHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	path, err := specPath(rest)
	if err != nil {
		return t.fail("lock", err)
	}
	exp, diags := a.load(path)
	t = t.hiding(exp)
	t.showDiagnostics(exp, diags)
	if diags.HasErrors() {
		return exitError
	}
	w, err := a.workspace(t, "raglab lock", false)
	if err != nil {
		return t.fail("lock", err)
	}
	defer closing(t, w.Close)
	s, err := w.Sketch(ctx, exp)
	if err != nil {
		return t.showError("lock", exp, err)
	}
	defer closing(t, s.Close)
	return a.lock(ctx, t, s)
}

func (a *lockArgs) lock(ctx context.Context, t terminal, s *workspace.Session) int {
	files, err := s.Locks(ctx, a.only, lockProgress(t, time.Now))
	if err != nil {
		return t.fail("lock", err)
	}
	view := newLockView(t, a.check)
	changed := false
	for _, f := range files {
		changed = changed || f.Changed()
		if !a.check {
			if err := f.Write(); err != nil {
				return t.fail("lock", err)
			}
		}
		view.file(f)
	}
	view.end(s.Unlocked(a.only), s.LockWarnings(a.only))
	if a.check && changed {
		return exitChanges
	}
	return exitOK
}

// lockProgress says every ten seconds how far it is.
func lockProgress(t terminal, now func() time.Time) func(of string, done, total int) {
	last := now()
	return func(of string, done, total int) {
		if now().Sub(last) < 10*time.Second {
			return
		}
		last = now()
		text := fmt.Sprintf("%s: %d of %d", of, done, total)
		if t.events != nil {
			t.events.emit("progress", text, "of", of, "done", done, "total", total)
			return
		}
		fmt.Fprintln(t.err, text)
	}
}
