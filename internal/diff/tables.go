package diff

import (
	"fmt"
	"strconv"
	"strings"

	"raglab/internal/report"
)

// few is how many questions a table lists; the JSON form has all.
const few = 10

// Tables show the differences: settings, rows, questions won and lost. What does not
// differ has no table.
func (r *Result) Tables() []report.Table {
	var tables []report.Table
	if len(r.Settings) > 0 {
		tables = append(tables, r.settingsTable())
	}
	if t := r.rowsTable(); len(t.Rows)+len(r.OnlyOld)+len(r.OnlyNew) > 0 {
		tables = append(tables, t)
	}
	for _, side := range []struct {
		title     string
		questions []Question
	}{{"Questions won", r.Won}, {"Questions lost", r.Lost}} {
		if len(side.questions) > 0 {
			tables = append(tables, r.questionsTable(side.title, side.questions))
		}
	}
	return tables
}

func (r *Result) settingsTable() report.Table {
	t := report.Table{Title: "Settings that differ", Columns: []report.Column{{Name: "setting"}, {Name: r.Old}, {Name: r.New}}}
	for _, s := range r.Settings {
		t.Rows = append(t.Rows, []string{s.Name, orNone(shortDigest(s.Old)), orNone(shortDigest(s.New))})
	}
	return t
}

// shortDigest shortens a SHA-256 to what tells two of them apart.
func shortDigest(s string) string {
	const digits, enough = 64, 12
	if len(s) == digits && strings.Trim(s, "0123456789abcdef") == "" {
		return s[:enough]
	}
	return s
}

func orNone(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// rowsTable has the rows in which something changed.
func (r *Result) rowsTable() report.Table {
	t := report.Table{Title: "Rows that differ, by " + r.Primary, Columns: []report.Column{{Name: "row"}}}
	var names []string
	if len(r.Rows) > 0 {
		for _, m := range r.Rows[0].Metrics {
			names = append(names, m.Name)
		}
	}
	for _, name := range append(names, "difference", "95 %", "p") {
		t.Columns = append(t.Columns, report.Column{Name: name, Right: true})
	}
	t.Columns = append(t.Columns, report.Column{Name: "verdict"})
	for _, name := range []string{"won", "lost", "p95 ms"} {
		t.Columns = append(t.Columns, report.Column{Name: name, Right: true})
	}
	same := 0
	for _, row := range r.Rows {
		if !row.Changed {
			same++
			continue
		}
		cells := []string{row.Name}
		for _, m := range row.Metrics {
			cells = append(cells, m.cell('f', 3))
		}
		cells = append(cells, row.testCells()...)
		t.Rows = append(t.Rows, append(cells, row.P95.cell('g', 3)))
	}
	t.Foot = r.rowsFoot(same)
	return t
}

func (r *Result) rowsFoot(same int) string {
	var parts []string
	if same > 0 {
		parts = append(parts, fmt.Sprintf("Rows that are the same: %d.", same))
	}
	if len(r.OnlyOld) > 0 {
		parts = append(parts, fmt.Sprintf("Only in %s: %s.", r.Old, strings.Join(r.OnlyOld, ", ")))
	}
	if len(r.OnlyNew) > 0 {
		parts = append(parts, fmt.Sprintf("Only in %s: %s.", r.New, strings.Join(r.OnlyNew, ", ")))
	}
	return strings.Join(parts, " ")
}

// testCells are difference, interval, p, verdict, and the questions won and lost.
func (row Row) testCells() []string {
	c := row.Comparison
	if c == nil || c.Questions == 0 {
		return []string{"–", "–", "–", report.NotTested, "–", "–"}
	}
	cells := []string{fmt.Sprintf("%+.3f", c.Difference), "–", "–", c.Verdict, strconv.Itoa(c.Wins), strconv.Itoa(c.Losses)}
	if c.Verdict != report.NotTested {
		cells[1], cells[2] = fmt.Sprintf("%+.2f…%+.2f", c.Low, c.High), strconv.FormatFloat(c.P, 'f', 3, 64)
	}
	return cells
}

// cell shows a value, and what it was where that is another.
func (m Metric) cell(format byte, digits int) string {
	show := func(v *float64) string {
		if v == nil {
			return "unmeasured"
		}
		return strconv.FormatFloat(*v, format, digits, 64)
	}
	if was, is := show(m.Old), show(m.New); was != is {
		return was + " → " + is
	}
	return show(m.New)
}

func (r *Result) questionsTable(title string, questions []Question) report.Table {
	t := report.Table{
		Title:   title,
		Note:    fmt.Sprintf("By the mean change of %s over the rows, each measurement once.", r.Primary),
		Columns: []report.Column{{Name: "question"}, {Name: "change", Right: true}, {Name: "rows", Right: true}},
	}
	for _, q := range questions[:min(few, len(questions))] {
		t.Rows = append(t.Rows, []string{q.ID, fmt.Sprintf("%+.3f", q.Change), strconv.Itoa(q.Rows)})
	}
	if more := len(questions) - few; more > 0 {
		t.Foot = fmt.Sprintf("And %d more.", more)
	}
	return t
}
