// Package html reduces HTML pages to text with Markdown headings.
package html

import (
	"fmt"
	"io"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Page is what is left of an HTML page.
type Page struct {
	// Title is that of the title element, or the text of the first h1, or empty.
	Title string
	// Text holds blocks separated by a blank line: headings as "# " lines, list
	// items as "- " or "1. " lines, table rows as "| a | b |", preformatted text
	// between fences. White space elsewhere is collapsed. A first h1 that opens
	// the text and says the title is left out, since the title is kept apart.
	Text string
}

// Reduce reads a page, which must be UTF-8. Scripts, styles, navigation, forms'
// controls, embedded media and comments are dropped. Elements nested deeper than
// the parser allows (512) are an error.
func Reduce(r io.Reader) (Page, error) {
	root, err := html.Parse(r)
	if err != nil {
		return Page{}, fmt.Errorf("parse html: %w", err)
	}
	w := &writer{}
	w.children(root)
	w.endBlock()
	page := Page{Title: collapse(w.title)}
	if page.Title == "" {
		page.Title = w.firstHeading
	}
	if len(w.blocks) > 0 && page.Title != "" && w.blocks[0] == "# "+page.Title {
		w.blocks, w.tight = w.blocks[1:], w.tight[1:]
	}
	page.Text = w.text()
	return page, nil
}

// dropped are the elements that hold no text of the page.
func dropped(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Nav, atom.Noscript, atom.Template, atom.Svg, atom.Iframe, atom.Object,
		atom.Embed, atom.Canvas, atom.Audio, atom.Video, atom.Button, atom.Select, atom.Textarea, atom.Input, atom.Datalist:
		return true
	}
	for _, a := range n.Attr {
		if a.Key == "hidden" || a.Key == "aria-hidden" && a.Val == "true" || a.Key == "role" && a.Val == "navigation" {
			return true
		}
	}
	return false
}

// writer collects blocks of text.
type writer struct {
	blocks []string
	tight  []bool // the block follows the one before without a blank line
	line   strings.Builder
	prefix string // of the block being written
	joined bool   // the block being written is tight
	lists  []list
	title  string
	// firstHeading is the text of the first h1.
	firstHeading string
}

// list is one that is open: ordered or not, and how many items it had.
type list struct {
	ordered bool
	items   int
}

// breaks turns line ends in running text, which mean nothing, into blanks: in
// the line being written only br elements make lines.
var breaks = strings.NewReplacer("\n", " ", "\r", " ")

func (w *writer) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.node(c)
	}
}

func (w *writer) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		w.line.WriteString(breaks.Replace(n.Data))
	case html.ElementNode:
		if !dropped(n) {
			w.element(n)
		}
	default:
		if n.Type == html.DocumentNode {
			w.children(n)
		}
	}
}

func (w *writer) element(n *html.Node) {
	switch n.DataAtom {
	case atom.Title:
		if w.title == "" && n.Namespace == "" {
			w.title = textOf(n)
		}
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.heading(n)
	case atom.Br:
		w.line.WriteByte('\n')
	case atom.Pre:
		w.preformatted(n)
	case atom.Ul, atom.Ol:
		w.list(n)
	case atom.Li:
		w.item(n)
	case atom.Table:
		w.table(n)
	case atom.Hr:
		w.endBlock()
	default:
		if inline(n) {
			w.children(n)
			return
		}
		w.endBlock()
		w.children(n)
		w.endBlock()
	}
}

// inline reports whether an element stands within a line of text.
func inline(n *html.Node) bool {
	switch n.DataAtom {
	case atom.A, atom.Abbr, atom.B, atom.Bdi, atom.Bdo, atom.Big, atom.Cite, atom.Code, atom.Data, atom.Del, atom.Dfn,
		atom.Em, atom.Font, atom.I, atom.Img, atom.Ins, atom.Kbd, atom.Label, atom.Mark, atom.Math, atom.Nobr, atom.Output,
		atom.Q, atom.Rp, atom.Rt, atom.Ruby, atom.S, atom.Samp, atom.Small, atom.Span, atom.Strike, atom.Strong, atom.Sub,
		atom.Sup, atom.Time, atom.Tt, atom.U, atom.Var, atom.Wbr:
		return true
	}
	return n.Namespace == "math" || strings.Contains(n.Data, "-")
}

func (w *writer) heading(n *html.Node) {
	w.endBlock()
	text := collapse(textOf(n))
	if text == "" {
		return
	}
	level := int(n.Data[1] - '0')
	if level == 1 && w.firstHeading == "" {
		w.firstHeading = text
	}
	w.add(strings.Repeat("#", level)+" "+text, false)
}

// preformatted keeps the white space of a pre element, between fences longer
// than any in it.
func (w *writer) preformatted(n *html.Node) {
	w.endBlock()
	text := strings.Trim(textOf(n), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	w.add(fence+"\n"+text+"\n"+fence, false)
}

func (w *writer) list(n *html.Node) {
	w.endBlock()
	w.lists = append(w.lists, list{ordered: n.DataAtom == atom.Ol})
	w.children(n)
	w.endBlock()
	w.lists = w.lists[:len(w.lists)-1]
}

func (w *writer) item(n *html.Node) {
	w.endBlock()
	if len(w.lists) == 0 {
		w.lists = append(w.lists, list{})
		defer func() { w.lists = w.lists[:0] }()
	}
	l := &w.lists[len(w.lists)-1]
	l.items++
	mark := "- "
	if l.ordered {
		mark = fmt.Sprintf("%d. ", l.items)
	}
	prefix, joined := w.prefix, w.joined
	w.prefix = strings.Repeat("  ", len(w.lists)-1) + mark
	w.joined = l.items > 1 || len(w.lists) > 1
	w.children(n)
	w.endBlock()
	w.prefix, w.joined = prefix, joined
}

// table writes each row on a line of its own.
func (w *writer) table(n *html.Node) {
	w.endBlock()
	first := true
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch {
			case c.Type != html.ElementNode || dropped(c):
			case c.DataAtom == atom.Caption:
				if text := collapse(textOf(c)); text != "" {
					w.add(text, false)
				}
			case c.DataAtom == atom.Tr:
				if row := cells(c); row != "" {
					w.add(row, !first)
					first = false
				}
			default:
				walk(c)
			}
		}
	}
	walk(n)
}

// cells writes a row, or nothing when all its cells are empty.
func cells(row *html.Node) string {
	var b strings.Builder
	b.WriteString("|")
	any := false
	for c := row.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || c.DataAtom != atom.Td && c.DataAtom != atom.Th {
			continue
		}
		text := collapse(textOf(c))
		any = any || text != ""
		if text != "" {
			b.WriteString(" " + text)
		}
		b.WriteString(" |")
	}
	if !any {
		return ""
	}
	return b.String()
}

// textOf is the text below a node, with a blank between blocks.
func textOf(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch {
			case c.Type == html.TextNode:
				b.WriteString(c.Data)
			case c.Type != html.ElementNode || dropped(c):
			case c.DataAtom == atom.Br:
				b.WriteByte('\n')
			case inline(c):
				walk(c)
			default:
				b.WriteByte(' ')
				walk(c)
				b.WriteByte(' ')
			}
		}
	}
	walk(n)
	return b.String()
}

// endBlock closes the block being written, if it holds anything.
func (w *writer) endBlock() {
	text := collapseLines(w.line.String())
	w.line.Reset()
	if text == "" {
		return
	}
	if w.prefix != "" {
		text = w.prefix + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", len(w.prefix)))
	}
	w.add(text, w.joined)
	// What else an item holds stands under its first block.
	if w.prefix != "" {
		w.prefix, w.joined = strings.Repeat(" ", len(w.prefix)), true
	}
}

func (w *writer) add(block string, tight bool) {
	w.blocks = append(w.blocks, block)
	w.tight = append(w.tight, tight && len(w.blocks) > 1)
}

func (w *writer) text() string {
	var b strings.Builder
	for i, block := range w.blocks {
		switch {
		case i == 0:
		case w.tight[i]:
			b.WriteString("\n")
		default:
			b.WriteString("\n\n")
		}
		b.WriteString(block)
	}
	return b.String()
}

// collapse replaces each run of white space by one blank and trims.
func collapse(s string) string { return strings.Join(strings.Fields(s), " ") }

// collapseLines does so within lines, where only br elements make lines.
func collapseLines(s string) string {
	lines := strings.Split(s, "\n")
	kept := lines[:0]
	for _, line := range lines {
		if line = collapse(line); line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}
