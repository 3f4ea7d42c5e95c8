package html

import (
	"slices"

	"raglab/internal/report"
)

// table is a table of the page. Its first column heads the rows.
type table struct {
	// ID is unique in the page.
	ID, Caption string
	// Note stands above the table, Foot below it.
	Note, Foot string
	Columns    []column
	Rows       []row
	Filters    []filter
}

type column struct {
	Name    string
	Numeric bool
}

type row struct {
	Class string
	Cells []cell
}

// cell is what stands in a row's column. Value is what it sorts and filters by, where
// that is not its text.
type cell struct {
	Text, Value, Class string
}

// filter lets a reader choose the rows with one value in a column.
type filter struct {
	Column int
	Name   string
	Values []string
}

// Sortable tells whether there is anything to sort.
func (t table) Sortable() bool { return len(t.Rows) > 1 }

// texts are cells that hold texts.
func texts(values ...string) []cell {
	cells := make([]cell, len(values))
	for i, v := range values {
		cells[i].Text = v
	}
	return cells
}

// columns begin with those of texts, then come those of numbers.
func columns(labels, numbers []string) []column {
	made := make([]column, 0, len(labels)+len(numbers))
	for _, name := range labels {
		made = append(made, column{Name: name})
	}
	for _, name := range numbers {
		made = append(made, column{Name: name, Numeric: true})
	}
	return made
}

// ofReport is one of a report's tables as one of the page.
func ofReport(id string, from report.Table) table {
	t := table{ID: id, Caption: from.Title, Note: from.Note, Foot: from.Foot}
	for _, c := range from.Columns {
		t.Columns = append(t.Columns, column{c.Name, c.Right})
	}
	for _, r := range from.Rows {
		t.Rows = append(t.Rows, row{Cells: texts(r...)})
	}
	return t
}

// distinct returns the values of a column, in their order.
func (t table) distinct(column int) []string {
	var values []string
	for _, r := range t.Rows {
		c := r.Cells[column]
		v := c.Value
		if v == "" {
			v = c.Text
		}
		if !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}
