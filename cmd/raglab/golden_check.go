package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"

	"raglab/engine/workspace"
	"raglab/golden"
)

// checkArgs are the flags of golden check.
type checkArgs struct {
	goldenArgs
	golden.Limits
	strict bool
}

func (a *checkArgs) register(set *flag.FlagSet) {
	a.goldenArgs.register(set)
	a.Limits = golden.DefaultLimits()
	set.IntVar(&a.SpanMin, "span-min", a.SpanMin, "")
	set.IntVar(&a.SpanMax, "span-max", a.SpanMax, "")
	for name, into := range map[string]*float64{"copied": &a.Copied, "jaccard": &a.Jaccard, "containment": &a.Containment, "part": &a.Part} {
		set.Func(name, "", func(s string) (err error) { *into, err = parseShare(s); return err })
	}
	set.BoolVar(&a.strict, "strict", false, "")
}

func runGoldenCheck(ctx context.Context, t terminal, argv []string) int {
	var a checkArgs
	set := flag.NewFlagSet("golden check", flag.ContinueOnError)
	a.register(set)
	in, code := a.openNamed(ctx, &t, set, "check", argv)
	if in == nil {
		return code
	}
	defer closing(t, in.w.Close)
	checked, err := a.check(ctx, t, in)
	if err != nil {
		return t.failGolden("check", in, err)
	}
	return a.show(t, checked)
}

// checkedSet is what came of a check.
type checkedSet struct {
	questions int
	golden.Inspection
	// unchecked says what could not be looked at.
	unchecked string
}

func (a *checkArgs) check(ctx context.Context, t terminal, in *goldenInput) (*checkedSet, error) {
	out := &checkedSet{unchecked: "no corpus: whether documents exist and hold their spans was not looked at"}
	set, err := a.questions(ctx, t, in)
	var problems golden.Problems
	if errors.As(err, &problems) {
		out.unchecked = "the questions cannot be read: nothing else was looked at"
		for _, p := range problems {
			out.Findings = append(out.Findings, golden.Finding{Problem: p, Code: golden.Unreadable})
		}
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	words, err := in.w.Words(ctx, in.exp, in.language, a.option)
	if err != nil {
		return nil, err
	}
	var corpus *golden.Corpus
	if in.exp != nil {
		out.unchecked = ""
		if corpus, err = corpusOf(ctx, t, in); err != nil {
			return nil, err
		}
	}
	out.questions = len(set.Questions)
	out.Inspection = golden.Inspect(set, corpus, in.split(), words, a.Limits)
	return out, nil
}

func corpusOf(ctx context.Context, t terminal, in *goldenInput) (*golden.Corpus, error) {
	c, err := in.w.Corpus(ctx, in.exp, false)
	if err != nil {
		return nil, err
	}
	defer closing(t, c.Close)
	docs, err := c.Documents(ctx)
	if err != nil {
		return nil, err
	}
	return workspace.CheckedAgainst(docs, in.exp.Golden), nil
}

func (a *checkArgs) show(t terminal, c *checkedSet) int {
	errs := c.Errors()
	code := exitOK
	if errs > 0 || a.strict && len(c.Findings) > 0 {
		code = exitFailed
	}
	if a.json {
		b, err := json.MarshalIndent(checkJSON(c), "", "  ")
		if err != nil {
			return t.fail("golden check", err)
		}
		fmt.Fprintf(t.out, "%s\n", b)
		return code
	}
	for _, f := range c.Findings {
		fmt.Fprintln(t.out, findingLine(f))
	}
	if len(c.Findings) > 0 {
		fmt.Fprintln(t.out)
	}
	if c.unchecked != "" {
		fmt.Fprintln(t.out, capitalised(c.unchecked)+".")
	}
	fmt.Fprintln(t.out, checkSummary(c))
	return code
}

func capitalised(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func severity(f golden.Finding) string {
	if f.Warning {
		return "warning"
	}
	return "error"
}

// findingLine is a finding as compilers write it: place, severity, text and code.
func findingLine(f golden.Finding) string {
	place := ""
	if f.File != "" {
		place = f.File + ": "
		if f.Line > 0 {
			place = fmt.Sprintf("%s:%d: ", f.File, f.Line)
		}
	}
	rest := f.Problem
	rest.File, rest.Line = "", 0
	return fmt.Sprintf("%s%s: %s [%s]", place, severity(f), rest, f.Code)
}

// checkSummary counts the findings, by code in the order in which they come first.
func checkSummary(c *checkedSet) string {
	counts := map[golden.Code]int{}
	var codes []golden.Code
	for _, f := range c.Findings {
		if counts[f.Code] == 0 {
			codes = append(codes, f.Code)
		}
		counts[f.Code]++
	}
	s := fmt.Sprintf("%s, %s, %s", plural(c.questions, "question", "questions"),
		plural(c.Errors(), "error", "errors"), plural(len(c.Findings)-c.Errors(), "warning", "warnings"))
	parts := make([]string, len(codes))
	for i, code := range codes {
		parts[i] = fmt.Sprintf("%d %s", counts[code], code)
	}
	if len(parts) > 0 {
		s += " (" + strings.Join(parts, ", ") + ")"
	}
	return s
}

type findingJSON struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Question string `json:"question,omitempty"`
	Summary  string `json:"summary"`
	Detail   string `json:"detail,omitempty"`
}

func checkJSON(c *checkedSet) any {
	findings := make([]findingJSON, 0, len(c.Findings))
	for _, f := range c.Findings {
		findings = append(findings, findingJSON{severity(f), string(f.Code), f.File, f.Line, f.Question, f.Summary, f.Detail})
	}
	return struct {
		Version   int           `json:"version"`
		Questions int           `json:"questions"`
		Errors    int           `json:"errors"`
		Warnings  int           `json:"warnings"`
		Unchecked string        `json:"unchecked,omitempty"`
		Findings  []findingJSON `json:"findings"`
	}{1, c.questions, c.Errors(), len(c.Findings) - c.Errors(), c.unchecked, findings}
}
