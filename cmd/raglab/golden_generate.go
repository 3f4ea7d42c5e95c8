package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"raglab/golden"
	"raglab/golden/generate"
)

// generateArgs are the flags of golden generate.
type generateArgs struct {
	goldenArgs
	generate.Options
	to           golden.Format
	out, dropped string
	dev          float64
	force        bool
}

func (a *generateArgs) register(set *flag.FlagSet) {
	a.goldenArgs.register(set)
	a.to, a.dev = golden.Raglab, -1
	set.Func("to", "", func(s string) (err error) { a.to, err = golden.ParseFormat(s); return err })
	set.StringVar(&a.out, "out", "", "")
	set.StringVar(&a.dropped, "dropped", "", "")
	set.StringVar(&a.Source, "source", "", "")
	set.Uint64Var(&a.Seed, "seed", 1, "")
	set.IntVar(&a.Count, "count", 12, "")
	set.Func("dev", "", func(s string) (err error) { a.dev, err = parseShare(s); return err })
	set.Func("styles", "", func(s string) (err error) { a.Styles, err = parseStyles(s); return err })
	set.BoolVar(&a.force, "force", false, "")
}

func parseStyles(list string) ([]generate.Style, error) {
	var out []generate.Style
	for name := range strings.SplitSeq(list, ",") {
		style := generate.Style(strings.TrimSpace(name))
		if !slices.Contains(generate.Styles(), style) {
			return nil, fmt.Errorf("there is no style %q; there are lead, section, factoid and lemma", style)
		}
		if !slices.Contains(out, style) {
			out = append(out, style)
		}
	}
	return out, nil
}

func runGoldenGenerate(ctx context.Context, t terminal, argv []string) int {
	var a generateArgs
	set := flag.NewFlagSet("golden generate", flag.ContinueOnError)
	a.register(set)
	rest, err := parseFlags(t, set, goldenHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	path := ""
	switch {
	case a.Count < 0:
		err = errors.New("-count is 0 or more")
	case a.corpus != "" && len(rest) > 0:
		err = errors.New("name a spec or -corpus, not both")
	case a.corpus == "":
		path, err = specPath(rest)
	}
	if err != nil {
		return t.fail("golden generate", err)
	}
	in, err := a.open(ctx, &t, "generate", path)
	if err != nil {
		return t.failGolden("generate", in, err)
	}
	defer closing(t, in.w.Close)
	if err := a.run(ctx, t, in); err != nil {
		return t.failGolden("generate", in, err)
	}
	return exitOK
}

func (a *generateArgs) run(ctx context.Context, t terminal, in *goldenInput) error {
	if a.out == "" && a.corpus == "" {
		a.out = in.exp.Golden.File
	}
	if a.out == "" {
		return errors.New("name the file to write: -out FILE")
	}
	for _, path := range []string{a.out, a.dropped} {
		if err := golden.Writable(path, a.force); err != nil {
			return fmt.Errorf("%w; -force overwrites it", err)
		}
	}
	a.Split = a.splitOf(in)
	if a.Source == "" {
		a.Source = in.exp.Name
	}
	if !slices.Contains(generate.Languages(), strings.Split(strings.ToLower(in.language), "-")[0]) {
		t.warn(fmt.Sprintf("no stop words are known for the language %q; they are for %s", in.language, strings.Join(generate.Languages(), ", ")))
	}
	corpus, err := in.w.Corpus(ctx, in.exp, false)
	if err != nil {
		return err
	}
	defer closing(t, corpus.Close)
	r, err := corpus.Generate(ctx, in.language, a.Options)
	if err != nil {
		return err
	}
	for _, style := range generate.Styles() {
		if why, skipped := r.Skipped[style]; skipped {
			t.warn(fmt.Sprintf("the style %s is left out: %s", style, why))
		}
	}
	if err := a.write(r); err != nil {
		return err
	}
	fmt.Fprint(t.out, generateText(a.out, a.Seed, r))
	return nil
}

// splitOf is what decides between dev and test: the flag, or the spec's own hash.
func (a *generateArgs) splitOf(in *goldenInput) golden.Split {
	out := golden.Split{By: "hash", Dev: 0.5}
	if s := in.split(); s != nil && s.By == "hash" {
		out.Dev, out.Salt = s.Dev, s.Salt
	}
	if a.dev >= 0 {
		out.Dev = a.dev
	}
	return out
}

func (a *generateArgs) write(r *generate.Result) error {
	if a.dropped != "" {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		for _, d := range r.Dropped {
			if err := e.Encode(d); err != nil {
				return fmt.Errorf("write dropped candidates: %w", err)
			}
		}
		if err := golden.Save(a.dropped, b.Bytes(), a.force); err != nil {
			return err
		}
	}
	if len(r.Set.Questions) == 0 {
		return fmt.Errorf("no question is left of %d candidates from %s", len(r.Dropped), plural(r.Documents, "document", "documents"))
	}
	var b bytes.Buffer
	if err := golden.WriteAs(&b, r.Set, a.to); err != nil {
		return err
	}
	return golden.Save(a.out, b.Bytes(), a.force)
}

// generateText says how many questions there are, and how many candidates were
// dropped for each reason.
func generateText(file string, seed uint64, r *generate.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s of %s, seed %d\n\n", file, plural(len(r.Set.Questions), "question", "questions"), plural(r.Documents, "document", "documents"), seed)
	parts := golden.Count(r.Set, &golden.Split{By: "tag"})
	rows := [][]string{{"style", "dev", "test", "total"}}
	for _, style := range generate.Styles() {
		for _, tag := range parts.Tags {
			if tag.Tag == "kind:"+string(style) {
				rows = append(rows, partRow(string(style), tag.PartCount))
			}
		}
	}
	b.WriteString(textTable(append(rows, partRow("total", parts.Questions))))
	if len(r.Dropped) == 0 {
		return b.String()
	}
	b.WriteString("\n")
	counts := map[generate.Reason]map[generate.Style]int{}
	for _, d := range r.Dropped {
		if counts[d.Reason] == nil {
			counts[d.Reason] = map[generate.Style]int{}
		}
		counts[d.Reason][d.Style]++
	}
	rows = [][]string{{"dropped", "lead", "section", "factoid", "lemma", "total"}}
	for _, reason := range generate.Reasons() {
		if counts[reason] == nil {
			continue
		}
		row, total := []string{string(reason)}, 0
		for _, style := range generate.Styles() {
			row = append(row, strconv.Itoa(counts[reason][style]))
			total += counts[reason][style]
		}
		rows = append(rows, append(row, strconv.Itoa(total)))
	}
	b.WriteString(textTable(rows))
	return b.String()
}
