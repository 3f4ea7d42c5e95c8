package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"

	"raglab/axes"
	"raglab/golden"
)

// agreementArgs are the flags of golden agreement.
type agreementArgs struct {
	goldenArgs
	spec string
	rule golden.Rule
}

func (a *agreementArgs) register(set *flag.FlagSet) {
	a.goldenArgs.register(set)
	a.rule = golden.ByJaccard
	set.StringVar(&a.spec, "spec", "", "")
	set.Func("rule", "", func(s string) error {
		a.rule = golden.Rule(s)
		if a.rule != golden.ByJaccard && a.rule != golden.ByF1 {
			return fmt.Errorf("there is no rule %q; there are jaccard and f1", s)
		}
		return nil
	})
}

func runGoldenAgreement(ctx context.Context, t terminal, argv []string) int {
	var a agreementArgs
	set := flag.NewFlagSet("golden agreement", flag.ContinueOnError)
	a.register(set)
	rest, err := parseFlags(t, set, goldenHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	// What a draft's annotators marked is what this is about.
	a.read = golden.ReadOptions{Drafts: true, Unsettled: true}
	spec := a.spec
	switch {
	case len(rest) == 0 || len(rest) > 2:
		err = errors.New("name one file or spec whose questions were annotated twice, or two files")
	case isSpec(rest[0]) && (spec != "" || len(rest) == 2):
		err = errors.New("name a spec with -spec, beside the files of questions")
	case isSpec(rest[0]):
		spec = rest[0]
	}
	if err != nil {
		return t.fail("golden agreement", err)
	}
	in, err := a.open(ctx, &t, "agreement", spec)
	if err != nil {
		return t.failGolden("agreement", in, err)
	}
	defer closing(t, in.w.Close)
	agreed, err := a.compare(ctx, t, in, rest)
	if err != nil {
		return t.failGolden("agreement", in, err)
	}
	if a.json {
		b, err := json.MarshalIndent(agreementJSON(agreed), "", "  ")
		if err != nil {
			return t.fail("golden agreement", err)
		}
		fmt.Fprintf(t.out, "%s\n", b)
		return exitOK
	}
	fmt.Fprint(t.out, agreementText(agreed))
	return exitOK
}

func (a *agreementArgs) compare(ctx context.Context, t terminal, in *goldenInput, files []string) (golden.Agreement, error) {
	var none golden.Agreement
	both, err := a.annotated(t, in, files)
	if err != nil {
		return none, err
	}
	if len(both) == 0 {
		return none, errors.New("no question was annotated twice")
	}
	words, err := in.w.Words(ctx, in.exp, in.language, a.option)
	if err != nil {
		return none, err
	}
	var chunkers []golden.Chunker
	if in.exp != nil {
		if chunkers, err = a.chunkers(ctx, t, in, both); err != nil {
			return none, err
		}
	}
	return golden.Agree(both, words, a.rule, chunkers), nil
}

// annotated reads the questions that were annotated twice.
func (a *agreementArgs) annotated(t terminal, in *goldenInput, files []string) ([]golden.Annotated, error) {
	if isSpec(files[0]) {
		file := in.exp.Golden.File
		if file == "" {
			return nil, errors.New("the spec's questions are in no file of their own; name the file, and the spec with -spec")
		}
		files, a.format = []string{file}, golden.Format(in.exp.Golden.Format)
	}
	first, err := a.readFile(t, files[0])
	if err != nil {
		return nil, err
	}
	if len(files) == 1 {
		return golden.Second(first), nil
	}
	second, err := a.readFile(t, files[1])
	if err != nil {
		return nil, err
	}
	both, unmatched := golden.Match(first, second)
	for _, p := range unmatched {
		t.warn(p.String())
	}
	return both, nil
}

// chunkers cuts the documents that the annotations name by the spec's chunkers.
func (a *agreementArgs) chunkers(ctx context.Context, t terminal, in *goldenInput, both []golden.Annotated) ([]golden.Chunker, error) {
	named := map[string]bool{}
	for _, q := range both {
		for _, by := range q.By {
			for _, r := range by.Relevant {
				named[r.Doc] = true
			}
		}
	}
	c, err := in.w.Corpus(ctx, in.exp, true)
	if err != nil {
		return nil, err
	}
	defer closing(t, c.Close)
	var out []golden.Chunker
	for _, cut := range c.Cuts {
		chunks, err := c.Chunks(ctx, cut, func(doc string) bool { return named[doc] })
		if err != nil {
			return nil, err
		}
		out = append(out, golden.Chunker{Name: cut.Name, Texts: func(doc string) []string { return returned(chunks[doc]) }})
	}
	return out, nil
}

func returned(chunks []axes.Chunk) []string {
	out := make([]string, len(chunks))
	for i, c := range chunks {
		out[i] = c.Returned()
	}
	return out
}

// agreementText shows the means, and then every pair that does not agree.
func agreementText(a golden.Agreement) string {
	share := func(n int) string { return fmt.Sprintf("%d of %d", n, a.Pairs) }
	rows := [][]string{
		{"questions", strconv.Itoa(len(a.Questions))},
		{"identical by words", share(a.Identical)},
		{"identical by characters", share(a.Verbatim)},
		{"mean IoU", number(a.IoU)},
		{"mean token F1", number(a.F1)},
		{"agree by the rule " + string(a.Rule), share(a.Agreed)},
	}
	if a.NoSpan > 0 {
		rows = append(rows, []string{"left out, without a span", strconv.Itoa(a.NoSpan)})
	}
	for i, name := range a.Chunkers {
		rows = append(rows, []string{"Cohen's kappa, " + name, kappaText(a.Kappa[i])}, []string{"labels differ, " + name, share(a.Differ[i])})
	}
	var b strings.Builder
	b.WriteString(textTable(rows))
	for _, q := range a.Questions {
		for _, p := range q.Pairs {
			if !p.Agree {
				fmt.Fprintf(&b, "\n%s:%d: question %s: %s\n", q.Question.Pos.File, q.Question.Pos.Line, q.Question.ID, q.Question.Text)
				fmt.Fprintf(&b, "  %s: %s\n  %s: %s\n  IoU %s, F1 %s\n", by(p, 0), p.Spans[0], by(p, 1), p.Spans[1], number(p.IoU), number(p.F1))
			}
		}
	}
	return b.String()
}

func by(p golden.PairAgreement, i int) string {
	if p.Annotators[i] == "" {
		return "(original)"
	}
	return p.Annotators[i]
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

func kappaText(k *float64) string {
	if k == nil {
		return "unmeasured"
	}
	return number(*k)
}

type pairJSON struct {
	Annotators [2]string           `json:"annotators"`
	Spans      [2]string           `json:"spans"`
	Identical  bool                `json:"identical"`
	IoU        float64             `json:"iou"`
	F1         float64             `json:"token_f1"`
	Agree      bool                `json:"agree"`
	Kappa      map[string]*float64 `json:"kappa"`
}

func agreementJSON(a golden.Agreement) any {
	kappa := func(values []*float64) map[string]*float64 {
		out := map[string]*float64{}
		for i, name := range a.Chunkers {
			out[name] = values[i]
		}
		return out
	}
	differ := map[string]int{}
	for i, name := range a.Chunkers {
		differ[name] = a.Differ[i]
	}
	type question struct {
		ID       string              `json:"id"`
		Question string              `json:"question"`
		File     string              `json:"file,omitempty"`
		Line     int                 `json:"line,omitempty"`
		IoU      float64             `json:"iou"`
		F1       float64             `json:"token_f1"`
		Kappa    map[string]*float64 `json:"kappa"`
		Pairs    []pairJSON          `json:"pairs"`
	}
	questions := make([]question, len(a.Questions))
	for i, q := range a.Questions {
		questions[i] = question{q.Question.ID, q.Question.Text, q.Question.Pos.File, q.Question.Pos.Line, q.IoU, q.F1, kappa(q.Kappa), nil}
		for _, p := range q.Pairs {
			questions[i].Pairs = append(questions[i].Pairs, pairJSON{p.Annotators, p.Spans, p.Identical, p.IoU, p.F1, p.Agree, kappa(p.Kappa)})
		}
	}
	return map[string]any{
		"version": 1, "rule": a.Rule, "questions": len(a.Questions), "pairs": a.Pairs, "identical": a.Identical, "verbatim": a.Verbatim,
		"agreed": a.Agreed, "without_span": a.NoSpan, "mean_iou": a.IoU, "mean_token_f1": a.F1, "mean_kappa": kappa(a.Kappa),
		"labels_differ": differ, "by_question": questions,
	}
}
