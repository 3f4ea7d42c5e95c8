package html

import (
	"fmt"
	"slices"

	"raglab/internal/report"
	"raglab/internal/report/html/chart"
)

// stages are the words for where a question can be lost.
var stages = map[string]string{
	"corpus": "not in the corpus", "chunker": "cut by the chunker", "depth": "not within depth", "leg": "dropped by a leg",
	"fusion": "dropped by fusion", "reranker": "pushed down by the reranker", "cutoff": "below the cut-off",
}

// losses counts for each row where its unsolved questions were lost.
func losses(in Input) (part, error) {
	r := in.Report
	rows := slices.DeleteFunc(measurements(r), func(c *report.Configuration) bool { return c.Losses == nil })
	if len(rows) == 0 {
		return part{}, nil
	}
	seen := occurring(rows)
	f := chart.Figure{ID: "losses-chart", Title: "Unsolved questions by where they were lost, best configuration first"}
	t := table{ID: "losses-table-1", Caption: "Unsolved questions by where they were lost", Columns: columns([]string{"configuration"}, []string{"all"})}
	for i, stage := range seen {
		f.Legend = append(f.Legend, chart.Entry{Role: chart.Series(i), Label: stages[stage]})
		t.Columns = append(t.Columns, column{stages[stage], true})
	}
	var bars []chart.Bar
	for _, c := range rows {
		cells := []cell{nameOf(r, c), count(len(c.Losses.Questions))}
		bar := chart.Bar{Label: c.Name}
		for _, stage := range seen {
			cells = append(cells, count(c.Losses.Counts[stage]))
			bar.Parts = append(bar.Parts, float64(c.Losses.Counts[stage]))
		}
		t.Rows = append(t.Rows, row{Class: rowClass(r, c), Cells: cells})
		if len(bars) < mostRows {
			bars = append(bars, bar)
		}
	}
	view := chartsView{}
	for i, t := range report.Pick(r.Tables(), []string{"losses"}) {
		if i == 0 {
			view.Note = t.Note // its rows are those of the chart
			continue
		}
		view.Tables = append(view.Tables, ofReport(fmt.Sprintf("losses-table-%d", i+1), t))
	}
	if len(seen) == 0 {
		view.Tables, view.Said = []table{t}, []string{"No row lost a question."}
		return part{view: view}, nil
	}
	f.Desc = fmt.Sprintf("%d measurements; the best one, %s, lost %d questions.", len(rows), rows[0].Name, len(rows[0].Losses.Questions))
	f, err := chart.Stack(f, bars, chart.Axis{Label: "questions"})
	view.Figures = []figureView{{Figure: f, Note: firstOf(len(rows), "measurements"), Table: t}}
	return part{view: view}, err
}

// occurring are the stages that some row lost a question at, in their order.
func occurring(rows []*report.Configuration) []string {
	var seen []string
	for _, stage := range report.LossStages {
		if slices.ContainsFunc(rows, func(c *report.Configuration) bool { return c.Losses.Counts[stage] > 0 }) {
			seen = append(seen, stage)
		}
	}
	return seen
}
