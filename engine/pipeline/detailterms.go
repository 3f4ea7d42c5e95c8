package pipeline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"raglab/axes/text"
	"raglab/engine"
	"raglab/internal/report"
)

// detailAnalyzer is text handling with the terms of the words that it was asked for.
type detailAnalyzer struct {
	text.Analyzer
	known map[string][]string
}

func (a *detailAnalyzer) terms(s string) []string {
	var out []string
	a.Terms(s, func(term []byte) { out = append(out, string(term)) })
	return out
}

// word are the terms of a word, which are made once.
func (a *detailAnalyzer) word(w string) []string {
	terms, ok := a.known[w]
	if !ok {
		terms = a.terms(w)
		a.known[w] = terms
	}
	return terms
}

// wordPattern finds what a reader takes for words: letters, marks, digits and _, with single
// apostrophes between them. The page's script has the same expression.
var wordPattern = regexp.MustCompile(`[\p{L}\p{M}\p{N}_]+(?:['’ʼ][\p{L}\p{M}\p{N}_]+)*`)

// findForms finds, for each way of handling text, the words of the kept chunks by which
// the questions find them.
func (d *detailer) findForms() error {
	chunks := make([]map[[2]int]bool, 0) // questions and chunks, by text
	for i, row := range d.p.Rows {
		run := d.Rows[i].Run
		if run < 0 {
			continue
		}
		at, err := d.textOf(row)
		if err != nil {
			return err
		}
		if d.Rows[i].Text = at; at < 0 {
			continue
		}
		for len(chunks) <= at {
			chunks = append(chunks, map[[2]int]bool{})
		}
		for q, hits := range d.Runs[run].Hits {
			for _, c := range hits {
				chunks[at][[2]int{q, c}] = true
			}
		}
	}
	written := make([][]string, len(d.Chunks))
	for i, c := range d.Chunks {
		written[i] = wordPattern.FindAllString(c.Text, -1)
		slices.Sort(written[i])
		written[i] = slices.Compact(written[i])
	}
	for at := range chunks {
		d.formsOf(at, chunks[at], written)
	}
	return nil
}

// formsOf finds the words for one way of handling text.
func (d *detailer) formsOf(at int, chunks map[[2]int]bool, written [][]string) {
	asked, found := make([]map[string]bool, len(d.questions)), make([]map[string]bool, len(d.questions))
	a := &d.analyzers[at]
	for q := range asked {
		asked[q], found[q] = map[string]bool{}, map[string]bool{}
		for _, term := range a.terms(d.Questions[q].Text) {
			asked[q][term] = true
		}
	}
	for pair := range chunks {
		q := pair[0]
		for _, w := range written[pair[1]] {
			if !found[q][w] && slices.ContainsFunc(a.word(w), func(term string) bool { return asked[q][term] }) {
				found[q][w] = true
			}
		}
	}
	d.Texts[at].Forms = make([][]string, len(d.questions))
	for q := range found {
		forms := make([]string, 0, len(found[q]))
		for w := range found[q] {
			forms = append(forms, w)
		}
		slices.Sort(forms)
		d.Texts[at].Forms[q] = forms
	}
}

// textOf is the place of the text handling of the first of a row's retrievers that
// reads words, or -1. One that cannot be opened here, as without its dictionary, is
// noted and left out.
func (d *detailer) textOf(row Row) (int, error) {
	for _, leg := range row.Legs {
		work, fields, err := d.searchOf(leg)
		if err != nil {
			return -1, err
		}
		if work.analyzer == nil {
			continue
		}
		label := row.Configuration.Label(slotText)
		key := textKey(fields)
		if at, ok := d.textAt[key]; ok {
			return at, nil
		}
		if err := text.Open(d.ctx, work.analyzer); err != nil {
			d.Notes = append(d.Notes, fmt.Sprintf("Matching words of %s are marked by their letters alone: %v.", label, err))
			d.textAt[key] = -1
			return -1, nil
		}
		at := len(d.Texts)
		d.textAt[key] = at
		d.Texts = append(d.Texts, report.DetailText{Name: label})
		d.analyzers = append(d.analyzers, detailAnalyzer{work.analyzer, map[string][]string{}})
		return at, nil
	}
	return -1, nil
}

// searchOf is the work of a search stage with its tuned parameters as chosen.
func (d *detailer) searchOf(s *engine.Stage) (searchWork, []engine.Field, error) {
	fields, work := s.Fields, s.Work
	if s.Late != nil {
		var err error
		if fields, work, err = s.Late(stageInputs{d.collector, s}.Bytes); err != nil {
			return searchWork{}, nil, fmt.Errorf("%s: %w", s.Address, err)
		}
	}
	return work.(searchWork), fields, nil
}

// textKey tells text handlings apart.
func textKey(fields []engine.Field) string {
	var b strings.Builder
	for _, f := range fields {
		if strings.HasPrefix(f.Path, slotText+".") || strings.HasPrefix(f.Path, slotText+" ") {
			fmt.Fprintf(&b, "%s=%v\n", f.Path, f.Value)
		}
	}
	return b.String()
}
