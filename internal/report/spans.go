package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"raglab/axes/metric"
)

// Spans is what one chunker made of the answer spans of the test questions.
type Spans struct {
	// Chunker is the option, with the values of free axes that it reads.
	Chunker string `json:"chunker"`
	// Coverage is the share of a span that a relevant chunk holds at least.
	Coverage float64 `json:"coverage"`
	metric.SpanCounts
}

// AddSpans notes what a row's chunker made of the spans, once for each chunker.
func (r *Report) AddSpans(s Spans) {
	if !slices.ContainsFunc(r.Spans, func(have Spans) bool {
		return have.Chunker == s.Chunker && have.Whole == s.Whole && have.Cut == s.Cut && have.Reached == s.Reached
	}) {
		r.Spans = append(r.Spans, s)
	}
}

// spansTable shows the chunkers side by side.
func (r *Report) spansTable() Table {
	t := Table{
		Name: "spans", Title: "Answer spans, chunker by chunker",
		Note: "A span of a test question stands whole in some chunk, or is cut into neighbouring chunks that hold it together, or is dropped: the chunks lack a part of it. The mean share is of each span the largest part that one chunk holds.",
		Columns: []Column{
			{Name: "chunker"},
			{"spans", true},
			{"whole", true},
			{"cut", true},
			{"dropped", true},
		},
	}
	coverage := r.Spans[0].Coverage
	if coverage < 1 {
		t.Note += fmt.Sprintf(" A chunk is relevant that holds %s of a span or more.", percent(coverage))
		t.Columns = append(t.Columns, Column{"≥ " + percent(coverage), true})
	}
	t.Columns = append(t.Columns, Column{"mean share", true}, Column{Name: "cut in"}, Column{Name: "dropped in"})
	for _, s := range r.Spans {
		row := []string{s.Chunker, strconv.Itoa(s.Spans), strconv.Itoa(s.Whole), strconv.Itoa(s.Cut), strconv.Itoa(s.Dropped)}
		if coverage < 1 {
			row = append(row, strconv.Itoa(s.Reached))
		}
		t.Rows = append(t.Rows, append(row, number(&s.Share, 1, 3), firstIDs(s.CutIn), firstIDs(s.DroppedIn)))
	}
	return t
}

func percent(share float64) string { return strconv.FormatFloat(share*100, 'f', -1, 64) + " %" }

// firstIDs names the first few questions of a list; the JSON form has all.
func firstIDs(ids []string) string {
	const few = 3
	switch {
	case len(ids) == 0:
		return notApplicable
	case len(ids) <= few:
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:few], ", "), len(ids)-few)
}
