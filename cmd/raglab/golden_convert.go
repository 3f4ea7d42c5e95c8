package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"

	"raglab/golden"
)

func runGoldenConvert(_ context.Context, t terminal, argv []string) int {
	var a goldenArgs
	set := flag.NewFlagSet("golden convert", flag.ContinueOnError)
	a.register(set)
	to, out, force := golden.Raglab, set.String("out", "", ""), set.Bool("force", false, "")
	set.Func("to", "", func(s string) (err error) { to, err = golden.ParseFormat(s); return err })
	rest, err := parseFlags(t, set, goldenHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	if len(rest) != 1 || *out == "" {
		return t.fail("golden convert", errors.New("name one file to read, and with -out the file to write"))
	}
	if err := golden.Writable(*out, *force); err != nil {
		return t.fail("golden convert", fmt.Errorf("%w; -force overwrites it", err))
	}
	// Questions whose annotators disagree are kept by the one shape that says so.
	a.read.Unsettled = a.read.Drafts && to == golden.Turkish
	questions, err := a.readFile(t, rest[0])
	if err != nil {
		return t.fail("golden convert", err)
	}
	var b bytes.Buffer
	if err := golden.WriteAs(&b, questions, to); err != nil {
		return t.fail("golden convert", err)
	}
	if err := golden.Save(*out, b.Bytes(), *force); err != nil {
		return t.fail("golden convert", err)
	}
	fmt.Fprintf(t.out, "%s: %s in the format %s\n", *out, plural(len(questions.Questions), "question", "questions"), to)
	return exitOK
}
