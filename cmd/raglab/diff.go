package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"raglab/internal/diff"
	"raglab/internal/report"
	"raglab/internal/revision"
)

const diffHelp = `Usage: raglab diff OLD [NEW] [flags]

Says how two results differ: in their settings, in the means of the rows that have
the same options, with the interval and the verdict of a paired test, and in the
questions that were won and lost. OLD and NEW are files that an output of kind json
wrote; such files in a commit, as HEAD~1:results/docs.json, with a path relative to
this folder; or specs, whose results are taken from the cache. Nothing is run. For
COMMIT:PATH alone NEW is the file as it is now, and for anything else the spec that
was applied last in this folder, or the only one in it or in experiments/.

Two keys of results are compared field by field, as raglab explain does.

  -json                one JSON object, with every row and question
` + specHelp + `
Exit codes: 0 they are the same, 1 error, 2 they differ. Times do not count.
`

func diffCommand() command {
	return command{"diff", "compare two results: settings, means, questions", diffHelp, runDiff}
}

func runDiff(ctx context.Context, t terminal, argv []string) int {
	var a specArgs
	set := flag.NewFlagSet("diff", flag.ContinueOnError)
	a.register(set)
	asJSON := set.Bool("json", false, "")
	rest, err := parseFlags(t, set, diffHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	if len(rest) < 1 || len(rest) > 2 {
		return t.fail("diff", errors.New("name the old results, and the new ones"))
	}
	if len(rest) == 2 && isKey(rest[0]) && isKey(rest[1]) {
		return a.explain(ctx, t, "diff", rest, *asJSON)
	}
	old, code := a.results(ctx, t, "diff", rest[0])
	if code != exitOK {
		return code
	}
	new, code := a.results(ctx, old.terminal, "diff", newerName(rest)...)
	if code != exitOK {
		return code
	}
	t = new.terminal
	d := diff.Of(shortPath(old.name), old.report, shortPath(new.name), new.report)
	if *asJSON {
		err = t.writeJSON(d)
	} else {
		err = tellDiff(t, d)
	}
	switch {
	case err != nil:
		return t.fail("diff", err)
	case d.Same:
		return exitOK
	}
	return exitChanges
}

// newerName names the new results, if anything does.
func newerName(rest []string) []string {
	if len(rest) == 2 {
		return rest[1:]
	}
	if _, file, ok := revision.Split(rest[0]); ok {
		return []string{file}
	}
	return nil
}

// isKey tells the beginning of a key from a file.
func isKey(name string) bool {
	_, err := os.Stat(name)
	return err != nil && len(name) >= leastKey && strings.Trim(name, "0123456789abcdef") == ""
}

func tellDiff(t terminal, d *diff.Result) error {
	for _, n := range d.Notes {
		fmt.Fprintf(t.out, "note: %s\n", n)
	}
	if d.Same {
		fmt.Fprintf(t.out, "%s and %s are the same: settings, rows, means and questions.\n", d.Old, d.New)
		return nil
	}
	return report.WriteText(t.out, d.Tables(), t.style())
}
