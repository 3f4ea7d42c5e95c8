package html

import (
	"fmt"
	"strconv"

	"raglab/internal/report"
	"raglab/internal/report/html/chart"
)

// intervals is a dot plot of the rows' means with their intervals. Rows that are the
// same measurement are one.
func intervals(in Input) (part, error) {
	r := in.Report
	rows := measurements(r)
	if len(rows) < 2 || rows[0].Metrics[r.Primary] == nil {
		return part{}, nil
	}
	f := chart.Figure{
		ID: "intervals-chart", Title: r.Primary + " with 95 % intervals, best first",
		Legend: []chart.Entry{{Role: chart.Best, Label: "best"}, {Role: chart.Level, Label: "level with the best"}, {Role: chart.Separated, Label: "separated from it"}, {Role: chart.Muted, Label: "not tested"}},
	}
	t := table{
		ID: "intervals-table", Caption: "Means and intervals of " + r.Primary,
		Columns: append(columns([]string{"configuration"}, []string{r.Primary, "95 %"}), column{Name: verdictColumn}),
	}
	var spans []chart.Span
	for i, c := range rows {
		role, said := standing(c, i == 0)
		v := c.Metrics[r.Primary]
		bounds := cell{Text: unmeasured, Class: "none"}
		if b := c.Intervals[r.Primary]; b != nil {
			bounds = cell{Text: interval(b.Low, b.High), Value: strconv.FormatFloat(b.Low, 'g', -1, 64)}
		}
		t.Rows = append(t.Rows, row{Class: rowClass(r, c), Cells: []cell{nameOf(r, c), score(v), bounds, said}})
		if v != nil && len(spans) < mostRows {
			spans = append(spans, span(c, r.Primary, role))
		}
	}
	last := spans[len(spans)-1]
	f.Desc = fmt.Sprintf("%d measurements: from %s with %.3f to %s with %.3f.", len(spans), spans[0].Label, spans[0].Value, last.Label, last.Value)
	f, err := chart.Intervals(f, spans, chart.Axis{Label: r.Primary})
	if err != nil {
		return part{}, err
	}
	note := "Intervals are of each mean by itself; whether two rows can be told apart is said by the paired comparison, not by whether their intervals overlap. "
	return part{view: figureView{Figure: f, Note: note + firstOf(len(rows), "measurements"), Table: t}}, nil
}

func span(c *report.Configuration, metric string, role chart.Role) chart.Span {
	v := *c.Metrics[metric]
	s := chart.Span{Label: c.Name, Value: v, Low: v, High: v, Role: role}
	if b := c.Intervals[metric]; b != nil {
		s.Low, s.High = b.Low, b.High
	}
	return s
}

// standing is how a row stands to the best one, as a mark's role and as a word.
func standing(c *report.Configuration, best bool) (chart.Role, cell) {
	if best {
		return chart.Best, cell{Text: "best", Class: "verdict best"}
	}
	word := verdict(c.Against)
	role := map[string]chart.Role{report.Level: chart.Level, report.Separated: chart.Separated, report.NotTested: chart.Muted}[word]
	return role, verdictCell(word)
}

// measurements are the ranked rows, one for each score: of those that are one
// measurement under several labels, the first.
func measurements(r *report.Report) []*report.Configuration {
	var rows []*report.Configuration
	seen := map[string]bool{}
	for _, c := range r.Ranked() {
		if c.Key != "" && seen[c.Key] {
			continue
		}
		seen[c.Key] = true
		rows = append(rows, c)
	}
	return rows
}
