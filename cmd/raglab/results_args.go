package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"raglab/engine/workspace"
	"raglab/internal/report"
	"raglab/internal/revision"
)

// givenResults are results that a command was given, in a file or by their spec.
type givenResults struct {
	name   string
	report *report.Report
	// baseline is the file that the spec's gate names.
	baseline string
	// terminal hides what the spec says is secret.
	terminal terminal
}

// results reads what a command names: a file that the output json wrote, such a file
// in a commit as COMMIT:PATH, or a spec, whose results are in the cache. No name is
// the spec that was applied last.
func (a *specArgs) results(ctx context.Context, t terminal, command string, names ...string) (*givenResults, int) {
	if len(names) == 1 && !namesSpec(names[0]) {
		raw, err := readResults(ctx, names[0])
		if err != nil {
			return nil, t.fail(command, err)
		}
		r, err := report.Read(raw)
		if err != nil {
			return nil, t.fail(command, fmt.Errorf("read %s: %w", names[0], err))
		}
		return &givenResults{name: names[0], report: r, terminal: t}, exitOK
	}
	given := &givenResults{}
	code := a.known(ctx, t, command, names, true, func(t terminal, s *workspace.Session, k *workspace.Known) error {
		if !k.Complete {
			return fmt.Errorf("the results of %s are not all in the cache: run raglab apply first", s.Experiment.Name)
		}
		given.name, given.report, given.terminal = s.Experiment.Name, k.Report, t
		for _, g := range s.Experiment.Gates {
			if g.Baseline != "" {
				given.baseline = g.Baseline
			}
		}
		return nil
	})
	return given, code
}

// namesSpec tells a spec from a file of results.
func namesSpec(name string) bool {
	if strings.HasSuffix(name, ".hcl") {
		return true
	}
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func readResults(ctx context.Context, name string) ([]byte, error) {
	raw, err := os.ReadFile(name)
	if err == nil {
		return raw, nil
	}
	if commit, file, ok := revision.Split(name); ok {
		return revision.Read(ctx, "", commit, file)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s; results are in a file that an output of kind json wrote, in one of an earlier commit (COMMIT:PATH), or in the cache (name the spec)", shortPath(name))
	}
	return nil, fmt.Errorf("read results: %w", err)
}
