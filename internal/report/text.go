package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// WriteText writes tables for a terminal, columns aligned.
func WriteText(w io.Writer, tables []Table) error {
	out := bufio.NewWriter(w)
	for i, t := range tables {
		if i > 0 {
			out.WriteByte('\n')
		}
		t.text(out)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write tables: %w", err)
	}
	return nil
}

func (t Table) text(out *bufio.Writer) {
	out.WriteString(t.Title + "\n")
	if t.Note != "" {
		out.WriteString(wrap(t.Note, 100) + "\n")
	}
	widths := t.widths()
	head := make([]string, len(t.Columns))
	rule := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		head[i] = c.Name
		rule[i] = strings.Repeat("─", widths[i])
	}
	t.line(out, head, widths)
	t.line(out, rule, widths)
	for _, row := range t.Rows {
		t.line(out, row, widths)
	}
	if t.Foot != "" {
		out.WriteString(wrap(t.Foot, 100) + "\n")
	}
}

func (t Table) widths() []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = utf8.RuneCountInString(c.Name)
		for _, row := range t.Rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	return widths
}

func (t Table) line(out *bufio.Writer, cells []string, widths []int) {
	var b strings.Builder
	for i, cell := range cells {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		b.WriteString("  ")
		if t.Columns[i].Right {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	out.WriteString(strings.TrimRight(b.String(), " ") + "\n")
}

// wrap breaks a paragraph into lines of at most width characters where it has
// blanks.
func wrap(s string, width int) string {
	var b strings.Builder
	n := 0
	for i, word := range strings.Fields(s) {
		size := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case n+1+size > width:
			b.WriteByte('\n')
			n = 0
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(word)
		n += size
	}
	return b.String()
}
