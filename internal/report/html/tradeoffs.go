package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"raglab/internal/report"
	"raglab/internal/report/html/chart"
)

// cost is something that quality is set against.
type cost struct {
	id, name, unit string
	per            float64
	of             func(c *report.Configuration) *float64
	show           func(v *float64) cell
}

var costs = []cost{
	{"p95", "latency p95", "ms", 1, p95, millis},
	{"index", "index size", "MB", 1e6, func(c *report.Configuration) *float64 { return float(c.IndexBytes) }, func(v *float64) cell { return number(v, 1e6, 2) }},
	{"ingest", "ingest", "s", 1, func(c *report.Configuration) *float64 { return c.IngestSeconds }, seconds},
}

// tradeoffs set quality against each cost that was measured, with the rows on the
// Pareto front marked: no other row is as good for less, or better for as much.
func tradeoffs(in Input) (part, error) {
	view := chartsView{Note: "A row is on the front when no other is at least as good for less, or better for as much. The line joins the front; its points are numbered as in the table."}
	for _, c := range costs {
		f, err := tradeoff(in.Report, c)
		if err != nil {
			return part{}, err
		}
		if f != nil {
			view.Figures = append(view.Figures, *f)
		}
	}
	if len(view.Figures) == 0 {
		return part{}, nil
	}
	return part{view: view}, nil
}

func tradeoff(r *report.Report, c cost) (*figureView, error) {
	var rows []*report.Configuration
	for _, row := range measurements(r) {
		if c.of(row) != nil && row.Metrics[r.Primary] != nil {
			rows = append(rows, row)
		}
	}
	if len(rows) < 2 {
		return nil, nil
	}
	front := paretoFront(rows, c.of, r.Primary)
	f := chart.Figure{
		ID: "tradeoff-" + c.id + "-chart", Title: r.Primary + " against " + c.name,
		Desc:   fmt.Sprintf("%d measurements, %d of them on the front, from %s to %s.", len(rows), len(front), front[0].Name, front[len(front)-1].Name),
		Legend: []chart.Entry{{Role: chart.Front, Label: "on the front"}, {Role: chart.Muted, Label: "not on it"}},
	}
	if r.Recommended != nil {
		f.Legend = append(f.Legend, chart.Entry{Role: chart.Best, Label: "recommended"})
	}
	points, lines := marks(r, rows, front, c)
	least, most := *c.of(front[0]), 0.0
	for _, row := range rows {
		least, most = min(least, *c.of(row)), max(most, *c.of(row))
	}
	f, err := chart.Scatter(f, points, lines, chart.Axis{Label: c.name + ", " + c.unit, Log: least > 0 && most/least > 20}, chart.Axis{Label: r.Primary})
	if err != nil {
		return nil, err
	}
	return &figureView{Figure: f, Table: frontTable(r, rows, front, c)}, nil
}

// marks are the chart's points, those of the front on top and numbered.
func marks(r *report.Report, rows, front []*report.Configuration, c cost) ([]chart.Point, []chart.Line) {
	var points []chart.Point
	line := chart.Line{Role: chart.Front, Stepped: true}
	for _, row := range rows {
		if !slices.Contains(front, row) {
			points = append(points, chart.Point{X: *c.of(row) / c.per, Y: *row.Metrics[r.Primary], Role: mark(r, row, chart.Muted)})
		}
	}
	for i, row := range front {
		at := chart.Point{X: *c.of(row) / c.per, Y: *row.Metrics[r.Primary], Role: mark(r, row, chart.Front), Label: fmt.Sprint(i + 1), Left: i%2 == 0}
		points = append(points, at)
		line.Points = append(line.Points, at)
	}
	slices.SortStableFunc(points, func(a, b chart.Point) int { return cmp.Compare(order(a.Role), order(b.Role)) })
	return points, []chart.Line{line}
}

// order is what lies on top: the recommended row's point, below it those of the front.
func order(r chart.Role) int {
	return slices.Index([]chart.Role{chart.Muted, chart.Front, chart.Best}, r)
}

// mark is the role of a row's point: the recommended one is seen wherever it is.
func mark(r *report.Report, c *report.Configuration, other chart.Role) chart.Role {
	if isRecommended(r, c) {
		return chart.Best
	}
	return other
}

// paretoFront is in order of cost; rows that are equal in both stand for each other.
func paretoFront(rows []*report.Configuration, of func(*report.Configuration) *float64, metric string) []*report.Configuration {
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b *report.Configuration) int {
		return cmp.Or(cmp.Compare(*of(a), *of(b)), cmp.Compare(*b.Metrics[metric], *a.Metrics[metric]))
	})
	var front []*report.Configuration
	for _, c := range sorted {
		if len(front) == 0 || *c.Metrics[metric] > *front[len(front)-1].Metrics[metric] {
			front = append(front, c)
		}
	}
	return front
}

func frontTable(r *report.Report, rows, front []*report.Configuration, c cost) table {
	t := table{
		ID: "tradeoff-" + c.id + "-table", Caption: r.Primary + " against " + c.name,
		Columns: append(columns([]string{"configuration"}, []string{r.Primary, c.name + " " + c.unit}), column{Name: "front", Numeric: true}),
	}
	for _, row := range rows {
		t.Rows = append(t.Rows, frontRow(r, row, slices.Index(front, row), c))
	}
	t.Note = "On the front: " + strings.Join(names(front), "; ") + "."
	return t
}

func frontRow(r *report.Report, c *report.Configuration, place int, by cost) row {
	on := cell{Text: notApplicable}
	if place >= 0 {
		on = count(place + 1)
	}
	return row{Class: rowClass(r, c), Cells: []cell{nameOf(r, c), score(c.Metrics[r.Primary]), by.show(by.of(c)), on}}
}

func names(rows []*report.Configuration) []string {
	list := make([]string, len(rows))
	for i, c := range rows {
		list[i] = c.Name
	}
	return list
}
