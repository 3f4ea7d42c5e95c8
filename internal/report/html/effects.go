package html

import (
	"fmt"

	"raglab/internal/report"
)

// effectsView is what each axis is worth.
type effectsView struct {
	Summary table
	Tables  []table
}

func effects(in Input) (part, error) {
	r := in.Report
	if len(r.Effects) == 0 {
		return part{}, nil
	}
	view := effectsView{Summary: effectsTable(r)}
	for i, t := range report.Pick(r.Tables(), []string{"interactions", "axes"}) {
		view.Tables = append(view.Tables, ofReport(fmt.Sprintf("axis-table-%d", i+1), t))
	}
	return part{view: view}, nil
}

func effectsTable(r *report.Report) table {
	t := table{
		ID: "effects-table", Caption: "What each axis is worth, the most first", Columns: append(effectColumns(), column{"spread explained", true}),
		Note: "The difference of the best and the worst option's mean " + r.Primary + ", averaged over everything else.",
	}
	for _, e := range r.Effects {
		t.Rows = append(t.Rows, row{Cells: append(effectCells(e), share(e.Explained))})
	}
	return t
}

func effectColumns() []column {
	return append(columns([]string{"axis", "best", "worst"}, []string{"worth", "difference", "95 %"}), column{Name: verdictColumn})
}

func effectCells(e report.Effect) []cell {
	cells := append(texts(e.Axis, orDash(e.Best), orDash(e.Worst)), score(&e.Worth))
	return append(cells, compared(e.Comparison)...)
}

func orDash(s string) string {
	if s == "" {
		return notApplicable
	}
	return s
}
