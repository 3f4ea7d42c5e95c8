package main

import (
	"context"
	"errors"
	"flag"

	"raglab/engine/workspace"
)

const docsHelp = `Usage: raglab docs [FACTOR [KIND]]

Prints the factors, the kinds of one, or one kind with its parameters, their
defaults and units, and an example. FACTOR is chunker, text, embedder, retriever,
reranker, source, output, store or metric.

Exit codes: 0 done, 1 error.
`

func docsCommand() command {
	return command{"docs", "print the kinds of a factor with their parameters", docsHelp, runDocs}
}

func runDocs(_ context.Context, t terminal, argv []string) int {
	set := flag.NewFlagSet("docs", flag.ContinueOnError)
	rest, err := parseFlags(t, set, docsHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	if len(rest) > 2 {
		return t.fail("docs", errors.New("give a factor and a kind"))
	}
	rest = append(rest, "", "")
	if err := workspace.Docs(t.out, rest[0], rest[1]); err != nil {
		return t.fail("docs", err)
	}
	return exitOK
}
