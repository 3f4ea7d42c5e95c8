package main

import (
	"context"
	"fmt"
	"runtime"
)

// version is set when a release is built.
var version = "dev"

const versionHelp = `Usage: raglab version

Prints the version of raglab and what it was built with.

Exit codes: 0 done.
`

func versionCommand() command {
	return command{"version", "print the version", versionHelp, func(_ context.Context, t terminal, _ []string) int {
		fmt.Fprintf(t.out, "raglab %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return exitOK
	}}
}
