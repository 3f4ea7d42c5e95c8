package chunker

import (
	"raglab/axes"
	"raglab/internal/markdown"
)

// Where a document's title goes.
const (
	titleContent = "content" // it is cut as the text's first line
	titleHeading = "heading" // it is every chunk's heading
	titleDrop    = "drop"
)

// Whether headings stay in the text.
const (
	headingsKeep = "keep"
	headingsDrop = "drop"
)

// layout says what of a document's content is cut and as what.
type layout struct {
	title, headings, collapse string
	syntax                    markdown.Syntax // of headings that are dropped
	most                      int             // the longest chunk
}

// open makes the view of a document and where its body begins there, which is 0
// unless a title stands before it.
func (l layout) open(doc axes.Document) (v view, body int) {
	content := doc.Content()
	start := bodyStart(doc, content)
	from := start
	if l.title == titleContent {
		from = 0
	}
	keep := []Span{{Start: from, End: len(content)}}
	if l.headings == headingsDrop {
		keep = withoutHeadings(content, from, start, l.syntax)
	}
	v = newView(content, keep, l.collapse)
	if start > from {
		body = v.place(start)
	}
	return v, body
}

// withoutHeadings are the parts of a content between its headings.
func withoutHeadings(content string, from, start int, syntax markdown.Syntax) []Span {
	var keep []Span
	for _, b := range markdown.Blocks(content[start:], syntax) {
		if b.Kind != markdown.Heading {
			continue
		}
		keep = append(keep, Span{Start: from, End: start + b.Start})
		from = start + b.End
	}
	return append(keep, Span{Start: from, End: len(content)})
}

// heading is what each chunk of a document is headed by.
func (l layout) heading(doc axes.Document) string {
	if l.title == titleHeading {
		return doc.Title
	}
	return ""
}

// finish returns the chunks. A document of which nothing but its title was to
// be cut is found by that title, unless titles are dropped.
func (l layout) finish(e *emitter, m measure) ([]axes.Chunk, error) {
	_, text := trim(e.view.text, Span{End: len(e.view.text)})
	if len(e.chunks) > 0 || text || l.title != titleHeading {
		return e.chunks, nil
	}
	return l.titleChunks(e.doc, m)
}

// titleChunks cuts a document's title alone.
func (l layout) titleChunks(doc axes.Document, m measure) ([]axes.Chunk, error) {
	content := doc.Content()
	v := newView(content, []Span{{End: bodyStart(doc, content)}}, collapseNone)
	r, err := m.ruler(v.text, false)
	if err != nil {
		return nil, err
	}
	e := emitter{doc: doc, view: v, ruler: r}
	for _, u := range splitLong(v.text, r, Span{End: len(v.text)}, l.most) {
		e.add(u.Span, "")
	}
	return e.chunks, nil
}
