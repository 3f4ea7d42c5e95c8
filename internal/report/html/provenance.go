package html

import (
	"fmt"
	"slices"
	"time"

	"raglab/internal/report"
)

type provenanceView struct {
	Facts []fact
	Lists []list
	Keys  table
}

// provenance says what the results were made of, and by what.
func provenance(in Input) (part, error) {
	r := in.Report
	view := provenanceView{Facts: []fact{{Term: "Experiment", Value: r.Experiment}}}
	if !r.Generated.IsZero() {
		view.Facts = append(view.Facts, fact{Term: "Newest result", Value: r.Generated.UTC().Format(time.DateTime) + " UTC"})
	}
	if p := r.Provenance; p != nil {
		view.Facts = append(view.Facts, fact{Term: "Program", Value: p.Program}, fact{Term: "Spec", Value: orDash(p.Spec)}, fact{Term: "Corpus", Value: orDash(p.Corpus)})
		view.Lists = lists(p)
	}
	for i, m := range r.Machines {
		view.Facts = append(view.Facts, fact{Term: fmt.Sprintf("Machine %d", i+1), Value: m})
	}
	if len(r.Machines) > 1 {
		view.Facts = append(view.Facts, fact{Term: "Times", Value: "not comparable", Detail: "the measurements come from several machines"})
	}
	view.Keys = keysTable(r)
	return part{view: view}, nil
}

// list is a titled list.
type list struct {
	Title string
	Items []string
}

func lists(p *report.Provenance) []list {
	all := []list{{"Models, dictionaries, libraries", p.Assets}, {"Lock files", p.Locks}, {"Not pinned", p.Unpinned}}
	return slices.DeleteFunc(all, func(l list) bool { return len(l.Items) == 0 })
}

func keysTable(r *report.Report) table {
	t := table{
		ID: "keys-table", Caption: "What each configuration is made of",
		Note:    "The key names the content of a row's scores: rows with one key are one measurement.",
		Columns: columns([]string{"configuration"}, nil),
	}
	for _, f := range r.Factors {
		t.Columns = append(t.Columns, column{Name: f.Name})
	}
	t.Columns = append(t.Columns, column{Name: "key"})
	for i := range r.Configurations {
		c := &r.Configurations[i]
		cells := texts(c.Name)
		for _, f := range r.Factors {
			cells = append(cells, cell{Text: orDash(c.Options[f.Name])})
		}
		t.Rows = append(t.Rows, row{Cells: append(cells, cell{Text: c.Key, Class: "key"})})
	}
	return t
}
