package main

import (
	"context"
	"flag"
	"fmt"
	"runtime"

	"raglab/internal/assets"
)

const setupHelp = `Usage: raglab setup [SPEC] [flags]

Gets all models and libraries that a spec needs, and says what each is and how
big. What is there already is not fetched again.

` + specHelp + `
Exit codes: 0 done, 1 error.
`

func setupCommand() command {
	return command{"setup", "get the models and libraries that a spec needs", setupHelp, runSetup}
}

func runSetup(ctx context.Context, t terminal, argv []string) int {
	var a specArgs
	set := flag.NewFlagSet("setup", flag.ContinueOnError)
	a.register(set)
	rest, err := parseFlags(t, set, setupHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	path, err := specPath(rest)
	if err != nil {
		return t.fail("setup", err)
	}
	exp, diags := a.load(path)
	t = t.hiding(exp)
	t.showDiagnostics(exp, diags)
	if diags.HasErrors() {
		return exitError
	}
	w, err := a.workspace(t, "raglab setup", false)
	if err != nil {
		return t.fail("setup", err)
	}
	defer closing(t, w.Close)
	s, err := w.Sketch(ctx, exp)
	if err != nil {
		return t.showError("setup", exp, err)
	}
	defer closing(t, s.Close)
	needed, err := s.Assets()
	if err != nil {
		return t.fail("setup", err)
	}
	if len(needed) == 0 {
		fmt.Fprintln(t.out, "This spec needs no model and no library.")
		return exitOK
	}
	for _, asset := range needed {
		dir, err := s.Asset(ctx, asset.Name)
		if err == nil {
			asset, err = s.FindAsset(asset.Name) // an unpinned model has a commit by now
		}
		if err != nil {
			return t.fail("setup", err)
		}
		fmt.Fprintln(t.out, assetLine(asset, dir))
	}
	return exitOK
}

func assetLine(a assets.Asset, dir string) string {
	size := sizeText(a.Size(runtime.GOOS + "/" + runtime.GOARCH))
	return fmt.Sprintf("%s %s, %s, %s\n  %s\n  in %s", a.Title(), a.Version, size, a.Licence, a.Summary, dir)
}
