package main

import (
	"context"
	"flag"

	"raglab/engine"
)

const graphHelp = `Usage: raglab graph [SPEC] [flags]

Draws the stages of a spec. The shards of one stage are one node.

` + specHelp + `  -type TYPE           dot (for Graphviz) or mermaid (for Markdown); default dot

Exit codes: 0 done, 1 error.
`

func graphCommand() command {
	return command{"graph", "draw the stages of a spec", graphHelp, runGraph}
}

func runGraph(ctx context.Context, t terminal, argv []string) int {
	var a specArgs
	set := flag.NewFlagSet("graph", flag.ContinueOnError)
	a.register(set)
	drawing := set.String("type", string(engine.Dot), "")
	rest, err := parseFlags(t, set, graphHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	path, err := specPath(rest)
	if err != nil {
		return t.fail("graph", err)
	}
	exp, diags := a.load(path)
	t = t.hiding(exp)
	t.showDiagnostics(exp, diags)
	if diags.HasErrors() {
		return exitError
	}
	w, err := a.workspace(t, "raglab graph", true)
	if err != nil {
		return t.fail("graph", err)
	}
	defer closing(t, w.Close)
	s, err := w.Sketch(ctx, exp)
	if err != nil {
		return t.showError("graph", exp, err)
	}
	defer closing(t, s.Close)
	if err := s.Pipeline.Graph.Draw(t.out, engine.Drawing(*drawing)); err != nil {
		return t.fail("graph", err)
	}
	return exitOK
}
