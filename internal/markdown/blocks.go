// Package markdown finds the blocks of Markdown, of MediaWiki's plain extracts
// and of plain text, by their lines alone: enough to cut a text where its author
// did, without rendering it. Line ends may be LF or CRLF.
package markdown

import "strings"

// Syntax is how a text marks its structure.
type Syntax string

// The syntaxes. Markdown follows CommonMark's rules for headings, fences, lists
// and breaks, and GitHub's for tables. MediaWiki is what its API gives as plain
// text: "== heading ==" lines, and a paragraph on every other line. Plain text
// has paragraphs between blank lines and no headings.
const (
	Markdown  Syntax = "markdown"
	MediaWiki Syntax = "mediawiki"
	Plain     Syntax = "text"
)

// Kind is a sort of block.
type Kind uint8

// The kinds of block.
const (
	Paragraph Kind = iota
	Heading
	List
	Table
	Code
	Rule
	Comment
)

// Block is a run of lines. Blocks are in order and hold all text but blank lines.
type Block struct {
	Kind Kind
	// Start and End are byte offsets; Start is that of the first line, End
	// that of its last line's end, without the line break.
	Start, End int
	// Level and Title are those of a heading: from 1, and without its marks.
	Level int
	Title string
}

// Span is a range of byte offsets, End exclusive.
type Span struct{ Start, End int }

// Blocks splits a text.
func Blocks(text string, syntax Syntax) []Block {
	s := splitter{text: text}
	read := s.markdown
	switch syntax {
	case MediaWiki:
		read = s.mediaWiki
	case Plain:
		read = s.plain
	}
	for at := 0; at < len(text); {
		end, next := len(text), len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			end, next = at+n, at+n+1
		}
		if end > at && text[end-1] == '\r' {
			end--
		}
		read(line{text[at:end], at, end})
		at = next
	}
	s.close()
	return s.blocks
}

// line is one line without its break.
type line struct {
	text       string
	start, end int
}

// splitter is handed the lines one by one.
type splitter struct {
	text   string
	blocks []Block
	open   bool // the last block may go on
	lines  int  // how many lines the open block has
	fence  string
	inList bool // a list was begun and nothing since then ended it
}

func (s *splitter) close() { s.open, s.fence = false, "" }

// begin opens a block with the line.
func (s *splitter) begin(kind Kind, l line) *Block {
	s.blocks = append(s.blocks, Block{Kind: kind, Start: l.start, End: l.end})
	s.open, s.lines = true, 1
	return s.last()
}

// goOn adds the line to the open block.
func (s *splitter) goOn(l line) {
	s.last().End = l.end
	s.lines++
}

func (s *splitter) last() *Block { return &s.blocks[len(s.blocks)-1] }

// is reports whether a block of the kind is open.
func (s *splitter) is(kind Kind) bool { return s.open && s.last().Kind == kind }

func (s *splitter) plain(l line) {
	switch {
	case strings.TrimSpace(l.text) == "":
		s.close()
	case s.open:
		s.goOn(l)
	default:
		s.begin(Paragraph, l)
	}
}

func (s *splitter) mediaWiki(l line) {
	s.close()
	if strings.TrimSpace(l.text) == "" {
		return
	}
	if level, title := mediaWikiHeading(l.text); level > 0 {
		b := s.begin(Heading, l)
		b.Level, b.Title = level, title
		return
	}
	s.begin(Paragraph, l)
}

// mediaWikiHeading reads "== title ==": two to six equals signs on both sides,
// level 1 for two of them.
func mediaWikiHeading(text string) (level int, title string) {
	text = strings.TrimRight(text, " \t")
	n := run(text, '=')
	if n < 2 || n > 6 || len(text) < 2*n+1 || !strings.HasSuffix(text, text[:n]) {
		return 0, ""
	}
	if title = strings.TrimSpace(text[n : len(text)-n]); title == "" {
		return 0, ""
	}
	return n - 1, title
}

func (s *splitter) markdown(l line) {
	switch {
	case s.is(Code):
		s.code(l)
		return
	case s.is(Comment):
		s.goOn(l)
		if strings.Contains(l.text, "-->") {
			s.close()
		}
		return
	}
	body := strings.TrimLeft(l.text, " \t")
	if strings.TrimSpace(body) == "" {
		s.close()
		return
	}
	indent := width(l.text[:len(l.text)-len(body)])
	if s.inList && indent < 2 && !s.is(List) && !marker(body).ok {
		s.inList = false
	}
	switch {
	case s.inList && indent >= 2:
		s.nested(l, body)
	case indent > 3:
		s.prose(l)
	default:
		s.marked(l, body)
	}
}

// nested handles an indented line below a list item. A heading there is part of
// the item.
func (s *splitter) nested(l line, body string) {
	switch {
	case fence(body) != "":
		s.begin(Code, l)
		s.fence = fence(body)
	case marker(body).ok:
		s.item(l)
	default:
		s.prose(l)
	}
}

// code goes on with a fenced block until a fence as long as the first.
func (s *splitter) code(l line) {
	s.goOn(l)
	body := strings.TrimSpace(l.text)
	if strings.HasPrefix(body, s.fence) && run(body, s.fence[0]) == len(body) {
		s.close()
	}
}

// marked handles a line that may begin with a mark; body lacks its indent.
func (s *splitter) marked(l line, body string) {
	if s.is(Paragraph) {
		if level := underline(body); level > 0 {
			s.setext(l, level)
			return
		}
	}
	switch m := marker(body); {
	case fence(body) != "":
		s.begin(Code, l)
		s.fence = fence(body)
	case strings.HasPrefix(body, "<!--"):
		s.begin(Comment, l)
		s.open = !strings.Contains(body, "-->")
	case atx(body) > 0:
		b := s.begin(Heading, l)
		b.Level, b.Title = atx(body), atxTitle(body)
		s.open = false
	case rule(body):
		s.begin(Rule, l)
		s.open = false
	case m.ok && (!s.is(Paragraph) || m.interrupts):
		s.item(l)
	case body[0] == '|' || s.is(Table) && strings.Contains(body, "|"):
		s.row(l)
	case s.is(Paragraph) && s.lines == 1 && delimiterRow(body):
		s.last().Kind = Table
		s.goOn(l)
	default:
		s.prose(l)
	}
}

// setext turns the open paragraph into the heading that the line underlines.
func (s *splitter) setext(l line, level int) {
	b := s.last()
	b.Kind, b.Level = Heading, level
	b.Title = strings.Join(strings.Fields(s.text[b.Start:b.End]), " ")
	s.goOn(l)
	s.close()
}

func (s *splitter) item(l line) {
	s.inList = true
	if s.is(List) {
		s.goOn(l)
		return
	}
	s.begin(List, l)
}

func (s *splitter) row(l line) {
	if s.is(Table) {
		s.goOn(l)
		return
	}
	s.begin(Table, l)
}

// prose handles a line without a mark: it goes on with a paragraph or an item.
func (s *splitter) prose(l line) {
	if s.is(Paragraph) || s.is(List) {
		s.goOn(l)
		return
	}
	s.begin(Paragraph, l)
}

// FirstHeading returns the title of the first heading of the first level that is
// written with a "#", or "".
func FirstHeading(text string) string {
	for _, b := range Blocks(text, Markdown) {
		if b.Kind == Heading && b.Level == 1 && strings.HasPrefix(strings.TrimLeft(text[b.Start:b.End], " "), "#") {
			return b.Title
		}
	}
	return ""
}
