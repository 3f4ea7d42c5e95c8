package chunker

import (
	"slices"
	"strings"

	"raglab/internal/markdown"
)

// section is what stands under one heading, or under several put together.
type section struct {
	Span
	// path is that of the headings above, the document's title first.
	path []string
	// Of the first of the sections put together: where its heading begins, and
	// how long its path is, with and without that heading.
	line           int
	depth, parents int
}

// sections are those of a text whose body begins after its title. Those with
// nothing in them are left out, save that the heading alone is one where it would
// be lost.
func sections(text string, body int, title string, syntax markdown.Syntax, heading string) []section {
	w := outline{text: text, heading: heading, kept: -1}
	if title != "" {
		w.root = []string{title}
	}
	w.open(0, body, w.root)
	for _, b := range markdown.Blocks(text[body:], syntax) {
		if b.Kind != markdown.Heading {
			continue
		}
		w.close(body+b.Start, w.depth(b.Level))
		parent := w.pathOf(w.stack[:w.depth(b.Level)], title)
		w.stack = append(w.stack[:w.depth(b.Level)], b)
		w.open(body+b.Start, body+b.End, w.pathOf(w.stack, title))
		if w.parent = parent; len(w.stack) == 1 && w.repeats(b, title) {
			w.parent = nil
		}
	}
	w.close(len(text), 0)
	return w.parts
}

// outline walks through the headings of a text.
type outline struct {
	text, heading string
	root          []string
	stack         []markdown.Block // the headings that are open, from the top down
	parts         []section
	// The section at hand: where its heading and its body begin, and its path.
	line, body int
	path       []string
	parent     []string // the path without its own heading
	// kept is where headings that nothing stands under began, which go with
	// what follows them when headings are kept; -1 if there are none.
	kept int
}

func (w *outline) open(line, body int, path []string) {
	w.line, w.body, w.path = line, body, path
}

// depth is how many open headings a new one of a level stands under.
func (w *outline) depth(level int) int {
	n := len(w.stack)
	if w.heading == headingPath {
		return min(n, level-1)
	}
	for n > 0 && w.stack[n-1].Level >= level {
		n--
	}
	return n
}

// pathOf is the path that open headings make below the document's title. One of
// the first level that repeats the title adds nothing to it.
func (w *outline) pathOf(stack []markdown.Block, title string) []string {
	path := slices.Clone(w.root)
	for i, h := range stack {
		if h.Title == "" || i == 0 && w.repeats(h, title) {
			continue
		}
		path = append(path, h.Title)
	}
	return path
}

// repeats reports whether a heading says the document's title again.
func (w *outline) repeats(h markdown.Block, title string) bool {
	return w.heading != headingPath && h.Level == 1 && h.Title == title
}

// close ends the section at hand; depth is that of the heading that follows it.
func (w *outline) close(end, depth int) {
	body, some := trim(w.text, Span{Start: w.body, End: end})
	line, hasLine := trim(w.text, Span{Start: w.line, End: w.body})
	s := section{Span: body, path: w.path, line: w.line, depth: len(w.path), parents: len(w.parent)}
	switch {
	case w.heading == headingKeep:
		w.closeKept(s, some, end == len(w.text))
		return
	case some:
		w.parts = append(w.parts, s)
	case hasLine && w.heading == headingPrepend && w.bare(depth, end):
		s.Span = line
		s.path = w.parent
		w.parts = append(w.parts, s)
	}
}

// bare reports whether no section below the one at hand will carry its heading.
func (w *outline) bare(depth, end int) bool {
	return end == len(w.text) || len(w.stack) > 0 && depth < len(w.stack)
}

// closeKept ends a section whose heading stays in the text.
func (w *outline) closeKept(s section, some, last bool) {
	start := w.line
	if w.kept >= 0 {
		start = w.kept
	}
	whole, any := trim(w.text, Span{Start: start, End: max(w.body, s.End)})
	if !any {
		return
	}
	if !some && !last {
		w.kept = start
		return
	}
	w.kept = -1
	s.Span, s.line = whole, whole.Start
	w.parts = append(w.parts, s)
}

// with puts two sections together, the second one's heading between them, and
// the first one's before them where the two do not share it. It refuses where
// more than the last heading of the first would be lost.
func (s section) with(next section, heading string) (section, bool) {
	n := shared(s.path, next.path)
	if n < s.parents {
		return s, false
	}
	both := s
	both.path = s.path[:n]
	both.End = next.End
	if prepends(heading) && n < s.depth {
		both.Start = s.line
	}
	return both, true
}

// shared is the length of the common beginning of two paths.
func shared(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// heading is what a chunk of the section is headed by.
func (s section) heading(mode string) string {
	if !prepends(mode) {
		return ""
	}
	return strings.Join(s.path, " > ")
}

// prepends reports whether chunks carry the path of headings.
func prepends(mode string) bool { return mode == headingPrepend || mode == headingPath }
