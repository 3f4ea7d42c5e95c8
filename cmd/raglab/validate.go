package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
)

const validateHelp = `Usage: raglab validate [SPEC] [flags]

Checks a spec: every block, attribute, kind and expression, and the cross. It
touches neither the network nor the cache, and reads no corpus.

  -var NAME=VALUE      set a variable of the spec; may be repeated
  -var-file FILE       set variables from a file; may be repeated
  -json                one JSON object

Exit codes: 0 valid, 1 not.
`

func validateCommand() command {
	return command{"validate", "check a spec without running it", validateHelp, runValidate}
}

func runValidate(_ context.Context, t terminal, argv []string) int {
	var a specArgs
	set := flag.NewFlagSet("validate", flag.ContinueOnError)
	a.register(set)
	asJSON := set.Bool("json", false, "")
	rest, err := parseFlags(t, set, validateHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	path, err := specPath(rest)
	if err != nil {
		return t.fail("validate", err)
	}
	exp, diags := a.load(path)
	t = t.hiding(exp)
	code := exitOK
	if diags.HasErrors() {
		code = exitError
	}
	if *asJSON {
		b, err := json.MarshalIndent(map[string]any{"version": 1, "valid": code == exitOK, "diagnostics": diagnosticsJSON(exp, diags)}, "", "  ")
		if err != nil {
			return t.fail("validate", err)
		}
		fmt.Fprintf(t.out, "%s\n", b)
		return code
	}
	t.showDiagnostics(exp, diags)
	if code == exitOK {
		fmt.Fprint(t.out, crossLine(exp), "The spec is valid.\n")
	}
	return code
}
