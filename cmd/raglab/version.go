package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
)

// version is set when a release is built.
var version = "dev"

const versionHelp = `Usage: raglab version

Prints the version of raglab and what it was built with.

Exit codes: 0 done, 1 error.
`

func versionCommand() command {
	return command{"version", "print the version", versionHelp, runVersion}
}

func runVersion(_ context.Context, t terminal, argv []string) int {
	set := flag.NewFlagSet("version", flag.ContinueOnError)
	rest, err := parseFlags(t, set, versionHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	if len(rest) > 0 {
		return t.fail("version", errors.New("it takes no argument"))
	}
	fmt.Fprintf(t.out, "raglab %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return exitOK
}
