package chunker

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"raglab/axes"
	"raglab/axes/chunker/segment"
)

// How much white space a view keeps.
const (
	collapseNone   = "none"
	collapseBlanks = "blanks" // a run of blanks and tabs becomes one blank
	collapseAll    = "all"    // a run of any white space does
	collapseStops  = "stops"  // as blanks, and any white space after a stop does
)

// view is a document's content without the parts that a chunker leaves out. It
// remembers where its text comes from.
type view struct {
	text   string
	pieces []piece // in order; at least one
}

// piece says that the text from at on, up to the next piece, is the content from
// source on. A blank that stands for what was left out ends a piece.
type piece struct{ at, source int }

// start is the content's offset of the character that begins at i.
func (v view) start(i int) int {
	p := v.pieces[sort.Search(len(v.pieces), func(k int) bool { return v.pieces[k].at > i })-1]
	return p.source + i - p.at
}

// end is the content's offset after the character that ends at i.
func (v view) end(i int) int { return v.start(i-1) + 1 }

// place is the first offset in the view that comes from the content's offset or
// from after it.
func (v view) place(source int) int {
	k := sort.Search(len(v.pieces), func(k int) bool { return v.pieces[k].source > source })
	if k == 0 {
		return 0
	}
	next := len(v.text)
	if k < len(v.pieces) {
		next = v.pieces[k].at
	}
	return min(v.pieces[k-1].at+source-v.pieces[k-1].source, next)
}

// newView keeps parts of the content, with a blank in place of what is between
// them, and collapses white space.
func newView(content string, keep []Span, collapse string) view {
	if len(keep) == 0 {
		return view{pieces: []piece{{}}}
	}
	if len(keep) == 1 && (collapse == collapseNone || nextRun(content, keep[0].Start, keep[0].End, collapse).End == 0) {
		s := keep[0]
		return view{text: content[s.Start:s.End], pieces: []piece{{0, s.Start}}}
	}
	b := viewBuilder{content: content, collapse: collapse}
	for i, s := range keep {
		if i > 0 {
			b.blank()
		}
		b.add(s)
	}
	return view{text: b.out.String(), pieces: b.pieces}
}

type viewBuilder struct {
	content, collapse string
	out               strings.Builder
	pieces            []piece
	spaced            bool // the text so far ends in a blank
	stopped           bool // what stands before that blank, if any, is a stop
}

// blank puts one blank for what is left out; where white space is collapsed,
// only if there is none already.
func (b *viewBuilder) blank() {
	if b.spaced && b.collapse != collapseNone {
		return
	}
	b.out.WriteByte(' ')
	b.spaced = true
}

func (b *viewBuilder) piece(from, to int) {
	if from == to {
		return
	}
	b.pieces = append(b.pieces, piece{b.out.Len(), from})
	b.out.WriteString(b.content[from:to])
	b.spaced = b.content[to-1] == ' '
	if text := strings.TrimRight(b.content[from:to], " "); text != "" {
		b.stopped = stop(text[len(text)-1])
	}
}

func (b *viewBuilder) add(s Span) {
	at := s.Start
	if b.collapse != collapseNone {
		switch {
		case b.collapse == collapseStops && b.stopped && b.spaced:
			n, _ := spaceRun(b.content[at:s.End], collapseAll)
			at += n
		case b.spaced && at < s.End && b.content[at] == ' ':
			at++
		}
		for run := nextRun(b.content, at, s.End, b.collapse); run.End > 0; run = nextRun(b.content, at, s.End, b.collapse) {
			b.piece(at, run.Start)
			b.blank()
			at = run.End
		}
	}
	b.piece(at, s.End)
	if len(b.pieces) == 0 {
		b.pieces = append(b.pieces, piece{0, at})
	}
}

// nextRun finds the next run of white space that is not one blank already; its
// End is 0 if there is none.
func nextRun(content string, from, to int, collapse string) Span {
	stops := collapse == collapseStops
	for i := from; i < to; {
		if stops {
			collapse = runAt(content, from, i)
		}
		n, r := spaceRun(content[i:to], collapse)
		if n == 0 {
			i += r
			continue
		}
		if n > 1 || content[i] != ' ' {
			return Span{Start: i, End: i + n}
		}
		i += n
	}
	return Span{}
}

// runAt is which white space makes a run at a place, with stops.
func runAt(content string, from, i int) string {
	if i > from && stop(content[i-1]) {
		return collapseAll
	}
	return collapseBlanks
}

// stop reports whether a byte is one of the stops of the rules punctuation.
func stop(c byte) bool { return c == '.' || c == '!' || c == '?' }

// spaceRun returns the length of the run of white space that the text begins
// with; if there is none, also that of its first character.
func spaceRun(text, collapse string) (run, first int) {
	if collapse == collapseBlanks {
		for run < len(text) && (text[run] == ' ' || text[run] == '\t') {
			run++
		}
		return run, 1
	}
	for run < len(text) {
		if c := text[run]; c < utf8.RuneSelf {
			if c != ' ' && (c < '\t' || c > '\r') {
				return run, 1
			}
			run++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[run:])
		if !unicode.IsSpace(r) {
			return run, n
		}
		run += n
	}
	return run, 0
}

// trim narrows a span by the white space at its ends.
func trim(text string, s Span) (Span, bool) { return segment.Trim(text, s) }

// bodyStart returns where a document's text begins in its content, after its
// title, whether that stands on a line of its own or opens the text as a heading.
func bodyStart(doc axes.Document, content string) int {
	switch {
	case doc.Title == "":
		return 0
	case len(content) > len(doc.Text):
		return len(doc.Title) + 1
	}
	opening := len(content) - len(strings.TrimLeft(content, "\n\r \t"))
	if n := strings.IndexByte(content[opening:], '\n'); n >= 0 {
		return opening + n + 1
	}
	return len(content)
}

// emitter makes chunks of one document.
type emitter struct {
	doc    axes.Document
	view   view
	ruler  ruler // nil if lengths are not counted
	chunks []axes.Chunk
}

// add makes a chunk of a part of the view, unless it is white space.
func (e *emitter) add(s Span, heading string) {
	s, ok := trim(e.view.text, s)
	if !ok {
		return
	}
	c := axes.Chunk{
		Doc: e.doc.ID, N: len(e.chunks), Start: e.view.start(s.Start), End: e.view.end(s.End),
		Text: e.view.text[s.Start:s.End], Heading: heading,
	}
	if e.ruler != nil {
		c.Tokens = e.ruler.length(s.Start, s.End)
	}
	e.chunks = append(e.chunks, c)
}
