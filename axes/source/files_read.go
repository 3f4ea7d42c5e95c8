package source

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"raglab/axes"
	"raglab/internal/html"
	"raglab/internal/markdown"
)

// The formats of a document.
const (
	formatText     = "text"
	formatMarkdown = "markdown"
	formatHTML     = "html"
)

// readFile reads one file as a document. It reports false when there is a
// problem, which it has then added to the gate's list.
func readFile(f found, g *gate) (axes.Document, bool) {
	raw, err := os.ReadFile(f.path)
	if err != nil {
		g.add(unreadable(f.path, err))
		return axes.Document{}, false
	}
	if err := unchanged(f.path, f.info); err != nil {
		g.add(asError(f.path, err))
		return axes.Document{}, false
	}
	return documentOf(f.name, f.path, raw, g)
}

// documentOf makes the content of a file into a document. It reports false when there
// is a problem, which it has then added to the gate's list.
func documentOf(name, path string, raw []byte, g *gate) (axes.Document, bool) {
	if bytes.HasPrefix(raw, byteOrderMark) {
		g.notes.marks.add(path)
	}
	if e := checkText(path, raw); e != nil {
		g.add(e)
		return axes.Document{}, false
	}
	doc, err := document(name, string(bytes.TrimPrefix(raw, byteOrderMark)))
	if err != nil {
		g.add(asError(path, err))
		return axes.Document{}, false
	}
	return doc, true
}

// asError gives any error the shape of one about the file.
func asError(path string, err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	e := &Error{Path: path, Problem: err.Error(), Err: err}
	if front := (*markdown.FrontMatterError)(nil); errors.As(err, &front) {
		e.Line = front.Line
	}
	return e
}

// checkText reports bytes that no text file holds.
func checkText(path string, raw []byte) *Error {
	if at := invalidUTF8(raw); at >= 0 {
		e := notUTF8(path, 1+bytes.Count(raw[:at], []byte("\n")), int64(at), raw[at])
		if bytes.HasPrefix(raw, []byte{0xFF, 0xFE}) || bytes.HasPrefix(raw, []byte{0xFE, 0xFF}) {
			e.Hint = "the file looks like UTF-16: convert it, for example with iconv -f UTF-16 -t UTF-8"
		}
		return e
	}
	if at := bytes.IndexByte(raw, 0); at >= 0 {
		return &Error{
			Path: path, Line: 1 + bytes.Count(raw[:at], []byte("\n")),
			Problem: fmt.Sprintf("holds a NUL byte at offset %d, so it is not a text file", at),
			Hint:    "leave it out with exclude, or convert it to UTF-8 if it is UTF-16",
		}
	}
	return nil
}

// document makes a file's text into a document.
func document(name, text string) (axes.Document, error) {
	format, _ := formatOf(name)
	doc := axes.Document{ID: strings.TrimSuffix(name, path.Ext(name)), Text: text, Format: format}
	switch format {
	case formatMarkdown:
		err := fillMarkdown(&doc, text)
		return doc, err
	case formatHTML:
		page, err := html.Reduce(strings.NewReader(text))
		doc.Title, doc.Text = page.Title, page.Text
		return doc, err
	}
	return doc, nil
}

// fillMarkdown takes the front matter off and finds the title.
func fillMarkdown(doc *axes.Document, text string) error {
	fields, body, err := markdown.FrontMatter(text)
	if err != nil {
		return err
	}
	doc.Text = body
	for name, value := range fields {
		switch name {
		case "title":
			doc.Title = strings.TrimSpace(value)
		case "id":
			doc.ID = value
		default:
			if doc.Meta == nil {
				doc.Meta = make(map[string]string, len(fields))
			}
			doc.Meta[name] = value
		}
	}
	if doc.Title == "" {
		doc.Title = markdown.FirstHeading(body)
	}
	return nil
}
