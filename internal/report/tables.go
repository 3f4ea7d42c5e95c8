package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Table is a table ready to be shown.
type Table struct {
	// Name is one of [Sections].
	Name  string
	Title string
	// Note is a paragraph below the title, Foot one below the table.
	Note, Foot string
	// Columns and Rows are empty where Items are shown, whole sentences, which are
	// numbered if Ordered.
	Columns []Column
	Rows    [][]string
	Items   []string
	Ordered bool
	// Plot is a mark for each row, nil for none, and Curve the values of a small plot
	// beside the title; terminals draw them.
	Plot  []*Mark
	Curve []*float64
}

// Column is a column's head; numbers are set to the right.
type Column struct {
	Name  string
	Right bool
}

// What stands in a cell that has no number.
const (
	unmeasured    = "unmeasured"
	notApplicable = "–"
)

// Pick returns the tables with the given names, in their order; no names pick
// all.
func Pick(tables []Table, names []string) []Table {
	if len(names) == 0 {
		return tables
	}
	var picked []Table
	for _, t := range tables {
		if slices.Contains(names, t.Name) {
			picked = append(picked, t)
		}
	}
	return picked
}

// Tables returns the report's sections that there is something to say in, in the
// order of [Sections].
func (r *Report) Tables() []Table {
	ranked := r.Ranked()
	tables := []Table{r.glanceTable(ranked)}
	add := func(there bool, table func() Table) {
		if there {
			tables = append(tables, table())
		}
	}
	add(r.Recommended != nil && len(r.Recommended.Otherwise) > 0, r.otherwiseTable)
	add(len(r.Mattered) > 0, func() Table { return r.matteredTable(0) })
	tables = append(tables, r.bestTable(ranked))
	add(len(ranked) > bestRows, func() Table { return r.worstTable(ranked) })
	for _, e := range r.Effects {
		tables = append(tables, r.axisTable(e))
	}
	add(len(r.Tags) > 0 && len(ranked) > 0, func() Table { return r.tagsTable(ranked) })
	add(len(r.Interactions) > 0, r.interactionsTable)
	add(len(r.NotCrossed) > 0, r.notMeasuredTable)
	add(len(r.Spans) > 0, r.spansTable)
	tables = append(tables, r.lossTables(ranked)...)
	add(r.hasParts(), func() Table { return r.latencyTable(ranked) })
	tables = append(tables, r.ingestTable())
	add(r.costs(), func() Table { return r.costTable(ranked) })
	for _, t := range r.Tuning {
		tables = append(tables, r.tuningTable(t))
	}
	add(len(r.Golden) > 0, r.goldenTable)
	tables = append(tables, r.abstentionTables(ranked)...)
	add(len(r.Expectations) > 0, r.expectationTable)
	add(len(r.Limits) > 0, r.limitsTable)
	add(len(ranked) > fewRows, r.fullTable)
	return tables
}

// bestRows and worstRows are how many rows the tables of that name have, and with
// more than fewRows there is a table of all.
const (
	bestRows  = 5
	worstRows = 3
	fewRows   = 8
)

func (r *Report) bestTable(ranked []*Configuration) Table {
	t := r.rows("best", "Best configurations", ranked[:min(bestRows, len(ranked))])
	t.Note, t.Foot = r.bestNote(ranked), r.rowsFoot()
	if len(ranked) <= fewRows {
		t.Foot = strings.TrimSpace(t.Foot + " " + r.accountingFoot())
	}
	return t
}

func (r *Report) worstTable(ranked []*Configuration) Table {
	worst := slices.Clone(ranked[max(bestRows, len(ranked)-worstRows):])
	slices.Reverse(worst)
	t := r.rows("worst", "Worst configurations", worst)
	t.Note = "A table that only shows winners is not evidence."
	return t
}

func (r *Report) fullTable() Table {
	full := make([]*Configuration, len(r.Configurations))
	for i := range full {
		full[i] = &r.Configurations[i]
	}
	t := r.rows("full", fmt.Sprintf("All %d configurations", len(full)), full)
	t.Foot = r.accountingFoot()
	return t
}

func (r *Report) accountingFoot() string { return "Of the cross: " + r.Accounting + "." }

// axes are the names of the factors that have several options.
func (r *Report) axes() []string {
	var names []string
	for _, f := range r.Factors {
		if f.Axis {
			names = append(names, f.Name)
		}
	}
	return names
}

// rows is a table of configurations.
func (r *Report) rows(name, title string, rows []*Configuration) Table {
	t := Table{Name: name, Title: title}
	axes := r.axes()
	for _, a := range axes {
		t.Columns = append(t.Columns, Column{Name: a})
	}
	for _, m := range r.Metrics {
		t.Columns = append(t.Columns, Column{m, true})
	}
	for _, name := range []string{"vs best", "95 %", "p50 ms", "p95 ms", "index MB", "ingest s"} {
		t.Columns = append(t.Columns, Column{name, true})
	}
	k, approximate := r.annCutoff()
	if approximate {
		t.Columns = append(t.Columns, Column{fmt.Sprintf("ann_recall@%d", k), true})
	}
	rounded := r.anyRounded()
	if rounded {
		t.Columns = append(t.Columns, Column{scoreOffColumn, true})
	}
	for _, c := range rows {
		row := c.labels(axes)
		for _, m := range r.Metrics {
			row = append(row, score(c.Metrics[m]))
		}
		row = append(row, against(c.Against)...)
		row = append(row, latency(c.Latency)...)
		row = append(row, megabytes(c.IndexBytes), seconds(c.IngestSeconds))
		if approximate {
			row = append(row, c.annRecall(k))
		}
		if rounded {
			row = append(row, c.scoreOff())
		}
		t.Rows = append(t.Rows, row)
	}
	t.Plot = r.rowMarks(rows)
	return t
}

// rowMarks place the rows' means of the primary metric with their intervals.
func (r *Report) rowMarks(rows []*Configuration) []*Mark {
	values, bounds := make([]*float64, len(rows)), make([]*Interval, len(rows))
	for i, c := range rows {
		values[i], bounds[i] = c.Metrics[r.Primary], c.Intervals[r.Primary]
	}
	return plots(values, bounds)
}

// labels are a row's options of some axes; those that make no difference to it
// are marked.
func (c *Configuration) labels(axes []string) []string {
	var labels []string
	for _, a := range axes {
		label := c.Options[a]
		if slices.Contains(c.Inert, a) {
			label += "*"
		}
		labels = append(labels, label)
	}
	return labels
}

func (r *Report) rowsFoot() string {
	for _, c := range r.Configurations {
		if len(c.Inert) > 0 {
			return "* the axis makes no difference to this row: rows that differ in it alone are one measurement under several labels."
		}
	}
	return ""
}

// bestNote says whether the data can tell the best row from the others.
func (r *Report) bestNote(ranked []*Configuration) string {
	if len(ranked) == 0 {
		return ""
	}
	told, compared, least := r.resolution()
	note := fmt.Sprintf("By %s over %d test questions, %d chunks deep.", r.Primary, r.Questions.Scored, r.Depth)
	if r.Questions.Excluded > 0 {
		note += fmt.Sprintf(" Questions without a relevant document, left out: %d.", r.Questions.Excluded)
	}
	if compared == 0 {
		return note
	}
	note += fmt.Sprintf(" The data can tell the best from %d of the %d other measurements (paired randomisation test, Holm-corrected, p < 0.05); from %d it cannot.", told, compared, compared-told)
	if least < 0.005 {
		return note // the rows hardly differ on any question: nothing to say of spread
	}
	return note + fmt.Sprintf(" So many questions show a true difference of about %.2f in four cases of five; smaller ones mostly go unseen.", least)
}

func (r *Report) axisTable(e Effect) Table {
	t := Table{Name: "axes", Title: "Axis: " + e.Axis}
	t.Columns = []Column{{Name: e.Axis}, {"rows", true}}
	for _, m := range r.Metrics {
		t.Columns = append(t.Columns, Column{"mean " + m, true})
	}
	t.Columns = append(t.Columns, Column{"best " + r.Primary, true}, Column{"p50 ms", true}, Column{"index MB", true})
	var means []*float64
	for _, o := range e.Options {
		row := []string{o.Label, strconv.Itoa(o.Rows)}
		for _, m := range r.Metrics {
			row = append(row, score(o.Means[m]))
		}
		row = append(row, score(o.Best), millis(o.P50), number(o.Index, 1e6, 2))
		t.Rows, means = append(t.Rows, row), append(means, o.Means[r.Primary])
	}
	t.Plot = plots(means, make([]*Interval, len(means)))
	if e.Unbalanced {
		t.Foot = "The options are averaged over different choices of everything else: no choice is crossed with all of them."
	}
	switch {
	case e.Best == "":
		t.Note = "No row is measured to which this axis makes a difference."
	case e.Comparison == nil && e.measured(r.Primary) < 2:
		t.Note = "Not all of its options are measured: nothing can be compared."
	case e.Comparison == nil:
		t.Note = "Its options score the same."
	default:
		t.Note = fmt.Sprintf("Worth %.3f %s, averaged over everything else: %s over %s, 95 %% interval %s. %s", e.Worth, r.Primary, e.Best, e.Worst, interval(e.Comparison), verdict(e.Comparison))
	}
	return t
}

// measured counts the options that have a mean of the metric.
func (e Effect) measured(metric string) int {
	n := 0
	for _, o := range e.Options {
		if o.Means[metric] != nil {
			n++
		}
	}
	return n
}

func verdict(c *Comparison) string {
	if c.Tell {
		return fmt.Sprintf("The data can tell them apart (p %s).", pValue(c.P))
	}
	return fmt.Sprintf("The data cannot tell them apart (p %s).", pValue(c.P))
}

func pValue(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return "= " + strconv.FormatFloat(p, 'f', 3, 64)
}

func (r *Report) tuningTable(tu Tuning) Table {
	t := Table{
		Name:  "tuning",
		Title: "Tuning: " + strings.Join(tu.Names, ", "),
		Note:  fmt.Sprintf("Fitted on the %d dev questions, then frozen; chosen: %s.", r.Questions.Dev, strings.Join(tu.Chosen, ", ")),
	}
	if tu.Flat {
		t.Note += " The curve is flat: the dev questions cannot choose, and the first value was taken."
	}
	for _, e := range tu.Edge {
		t.Note += fmt.Sprintf(" The choice of %s lies at the edge of its grid: a wider grid may do better.", e)
	}
	for _, n := range tu.Names {
		t.Columns = append(t.Columns, Column{n, true})
	}
	t.Columns = append(t.Columns, Column{"dev mean " + r.Primary, true})
	var means []*float64
	for _, p := range tu.Points {
		t.Rows, means = append(t.Rows, append(slices.Clone(p.Values), number(p.Mean, 1, 4))), append(means, p.Mean)
	}
	t.Curve = means
	return t
}

func (r *Report) expectationTable() Table {
	t := Table{
		Name:    "expected",
		Title:   "Expected figures",
		Columns: []Column{{Name: "row"}, {Name: "metric"}, {"expected", true}, {"measured", true}, {Name: "verdict"}, {Name: "source"}},
	}
	for _, e := range r.Expectations {
		t.Rows = append(t.Rows, []string{e.Row, e.Metric, strconv.FormatFloat(e.Value, 'f', -1, 64), number(e.Measured, 1, 6), e.Verdict, e.Source})
	}
	return t
}

func score(v *float64) string { return number(v, 1, 3) }

func seconds(v *float64) string {
	switch {
	case v == nil:
		return unmeasured
	case *v < 10:
		return number(v, 1, 2)
	}
	return number(v, 1, 0)
}

// number shows a value in units, with a fixed number of decimals.
func number(v *float64, unit float64, decimals int) string {
	if v == nil {
		return unmeasured
	}
	return strconv.FormatFloat(*v/unit, 'f', decimals, 64)
}

func megabytes(b *int64) string {
	if b == nil {
		return unmeasured
	}
	return strconv.FormatFloat(float64(*b)/1e6, 'f', 2, 64)
}

func latency(l *Latency) []string {
	if l == nil {
		return []string{unmeasured, unmeasured}
	}
	return []string{l.mark(millis(&l.P50)), l.mark(millis(&l.P95))}
}

// mark marks a time that is composed.
func (l *Latency) mark(cell string) string {
	if l.Composed {
		return "≈" + cell
	}
	return cell
}

// millis shows milliseconds with as many decimals as mean something.
func millis(v *float64) string {
	switch {
	case v == nil:
		return unmeasured
	case *v < 0.1:
		return number(v, 1, 3)
	case *v < 10:
		return number(v, 1, 2)
	case *v < 100:
		return number(v, 1, 1)
	}
	return number(v, 1, 0)
}

func against(c *Comparison) []string {
	if c == nil {
		return []string{notApplicable, notApplicable}
	}
	mark := ""
	if c.Tell {
		mark = "!"
	}
	return []string{fmt.Sprintf("%+.3f%s", c.Difference, mark), interval(c)}
}

func interval(c *Comparison) string { return fmt.Sprintf("%+.2f…%+.2f", c.Low, c.High) }
