package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"

	"raglab/spec"
)

const fmtHelp = `Usage: raglab fmt [FILE|FOLDER|-]... [flags]

Lays specs out in the canonical way and names the files that it changed. A folder
means the .hcl files in it; - reads standard input and writes standard output.

  -check               change nothing; exit with 3 when a file would change
  -diff                show what changes; changes nothing with -check

Exit codes: 0 done, 1 error, 3 a file is not formatted (with -check).
`

func fmtCommand() command {
	return command{"fmt", "lay out specs in the canonical way", fmtHelp, runFmt}
}

type fmtArgs struct{ check, diff bool }

func runFmt(_ context.Context, t terminal, argv []string) int {
	var a fmtArgs
	set := flag.NewFlagSet("fmt", flag.ContinueOnError)
	set.BoolVar(&a.check, "check", false, "")
	set.BoolVar(&a.diff, "diff", false, "")
	rest, err := parseFlags(t, set, fmtHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	if len(rest) == 0 {
		rest = []string{"."}
	}
	code := exitOK
	for _, path := range rest {
		if c := a.format(t, path); c != exitOK && code != exitError {
			code = c
		}
	}
	return code
}

func (a fmtArgs) format(t terminal, path string) int {
	if path == "-" {
		src, err := io.ReadAll(t.in)
		if err != nil {
			return t.fail("fmt", fmt.Errorf("read standard input: %w", err))
		}
		return a.source(t, "<stdin>", src, func(b []byte) error {
			_, err := t.out.Write(b)
			return err
		})
	}
	files := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(path, "*.hcl")); err != nil {
			return t.fail("fmt", err)
		}
	}
	code := exitOK
	for _, f := range files {
		if c := a.file(t, f); c != exitOK {
			code = c
		}
	}
	return code
}

func (a fmtArgs) file(t terminal, path string) int {
	src, err := os.ReadFile(path)
	if err != nil {
		return t.fail("fmt", err)
	}
	return a.source(t, path, src, func(b []byte) error {
		if bytes.Equal(b, src) {
			return nil
		}
		fmt.Fprintln(t.out, path)
		return os.WriteFile(path, b, 0o644)
	})
}

// source formats one text and hands the result on, unless only a check is
// wanted.
func (a fmtArgs) source(t terminal, name string, src []byte, write func([]byte) error) int {
	formatted, diags := spec.Format(name, src)
	if diags.HasErrors() {
		t.showDiagnostics(&spec.Experiment{Files: map[string]*hcl.File{name: {Bytes: src}}}, diags)
		return exitError
	}
	changed := !bytes.Equal(formatted, src)
	if a.diff && changed {
		if _, err := t.out.Write(spec.Diff(name, src, formatted)); err != nil {
			return t.fail("fmt", err)
		}
	}
	if a.check {
		if !changed {
			return exitOK
		}
		if !a.diff {
			fmt.Fprintln(t.out, name)
		}
		return exitFailed
	}
	if a.diff && name == "<stdin>" {
		return exitOK
	}
	if err := write(formatted); err != nil {
		return t.fail("fmt", errors.Join(err))
	}
	return exitOK
}
