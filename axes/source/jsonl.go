package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"raglab/axes"
	"raglab/internal/idmap"
	"raglab/internal/param"
)

// JSONLParams are the parameters of the kind jsonl.
type JSONLParams struct {
	Path   string `hcl:"path" path:"true" doc:"File with one JSON object a line; .gz and .zst are decompressed."`
	ID     string `hcl:"id" default:"_id" doc:"Field that holds a document's id: a string or a whole number."`
	Title  string `hcl:"title" default:"title" doc:"Field that holds its title; a document may lack it."`
	Text   string `hcl:"text" default:"text" doc:"Field that holds its text."`
	Format string `hcl:"format" default:"text" enum:"text|markdown" doc:"What the texts are written in."`
	Empty  string `hcl:"empty" default:"error" enum:"error|keep|skip" doc:"What becomes of a document without title and text."`
}

// JSONL is the kind of a file of documents, one JSON object a line.
func JSONL() axes.Kind[Source] {
	return axes.Define(axes.Meta{
		Name:    "jsonl",
		Version: "1",
		Summary: "Documents from a file with one JSON object a line.",
		Doc: "The corpus order is the order of the lines; blank lines are passed over. Fields other than id, title " +
			"and text are kept as metadata where they are strings, and ignored otherwise. A title or text of null counts " +
			"as empty; a text field that is not there is an error. Reading takes no more memory than the ids.",
	}, func(p JSONLParams, _ axes.Env) (Source, error) {
		if p.Path == "" {
			return nil, param.Errorf("path", "is empty")
		}
		if p.ID == "" || p.Text == "" {
			return nil, param.Errorf("text", "the names of the fields for id and text must not be empty")
		}
		return &jsonl{path: p.Path, empty: p.Empty, shape: shape{id: p.ID, title: p.Title, text: p.Text, format: p.Format}}, nil
	})
}

type jsonl struct {
	warnings
	path  string
	empty string
	shape shape
}

func (s *jsonl) Inputs(context.Context) ([]string, error) { return []string{s.path}, nil }

func (s *jsonl) Documents(ctx context.Context) iter.Seq2[axes.Document, error] {
	return func(yield func(axes.Document, error) bool) {
		in, err := open(s.path)
		if err != nil {
			yield(axes.Document{}, err)
			return
		}
		said, more, err := corpus(ctx, s.path, in, s.shape, s.empty, yield)
		err = errors.Join(err, in.Close())
		if !more {
			return
		}
		if err != nil {
			yield(axes.Document{}, err)
			return
		}
		s.setDocuments(said)
	}
}

// corpus yields the documents of a file of records. It returns what there is to
// warn of, whether the caller still wants to hear, and what was wrong.
func corpus(ctx context.Context, path string, r io.Reader, sh shape, empty string,
	yield func(axes.Document, error) bool,
) (said []string, more bool, err error) {
	g := newGate(empty, func(line int) string { return fmt.Sprintf("line %d", line) })
	more, err = g.records(ctx, 0, path, r, sh, yield)
	if err != nil || !more {
		return nil, more, err
	}
	return g.notes.warnings(), true, g.end(path, "the file holds no line with a document")
}

// recordsPerFile parts the numbers of records by file: see [recordNumber].
const recordsPerFile = 1 << 32

// recordNumber is the number of a line of one of several files. Of the 65,536th file on,
// and of lines that no memory holds the ids of, only some line is named.
func recordNumber(file, line int) int {
	return min(file*recordsPerFile+min(line, recordsPerFile-1), idmap.Most)
}

// records yields the documents of one of several files of records. It reports whether
// the caller still wants to hear.
func (g *gate) records(ctx context.Context, file int, path string, r io.Reader, sh shape, yield func(axes.Document, error) bool) (bool, error) {
	l := newLines(r)
	rd := recordReader{shape: sh, path: path}
	for {
		line, err := l.read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = context.Cause(ctx)
		} else {
			err = unreadable(path, err)
		}
		if err != nil {
			return true, err
		}
		doc, ok := rd.document(line, l, &g.problems)
		if ok && g.admit(doc, recordNumber(file, l.number), path, l.number) && !yield(doc, nil) {
			return false, nil
		}
	}
	if l.marked {
		g.notes.marks.add(path)
	}
	return true, nil
}

// shape names the fields of a record.
type shape struct{ id, title, text, format string }

// recordReader turns lines into documents.
type recordReader struct {
	shape shape
	path  string
	scan  scanner
}

// document reads one line. It reports false for a blank one and for one with a
// problem, which it has then added to the list.
func (rd *recordReader) document(line []byte, l *lines, found *problems) (axes.Document, bool) {
	doc := axes.Document{}
	if rd.shape.format != "text" {
		doc.Format = rd.shape.format
	}
	if at := invalidUTF8(line); at >= 0 {
		found.add(notUTF8(rd.path, l.number, l.offset+int64(at), line[at]))
		return doc, false
	}
	if blank(line) {
		return doc, false
	}
	if e := rd.fill(&doc, line); e != nil {
		e.Path, e.Line = rd.path, l.number
		found.add(e)
		return doc, false
	}
	return doc, true
}

func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// fill sets the document's parts from the line's fields.
func (rd *recordReader) fill(doc *axes.Document, line []byte) *Error {
	var id, title, text bool
	err := rd.scan.object(line, func(key []byte, v value) error {
		switch string(key) {
		case rd.shape.id:
			return once(&id, rd.shape.id, func() (err error) { doc.ID, err = idOf(v); return err })
		case rd.shape.text:
			return once(&text, rd.shape.text, func() (err error) { doc.Text, err = textOf(v); return err })
		case rd.shape.title:
			return once(&title, rd.shape.title, func() (err error) { doc.Title, err = textOf(v); return err })
		default:
			return keep(doc, key, v)
		}
	})
	switch {
	case err != nil:
		return problemOf(err)
	case !id:
		return rd.missing(rd.shape.id, line)
	case !text:
		return rd.missing(rd.shape.text, line)
	}
	return nil
}

// problemOf turns an error about a record into one about the file.
func problemOf(err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	return &Error{Problem: "not a JSON object: " + err.Error(), Hint: "every line must hold one object"}
}

// once calls set unless the field was there before.
func once(was *bool, name string, set func() error) error {
	if *was {
		return &Error{Problem: fmt.Sprintf("the field %q stands twice in one object", name)}
	}
	*was = true
	err := set()
	if e := (*Error)(nil); errors.As(err, &e) {
		e.Problem = fmt.Sprintf("the field %q %s", name, e.Problem)
	}
	return err
}

// idOf reads an id: a string, or a whole number as it is written.
func idOf(v value) (string, error) {
	switch {
	case v.sort == '"':
		return v.text()
	case digits(v.raw) == len(v.raw):
		return string(v.raw), nil
	default:
		return "", &Error{Problem: "must be a string", Hint: "ids are strings or whole numbers"}
	}
}

// textOf reads a string; null is the empty one.
func textOf(v value) (string, error) {
	switch v.sort {
	case '"':
		return v.text()
	case 'n':
		return "", nil
	default:
		return "", &Error{Problem: "must be a string"}
	}
}

// keep stores a string that is neither id, title nor text.
func keep(doc *axes.Document, key []byte, v value) error {
	if v.sort != '"' {
		return nil
	}
	text, err := v.text()
	if err != nil {
		return err
	}
	if doc.Meta == nil {
		doc.Meta = make(map[string]string)
	}
	if _, twice := doc.Meta[string(key)]; twice {
		return &Error{Problem: fmt.Sprintf("the field %q stands twice in one object", key)}
	}
	doc.Meta[string(key)] = text
	return nil
}

// missing says that a field is not there, and which ones are.
func (rd *recordReader) missing(name string, line []byte) *Error {
	var others []string
	// The line has been read without error once, so it is again.
	_ = rd.scan.object(line, func(key []byte, _ value) error {
		others = append(others, strconv.Quote(string(key)))
		return nil
	})
	e := &Error{Problem: fmt.Sprintf("the object has no field %q", name)}
	if len(others) > 0 {
		slices.Sort(others)
		e.Hint = "it has " + strings.Join(others, ", ")
	}
	return e
}
