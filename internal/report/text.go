package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Style says what a terminal can show. The zero value is for a pipe: the
// characters of the texts themselves, and no plots.
type Style struct {
	// ASCII turns the signs that raglab itself writes into ASCII. Labels and texts
	// stay as they are.
	ASCII bool
	// Plots draws them beside tables.
	Plots bool
	// Width is where paragraphs are broken; 0 means 100 columns.
	Width int
}

const (
	paragraph = 100
	plotWidth = 24
)

// ascii replaces the signs that reports are written with.
var ascii = strings.NewReplacer(
	"─", "-", "…", "..", "–", "-", "—", "-", "−", "-", "≈", "~", "≥", ">=", "≤", "<=", "×", "x", "•", "-", "→", "->",
	"├", "|", "┤", "|", "●", "*", "·", ".",
)

// Apply returns a text as the style shows it.
func (s Style) Apply(text string) string {
	if s.ASCII {
		return ascii.Replace(text)
	}
	return text
}

// WriteText writes tables in a style, columns aligned.
func WriteText(w io.Writer, tables []Table, s Style) error {
	if s.Width == 0 {
		s.Width = paragraph
	}
	var b strings.Builder
	for i, t := range tables {
		if i > 0 {
			b.WriteByte('\n')
		}
		t.text(&b, s)
	}
	out := bufio.NewWriter(w)
	out.WriteString(s.Apply(b.String()))
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write tables: %w", err)
	}
	return nil
}

func (t Table) text(out *strings.Builder, s Style) {
	out.WriteString(printable(t.Title))
	if s.Plots && len(t.Curve) > 2 {
		out.WriteString("  " + Blocks(t.Curve, !s.ASCII))
	}
	out.WriteByte('\n')
	if t.Note != "" {
		out.WriteString(wrap(t.Note, s.Width) + "\n")
	}
	if len(t.Columns) > 0 {
		t.grid(out, s)
	}
	for i, item := range t.Items {
		mark := "•  "
		if t.Ordered {
			mark = fmt.Sprintf("%d. ", i+1)
		}
		indent := strings.Repeat(" ", Width(mark)+2)
		out.WriteString("  " + mark + strings.ReplaceAll(wrap(item, s.Width-len(indent)), "\n", "\n"+indent) + "\n")
	}
	if t.Foot != "" {
		out.WriteString(wrap(t.Foot, s.Width) + "\n")
	}
}

// grid is the table itself.
func (t Table) grid(out *strings.Builder, s Style) {
	plots := s.Plots && len(t.Plot) == len(t.Rows)
	widths := t.widths()
	head := make([]string, len(t.Columns))
	rule := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		head[i] = c.Name
		rule[i] = strings.Repeat("─", widths[i])
	}
	t.line(out, head, widths, "")
	t.line(out, rule, widths, "")
	g := unicodeGlyphs
	if s.ASCII {
		g = asciiGlyphs
	}
	for i, row := range t.Rows {
		plot := ""
		if plots && t.Plot[i] != nil {
			plot = t.Plot[i].plot(plotWidth, g)
		}
		t.line(out, row, widths, plot)
	}
}

func (t Table) widths() []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = Width(c.Name)
		for _, row := range t.Rows {
			widths[i] = max(widths[i], Width(printable(row[i])))
		}
	}
	return widths
}

func (t Table) line(out *strings.Builder, cells []string, widths []int, plot string) {
	var b strings.Builder
	for i, cell := range cells {
		cell = printable(cell)
		b.WriteString("  ")
		if t.Columns[i].Right {
			b.WriteString(PadLeft(cell, widths[i]))
		} else {
			b.WriteString(PadRight(cell, widths[i]))
		}
	}
	if plot != "" {
		b.WriteString("  " + plot)
	}
	out.WriteString(strings.TrimRight(b.String(), " ") + "\n")
}

// wrap breaks a paragraph into lines of at most that many columns where it has
// blanks.
func wrap(s string, columns int) string {
	var b strings.Builder
	n := 0
	for i, word := range strings.Fields(printable(s)) {
		size := Width(word)
		switch {
		case i == 0:
		case n+1+size > columns:
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
