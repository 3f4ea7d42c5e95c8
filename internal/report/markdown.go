package report

import (
	"bytes"
	"fmt"
	"strings"
)

// Markdown returns the tables as Markdown.
func Markdown(tables []Table) string {
	var b strings.Builder
	for i, t := range tables {
		if i > 0 {
			b.WriteByte('\n')
		}
		t.markdown(&b)
	}
	return b.String()
}

func (t Table) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "**%s**\n\n", t.Title)
	if t.Note != "" {
		b.WriteString(t.Note + "\n\n")
	}
	rule := make([]string, len(t.Columns))
	head := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		head[i], rule[i] = c.Name, "---"
		if c.Right {
			rule[i] = "---:"
		}
	}
	markdownRow(b, head)
	markdownRow(b, rule)
	for _, row := range t.Rows {
		markdownRow(b, row)
	}
	if t.Foot != "" {
		b.WriteString("\n" + strings.ReplaceAll(t.Foot, "*", `\*`) + "\n")
	}
}

func markdownRow(b *strings.Builder, cells []string) {
	b.WriteByte('|')
	for _, c := range cells {
		b.WriteString(" " + strings.NewReplacer("|", `\|`, "\n", " ", "*", `\*`).Replace(c) + " |")
	}
	b.WriteByte('\n')
}

// MarkerError says that a file cannot take a marked block.
type MarkerError struct{ Marker, Problem string }

func (e *MarkerError) Error() string {
	return fmt.Sprintf("marker %q: %s; put these two lines where the tables should go:\n%s\n%s", e.Marker, e.Problem, openMarker(e.Marker), closeMarker(e.Marker))
}

func openMarker(name string) string  { return "<!-- raglab:" + name + " -->" }
func closeMarker(name string) string { return "<!-- /raglab:" + name + " -->" }

// Between replaces what stands between a marker's two lines, and nothing else:
// every other byte stays, line ends included.
func Between(file []byte, marker, text string) ([]byte, error) {
	open, end := []byte(openMarker(marker)), []byte(closeMarker(marker))
	if n := bytes.Count(file, open); n != 1 {
		return nil, &MarkerError{marker, fmt.Sprintf("the file has %d opening lines, not one", n)}
	}
	if n := bytes.Count(file, end); n != 1 {
		return nil, &MarkerError{marker, fmt.Sprintf("the file has %d closing lines, not one", n)}
	}
	from, to := bytes.Index(file, open)+len(open), bytes.Index(file, end)
	if to < from {
		return nil, &MarkerError{marker, "the closing line stands before the opening one"}
	}
	newline := "\n"
	if bytes.HasPrefix(file[from:], []byte("\r\n")) {
		newline = "\r\n"
	}
	block := "\n" + strings.TrimRight(text, "\n") + "\n"
	block = strings.ReplaceAll(block, "\n", newline)
	out := append([]byte(nil), file[:from]...)
	out = append(out, newline...)
	out = append(out, strings.TrimPrefix(block, newline)...)
	return append(out, file[to:]...), nil
}
