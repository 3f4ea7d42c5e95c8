package markdown

import "strings"

// Items splits a block into the parts that should not be cut further where that
// can be helped: a list into its items, a table or a piece of code into its
// lines. Any other block is one part.
func Items(text string, b Block) []Span {
	if b.Kind != List && b.Kind != Table && b.Kind != Code {
		return []Span{{b.Start, b.End}}
	}
	var items []Span
	for at := b.Start; at < b.End; {
		end, next := b.End, b.End
		if n := strings.IndexByte(text[at:b.End], '\n'); n >= 0 {
			end, next = at+n, at+n+1
		}
		body := strings.TrimSpace(text[at:end])
		switch {
		case body == "":
		case b.Kind == List && len(items) > 0 && !marker(body).ok:
			items[len(items)-1].End = end
		default:
			items = append(items, Span{at, end})
		}
		at = next
	}
	return items
}

// width is that of an indent, in columns; a tab goes to the next multiple of 4.
func width(indent string) int {
	n := 0
	for i := range len(indent) {
		if indent[i] == '\t' {
			n += 4 - n%4
		} else {
			n++
		}
	}
	return n
}

// run is the length of the run of one byte that s begins with.
func run(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

// fence returns the fence that a line opens code with, or "".
func fence(body string) string {
	n := run(body, body[0])
	switch {
	case n < 3:
		return ""
	case body[0] == '~':
		return body[:n]
	case body[0] == '`' && !strings.Contains(body[n:], "`"):
		return body[:n]
	}
	return ""
}

// atx returns the level of a "# heading" line, or 0.
func atx(body string) int {
	n := run(body, '#')
	if n == 0 || n > 6 || n < len(body) && body[n] != ' ' && body[n] != '\t' {
		return 0
	}
	return n
}

// atxTitle is the text of such a line without its opening and closing marks.
func atxTitle(body string) string {
	title := strings.TrimSpace(strings.TrimLeft(body, "#"))
	bare := strings.TrimRight(title, "#")
	if bare == "" || strings.HasSuffix(bare, " ") || strings.HasSuffix(bare, "\t") {
		return strings.TrimSpace(bare)
	}
	return title
}

// underline returns the level of the heading that a line underlines, or 0.
func underline(body string) int {
	body = strings.TrimRight(body, " \t")
	switch {
	case run(body, '=') == len(body):
		return 1
	case run(body, '-') == len(body):
		return 2
	}
	return 0
}

// rule reports whether a line is a thematic break.
func rule(body string) bool {
	c := body[0]
	if c != '*' && c != '-' && c != '_' {
		return false
	}
	n := 0
	for i := range len(body) {
		switch body[i] {
		case c:
			n++
		case ' ', '\t':
		default:
			return false
		}
	}
	return n >= 3
}

// mark is what a line says about a list item that begins there.
type mark struct {
	ok bool
	// interrupts tells that it may do so right after a paragraph's line, which
	// otherwise happens to begin with a number or a dash.
	interrupts bool
}

// marker reads the mark of a list item.
func marker(body string) mark {
	digits := 0
	for digits < len(body) && body[digits] >= '0' && body[digits] <= '9' {
		digits++
	}
	n := digits + 1
	switch {
	case digits > 9 || len(body) < n:
		return mark{}
	case digits == 0 && body[0] != '-' && body[0] != '*' && body[0] != '+':
		return mark{}
	case digits > 0 && body[digits] != '.' && body[digits] != ')':
		return mark{}
	}
	rest := body[n:]
	empty := strings.TrimSpace(rest) == ""
	if !empty && rest[0] != ' ' && rest[0] != '\t' {
		return mark{}
	}
	return mark{ok: true, interrupts: !empty && (digits == 0 || body[:digits] == "1")}
}

// delimiterRow reports whether a line is the one below a table's heads, such as
// "--- | :---:".
func delimiterRow(body string) bool {
	if !strings.Contains(body, "|") {
		return false
	}
	for cell := range strings.SplitSeq(strings.Trim(strings.TrimSpace(body), "|"), "|") {
		cell = strings.TrimSpace(cell)
		cell = strings.TrimSuffix(strings.TrimPrefix(cell, ":"), ":")
		if cell == "" || run(cell, '-') != len(cell) {
			return false
		}
	}
	return true
}
