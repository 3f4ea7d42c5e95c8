package html

import (
	"fmt"
	"slices"
	"strconv"

	"raglab/internal/report"
	"raglab/internal/report/html/chart"
)

// tuning draws the curve of each tuned parameter on the dev questions: a line for one
// of numbers, a heat map for two, the table alone for more.
func tuning(in Input) (part, error) {
	r := in.Report
	tables := report.Pick(r.Tables(), []string{"tuning"})
	view := chartsView{}
	for i, tu := range r.Tuning {
		t := table{ID: fmt.Sprintf("tuning-table-%d", i+1), Caption: "Tuning: " + joined(tu.Names)}
		if len(tables) == len(r.Tuning) {
			t = ofReport(t.ID, tables[i])
		}
		f := chart.Figure{ID: fmt.Sprintf("tuning-chart-%d", i+1), Title: "Tuning " + joined(tu.Names) + ": mean " + r.Primary + " on the dev questions", Desc: described(tu)}
		drawn, err := curve(f, tu, r.Primary)
		if err != nil {
			return part{}, err
		}
		if drawn.SVG == "" {
			view.Tables = append(view.Tables, t)
			continue
		}
		note := t.Note
		if tu.Dev != nil && tu.Test != nil {
			note += fmt.Sprintf(" On the dev questions the rows that read it have %.3f, on the test questions %.3f.", *tu.Dev, *tu.Test)
		}
		t.Note = ""
		view.Figures = append(view.Figures, figureView{Figure: drawn, Note: note, Table: t})
	}
	if len(view.Figures)+len(view.Tables) == 0 {
		return part{}, nil
	}
	return part{view: view}, nil
}

func described(tu report.Tuning) string {
	return fmt.Sprintf("%d candidates; chosen: %s.", len(tu.Points), joined(tu.Chosen))
}

// curve draws what can be drawn of the points; a figure without SVG is none.
func curve(f chart.Figure, tu report.Tuning, metric string) (chart.Figure, error) {
	switch len(tu.Names) {
	case 1:
		line, ok := numbers(tu)
		if !ok {
			return f, nil
		}
		f.Legend = []chart.Entry{{Role: chart.Best, Label: "chosen"}, {Role: chart.Series1, Label: "other candidates"}}
		return chart.Scatter(f, line, []chart.Line{{Role: chart.Series1, Points: line}}, chart.Axis{Label: tu.Names[0]}, chart.Axis{Label: "mean " + metric})
	case 2:
		return chart.Heat(f, surface(tu), chart.Axis{Label: tu.Names[1]}, chart.Axis{Label: tu.Names[0]})
	}
	return f, nil
}

// numbers are the measured candidates of one parameter in order; ok is false when
// there are not two, or a value is no number.
func numbers(tu report.Tuning) (points []chart.Point, ok bool) {
	for _, p := range tu.Points {
		x, err := strconv.ParseFloat(p.Values[0], 64)
		if err != nil {
			return nil, false
		}
		if p.Mean == nil {
			continue
		}
		at := chart.Point{X: x, Y: *p.Mean, Role: chart.Series1}
		if slices.Equal(p.Values, tu.Chosen) {
			at.Role, at.Label = chart.Best, p.Values[0]
		}
		points = append(points, at)
	}
	slices.SortStableFunc(points, func(a, b chart.Point) int {
		switch {
		case a.X < b.X:
			return -1
		case a.X > b.X:
			return 1
		}
		return 0
	})
	return points, len(points) > 1
}

// surface are the candidates of two parameters by the values of each.
func surface(tu report.Tuning) chart.Cells {
	cells := chart.Cells{Decimals: 3}
	for _, p := range tu.Points {
		if !slices.Contains(cells.Rows, p.Values[0]) {
			cells.Rows = append(cells.Rows, p.Values[0])
		}
		if !slices.Contains(cells.Columns, p.Values[1]) {
			cells.Columns = append(cells.Columns, p.Values[1])
		}
	}
	cells.Values = make([][]*float64, len(cells.Rows))
	for i := range cells.Values {
		cells.Values[i] = make([]*float64, len(cells.Columns))
	}
	for _, p := range tu.Points {
		cells.Values[slices.Index(cells.Rows, p.Values[0])][slices.Index(cells.Columns, p.Values[1])] = p.Mean
	}
	return cells
}
