package html

import (
	"slices"
	"strconv"

	"raglab/internal/report"
)

// configurations is the table of all rows, best first, to be sorted and filtered.
func configurations(in Input) (part, error) {
	r := in.Report
	if len(r.Configurations) == 0 {
		return part{}, nil
	}
	axes := axesOf(r)
	labels := axes
	if len(labels) == 0 {
		labels = []string{"configuration"}
	}
	t := table{
		ID: "configurations-table", Caption: "All configurations, best first",
		Note: "Mean values over " + strconv.Itoa(r.Questions.Scored) + " test questions; differences are of " + r.Primary + ", from the best row, paired by question.",
		Foot: inertFoot(r),
	}
	billed := slices.ContainsFunc(r.Configurations, func(c report.Configuration) bool { return c.Cost != nil })
	t.Columns = configurationColumns(r, labels, billed)
	for i, c := range r.Ranked() {
		t.Rows = append(t.Rows, configurationRow(r, c, axes, i == 0, billed))
	}
	for i, axis := range axes {
		t.Filters = append(t.Filters, filter{i, axis, t.distinct(i)})
	}
	verdicts := slices.IndexFunc(t.Columns, func(c column) bool { return c.Name == verdictColumn })
	t.Filters = append(t.Filters, filter{verdicts, verdictColumn, t.distinct(verdicts)})
	return part{view: t}, nil
}

const verdictColumn = "verdict"

// axesOf names the factors that have several options.
func axesOf(r *report.Report) []string {
	var names []string
	for _, f := range r.Factors {
		if f.Axis {
			names = append(names, f.Name)
		}
	}
	return names
}

func configurationColumns(r *report.Report, labels []string, billed bool) []column {
	made := columns(labels, r.Metrics)
	made = append(made, columns(nil, []string{r.Primary + " 95 %", "vs best", "difference 95 %"})...)
	made = append(made, column{Name: verdictColumn})
	made = append(made, columns(nil, []string{"p50 ms", "p95 ms", "index MB", "ingest s"})...)
	if billed {
		made = append(made, columns(nil, []string{"USD per 1,000 questions"})...)
	}
	return made
}

func configurationRow(r *report.Report, c *report.Configuration, axes []string, best, billed bool) row {
	var cells []cell
	for _, axis := range axes {
		label := cell{Text: c.Options[axis]}
		if slices.Contains(c.Inert, axis) {
			label = cell{Text: label.Text + "*", Value: label.Text}
		}
		cells = append(cells, label)
	}
	if len(axes) == 0 {
		cells = texts(c.Name)
	}
	for _, m := range r.Metrics {
		cells = append(cells, score(c.Metrics[m]))
	}
	bounds := cell{Text: notApplicable}
	if i := c.Intervals[r.Primary]; i != nil {
		bounds = cell{Text: interval(i.Low, i.High), Value: strconv.FormatFloat(i.Low, 'g', -1, 64)}
	}
	against := compared(c.Against)
	if best {
		against[2] = cell{Text: "best", Class: "verdict best"}
	}
	if isRecommended(r, c) {
		against[2].Value, against[2].Text = against[2].Text, against[2].Text+", recommended"
	}
	cells = append(append(cells, bounds), against...)
	cells = append(cells, latencies(c)...)
	cells = append(cells, megabytes(c.IndexBytes), seconds(c.IngestSeconds))
	if billed {
		cells = append(cells, billing(c))
	}
	return row{Class: rowClass(r, c), Cells: cells}
}

// latencies are p50 and p95; composed times are marked.
func latencies(c *report.Configuration) []cell {
	if c.Latency == nil {
		return []cell{millis(nil), millis(nil)}
	}
	cells := []cell{millis(&c.Latency.P50), millis(&c.Latency.P95)}
	if c.Latency.Composed {
		for i := range cells {
			cells[i].Text = "≈" + cells[i].Text
		}
	}
	return cells
}

func billing(c *report.Configuration) cell {
	if c.Cost == nil {
		return cell{Text: notApplicable}
	}
	usd := number(c.Cost.Questions, 1, 4)
	if c.Cost.Estimated && c.Cost.Questions != nil {
		usd.Text = "≈" + usd.Text
	}
	return usd
}

func isRecommended(r *report.Report, c *report.Configuration) bool {
	return r.Recommended != nil && c.Name == r.Recommended.Row
}

func rowClass(r *report.Report, c *report.Configuration) string {
	if isRecommended(r, c) {
		return "recommended"
	}
	return ""
}

// nameOf is a row's name, which says what its colour does.
func nameOf(r *report.Report, c *report.Configuration) cell {
	if isRecommended(r, c) {
		return cell{Text: c.Name + ", recommended", Value: c.Name}
	}
	return cell{Text: c.Name}
}

func inertFoot(r *report.Report) string {
	foot := ""
	if slices.ContainsFunc(r.Configurations, func(c report.Configuration) bool { return len(c.Inert) > 0 }) {
		foot = "* the axis makes no difference to this row: rows that differ in it alone are one measurement under several labels. "
	}
	return foot + "Of the cross: " + r.Accounting + "."
}
