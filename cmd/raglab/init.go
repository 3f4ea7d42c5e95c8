package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"raglab/engine/workspace"
)

const initHelp = `Usage: raglab init DIR [flags]

Looks at a folder of documents and writes a spec that runs with what is
installed. Questions are looked for in the folder and beside it: a .jsonl file of
questions, or a data set in BEIR's layout. Without any, an empty questions file
is begun, with an example to follow.

  -out FILE            the spec to write (default experiments/NAME.hcl, NAME from the folder)

Nothing that is there already is overwritten.

Exit codes: 0 done, 1 error.
`

func initCommand() command {
	return command{"init", "write a spec for a folder of documents", initHelp, runInit}
}

func runInit(ctx context.Context, t terminal, argv []string) int {
	set := flag.NewFlagSet("init", flag.ContinueOnError)
	out := set.String("out", "", "")
	rest, err := parseFlags(t, set, initHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	if len(rest) != 1 {
		return t.fail("init", errors.New("name the folder of documents"))
	}
	found, err := workspace.Look(ctx, rest[0])
	if err != nil {
		return t.fail("init", err)
	}
	written, err := found.Write(*out)
	if err != nil {
		return t.fail("init", err)
	}
	fmt.Fprintln(t.out, found.Summary())
	for _, w := range written {
		fmt.Fprintln(t.out, "wrote "+w)
	}
	fmt.Fprintf(t.out, "Next: raglab plan %s\n", written[0])
	return exitOK
}
