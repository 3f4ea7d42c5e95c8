package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strconv"
	"strings"

	"raglab/golden"
)

func runGoldenStats(ctx context.Context, t terminal, argv []string) int {
	var a goldenArgs
	set := flag.NewFlagSet("golden stats", flag.ContinueOnError)
	a.register(set)
	asMarkdown := set.Bool("markdown", false, "")
	in, code := a.openNamed(ctx, &t, set, "stats", argv)
	if in == nil {
		return code
	}
	defer closing(t, in.w.Close)
	d, err := a.describe(ctx, t, in)
	if err != nil {
		return t.failGolden("stats", in, err)
	}
	if a.json {
		b, err := json.MarshalIndent(statsJSON(d), "", "  ")
		if err != nil {
			return t.fail("golden stats", err)
		}
		fmt.Fprintf(t.out, "%s\n", b)
		return exitOK
	}
	table := textTable
	if *asMarkdown {
		table = markdownTable
	}
	fmt.Fprint(t.out, statsText(d, table))
	return exitOK
}

func (a *goldenArgs) describe(ctx context.Context, t terminal, in *goldenInput) (golden.Description, error) {
	set, err := a.questions(ctx, t, in)
	if err != nil {
		return golden.Description{}, err
	}
	words, err := in.w.Words(ctx, in.exp, in.language, a.option)
	if err != nil {
		return golden.Description{}, err
	}
	return golden.Describe(set, in.split(), words), nil
}

// statsText shows a description in tables.
func statsText(d golden.Description, table func([][]string) string) string {
	var parts []string
	for _, g := range d.Groups {
		name := g.Name
		if name == "" {
			name = "tag"
		}
		rows := [][]string{{name, "dev", "test", "total"}}
		for _, t := range g.Tags {
			rows = append(rows, partRow(t.Tag, t.PartCount))
		}
		parts = append(parts, table(append(rows, partRow("all questions", d.Questions))))
	}
	if len(d.Groups) == 0 {
		parts = append(parts, table([][]string{{"", "dev", "test", "total"}, partRow("all questions", d.Questions)}))
	}
	rows := [][]string{{"", "n", "min", "median", "mean", "p95", "max"}}
	for _, s := range []struct {
		name   string
		spread golden.Spread
		digits int
	}{
		{"question, words", d.Words, 1},
		{"question, characters", d.Characters, 1},
		{"relevant per question", d.Relevant, 2},
		{"span, characters", d.Span, 1},
		{"words copied from the span", d.Copied, 3},
	} {
		if s.spread.N > 0 {
			rows = append(rows, spreadRow(s.name, s.spread, s.digits))
		}
	}
	parts = append(parts, table(rows))
	rows = [][]string{{"judgements", "n"}}
	for _, g := range d.Grades {
		name := fmt.Sprintf("grade %d", g.Grade)
		if g.Grade < 0 {
			name += " (not judged)"
		}
		rows = append(rows, []string{name, strconv.Itoa(g.Judgements)})
	}
	rows = append(
		rows, []string{"all", strconv.Itoa(d.Judgements)}, []string{"with a span", strconv.Itoa(d.Spans)},
		[]string{"documents", strconv.Itoa(d.Documents)}, []string{"questions with nothing relevant", strconv.Itoa(d.Unanswered)},
		[]string{"questions annotated twice", strconv.Itoa(d.Second)},
	)
	return strings.Join(append(parts, table(rows)), "\n")
}

func spreadRow(name string, s golden.Spread, digits int) []string {
	row := []string{name, strconv.Itoa(s.N)}
	for _, v := range []float64{s.Min, s.Median, s.Mean, s.P95, s.Max} {
		row = append(row, strconv.FormatFloat(v, 'f', digits, 64))
	}
	return row
}

type partJSON struct {
	Dev   int `json:"dev"`
	Test  int `json:"test"`
	Other int `json:"neither,omitempty"`
}

type spreadJSON struct {
	N      int     `json:"n"`
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Mean   float64 `json:"mean"`
	P95    float64 `json:"p95"`
	Max    float64 `json:"max"`
}

func statsJSON(d golden.Description) any {
	tags := map[string]partJSON{}
	for _, t := range d.Tags {
		tags[t.Tag] = partJSON{t.Dev, t.Test, t.Neither}
	}
	grades := map[string]int{}
	for _, g := range d.Grades {
		grades[strconv.Itoa(g.Grade)] = g.Judgements
	}
	return map[string]any{
		"version": 1, "questions": partJSON{d.Questions.Dev, d.Questions.Test, d.Questions.Neither}, "split": d.Split, "tags": tags,
		"words": spreadJSON(d.Words), "characters": spreadJSON(d.Characters), "relevant": spreadJSON(d.Relevant),
		"span": spreadJSON(d.Span), "copied": spreadJSON(d.Copied), "grades": grades, "unjudged": d.Unjudged,
		"judgements": d.Judgements, "spans": d.Spans, "documents": d.Documents, "nothing_relevant": d.Unanswered, "second": d.Second,
	}
}
