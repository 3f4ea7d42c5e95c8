package report

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Markdown returns the tables as GitHub's Markdown. What stands in them is text
// alone: no markup comes from a label, a title or a document.
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
	fmt.Fprintf(b, "**%s**\n", escapeMarkdown(t.Title))
	if t.Note != "" {
		b.WriteString("\n" + escapeMarkdown(t.Note) + "\n")
	}
	if len(t.Columns) > 0 {
		b.WriteByte('\n')
		t.markdownGrid(b)
	}
	if len(t.Items) > 0 {
		b.WriteByte('\n')
	}
	for i, item := range t.Items {
		mark := "-"
		if t.Ordered {
			mark = strconv.Itoa(i+1) + "."
		}
		b.WriteString(mark + " " + escapeMarkdown(item) + "\n")
	}
	if t.Foot != "" {
		b.WriteString("\n" + escapeMarkdown(t.Foot) + "\n")
	}
}

func (t Table) markdownGrid(b *strings.Builder) {
	rule := make([]string, len(t.Columns))
	head := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		head[i], rule[i] = escapeMarkdown(c.Name), "---"
		if c.Right {
			rule[i] = "---:"
		}
	}
	markdownRow(b, head)
	markdownRow(b, rule)
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = escapeMarkdown(c)
		}
		markdownRow(b, cells)
	}
}

func markdownRow(b *strings.Builder, cells []string) {
	b.WriteByte('|')
	for _, c := range cells {
		b.WriteString(" " + c + " |")
	}
	b.WriteByte('\n')
}

// escapeMarkdown makes a text stand for itself on a line of GitHub's Markdown:
// nothing in it is markup, HTML, a link, an entity, the end of a cell or of the
// line, or the beginning of a list. What cannot be taken for such stays as it is.
func escapeMarkdown(s string) string {
	text := []rune(printable(s))
	at := func(i int) rune {
		if i < 0 || i >= len(text) {
			return ' '
		}
		return text[i]
	}
	var b strings.Builder
	for i, c := range text {
		switch {
		case strings.ContainsRune("\\`|*[]", c),
			c == '_' && !(wordy(at(i-1)) && wordy(at(i+1))),
			c == '~' && at(i+1) == '~' || c == '~' && at(i-1) == '~',
			i == 0 && strings.ContainsRune("#>=", c),
			i == 0 && strings.ContainsRune("+-", c) && at(1) == ' ',
			c == ':' && at(i+1) == '/' && at(i+2) == '/', c == '.' && i >= 3 && strings.EqualFold(string(text[i-3:i]), "www"), // addresses
			(c == '.' || c == ')') && at(i+1) == ' ' && allDigits(text[:i]):
			b.WriteRune('\\')
			b.WriteRune(c)
		case c == '<' && (unicode.IsLetter(at(i+1)) || strings.ContainsRune("/!?", at(i+1))):
			b.WriteString("&lt;")
		case c == '&' && (unicode.IsLetter(at(i+1)) || at(i+1) == '#'):
			b.WriteString("&amp;")
		case c == '@' && wordy(at(i+1)) && !wordy(at(i-1)): // a mention, which no backslash keeps from being one
			b.WriteString("@<!-- -->")
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

func wordy(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

func allDigits(text []rune) bool {
	return len(text) > 0 && !slices.ContainsFunc(text, func(c rune) bool { return c < '0' || c > '9' })
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
