package html

import (
	"fmt"
	"strings"

	"raglab/internal/report"
	"raglab/internal/report/html/chart"
)

// tags is a heat map of the rows' means by tag, with the axes' effects on each tag's
// questions and the differences that reverse.
func tags(in Input) (part, error) {
	r := in.Report
	if len(r.Tags) == 0 {
		return part{}, nil
	}
	rows := measurements(r)
	figure, err := tagFigure(r, rows)
	if err != nil {
		return part{}, err
	}
	view := chartsView{Figures: []figureView{figure}, Tables: tagTables(r)}
	if t := tagEffects(r); len(t.Rows) > 0 {
		view.Tables = append(view.Tables, t)
	}
	return part{view: view}, nil
}

// tagTables are the report's own.
func tagTables(r *report.Report) []table {
	var tables []table
	for i, t := range report.Pick(r.Tables(), []string{"tags"}) {
		tables = append(tables, ofReport(fmt.Sprintf("tags-table-%d", i+2), t))
	}
	return tables
}

// tagEffects are the axes' effects on the questions of each tag, in one table that
// filters by either.
func tagEffects(r *report.Report) table {
	t := table{ID: "tag-effects-table", Caption: "What each axis is worth, tag by tag", Columns: columns([]string{"tag"}, []string{"questions"})}
	t.Columns = append(t.Columns, effectColumns()...)
	for _, tag := range r.Tags {
		for _, e := range tag.Effects {
			t.Rows = append(t.Rows, row{Cells: append([]cell{{Text: tag.Tag}, count(tag.Questions)}, effectCells(e)...)})
		}
	}
	for i, c := range t.Columns {
		if c.Name == "tag" || c.Name == "axis" || c.Name == verdictColumn {
			t.Filters = append(t.Filters, filter{i, c.Name, t.distinct(i)})
		}
	}
	return t
}

func tagFigure(r *report.Report, rows []*report.Configuration) (figureView, error) {
	cells := chart.Cells{Decimals: 2}
	t := table{ID: "tags-table-1", Caption: "Mean " + r.Primary + " by tag", Columns: columns([]string{"configuration"}, nil)}
	for _, tag := range r.Tags {
		name := fmt.Sprintf("%s (%d)", tag.Tag, tag.Questions)
		cells.Columns = append(cells.Columns, name)
		t.Columns = append(t.Columns, column{name, true})
	}
	for _, c := range rows {
		line := []cell{nameOf(r, c)}
		var values []*float64
		for _, tag := range r.Tags {
			values = append(values, tag.Means[c.Name])
			line = append(line, score(tag.Means[c.Name]))
		}
		t.Rows = append(t.Rows, row{Class: rowClass(r, c), Cells: line})
		if len(cells.Rows) < mostRows {
			cells.Rows, cells.Values = append(cells.Rows, c.Name), append(cells.Values, values)
		}
	}
	f, err := chart.Heat(chart.Figure{
		ID: "tags-chart", Title: "Mean " + r.Primary + " by tag, best configuration first",
		Desc: fmt.Sprintf("%d configurations by %d tags; the stronger the colour, the higher. The number of questions stands beside each tag.", len(cells.Rows), len(cells.Columns)),
	}, cells, chart.Axis{}, chart.Axis{})
	return figureView{Figure: f, Note: firstOf(len(rows), "measurements"), Table: t}, err
}

// joined names things in a sentence.
func joined(list []string) string { return strings.Join(list, ", ") }
