package source

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// table is a file of rows that is read from its start.
type table interface {
	// next returns the next row: the text of each column that was asked for, nil for
	// a missing or null one. The slice holds until the next call. The error is
	// [io.EOF] at the end; an [*Error] about the row leaves its Path empty, and other
	// rows can be read after it.
	next() ([]*string, error)
	// line is where the row last returned stands, counted from 1, in rows where the
	// file has no lines.
	line() int
}

// want is a column that is asked for.
type want struct {
	name     string
	optional bool
}

// tableFormat tells what a file of rows is from its name, or "".
func tableFormat(name string) string {
	name = strings.ToLower(name)
	packed := strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	for _, ending := range []string{".jsonl", ".ndjson", ".json", ".csv", ".tsv"} {
		if strings.HasSuffix(packed, ending) {
			return ending[1:]
		}
	}
	if strings.HasSuffix(name, ".parquet") {
		return "parquet"
	}
	return ""
}

// readTable opens a member as a table and hands it to use.
func readTable(m member, wants []want, use func(at string, t table) error) error {
	format := tableFormat(m.name)
	if format == "parquet" {
		return readParquet(m, wants, use)
	}
	return m.read(func(at string, r io.Reader) error {
		t, err := newTextTable(format, r, wants)
		if err != nil {
			return inFile(at, 1, err)
		}
		return use(at, t)
	})
}

// inFile says where an error about a row is.
func inFile(at string, line int, err error) *Error {
	e := (*Error)(nil)
	if !errors.As(err, &e) {
		return unreadable(at, err)
	}
	if e.Path == "" {
		e.Path, e.Line = at, line
	}
	return e
}

func newTextTable(format string, r io.Reader, wants []want) (table, error) {
	switch format {
	case "jsonl", "ndjson", "json":
		return &jsonTable{l: newLines(r), wants: wants, row: make([]*string, len(wants))}, nil
	case "csv":
		return newCSVTable(r, wants)
	case "tsv":
		return newTSVTable(r, wants)
	}
	return nil, &Error{Problem: "is no file of rows that is known", Hint: "known are .jsonl, .csv, .tsv, each also with .gz or .zst, and .parquet"}
}

// findColumns returns the place of each wanted column among those that there are, -1
// for an optional one that is missing.
func findColumns(have []string, wants []want) ([]int, error) {
	places := make([]int, len(wants))
	for i, w := range wants {
		places[i] = slices.Index(have, w.name)
		if w.name == "" {
			places[i] = -1
		} else if places[i] < 0 && !w.optional {
			return nil, noColumn(w.name, have)
		}
	}
	return places, nil
}

func noColumn(name string, have []string) *Error {
	const shown = 20
	hint := "it has " + strings.Join(have[:min(len(have), shown)], ", ")
	if len(have) > shown {
		hint += " and others"
	}
	return &Error{Problem: fmt.Sprintf("there is no column %q", name), Hint: hint}
}

// csvTable reads comma-separated values as in RFC 4180, with a heading line.
type csvTable struct {
	r      *csv.Reader
	places []int
	row    []*string
	at     int
}

func newCSVTable(r io.Reader, wants []want) (*csvTable, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if mark, err := in.Peek(len(byteOrderMark)); err == nil && bytes.Equal(mark, byteOrderMark) {
		if _, err := in.Discard(len(mark)); err != nil {
			return nil, err
		}
	}
	t := &csvTable{r: csv.NewReader(in), row: make([]*string, len(wants))}
	heading, err := t.r.Read()
	if errors.Is(err, io.EOF) {
		return nil, &Error{Problem: "is empty, where a line with the names of the columns was expected"}
	}
	if err != nil {
		return nil, csvProblem(err)
	}
	t.r.ReuseRecord = true
	t.places, err = findColumns(heading, wants)
	return t, err
}

func csvProblem(err error) error {
	if pe := (*csv.ParseError)(nil); errors.As(err, &pe) {
		return &Error{Problem: fmt.Sprintf("not CSV in column %d: %v", pe.Column, pe.Err), Hint: "the lines before are well formed", Err: err}
	}
	return err
}

func (t *csvTable) next() ([]*string, error) {
	record, err := t.r.Read()
	if err != nil {
		if pe := (*csv.ParseError)(nil); errors.As(err, &pe) {
			t.at = pe.StartLine
		}
		return nil, csvProblem(err)
	}
	t.at, _ = t.r.FieldPos(0)
	for i, p := range t.places {
		t.row[i] = nil
		if p >= 0 {
			text := record[p]
			t.row[i] = &text
		}
	}
	return t.row, nil
}

func (t *csvTable) line() int { return t.at }

// tsvTable reads lines of values separated by tabs, with a heading line. Nothing is
// quoted.
type tsvTable struct {
	l       *lines
	columns int
	places  []int
	row     []*string
}

func newTSVTable(r io.Reader, wants []want) (*tsvTable, error) {
	t := &tsvTable{l: newLines(r), row: make([]*string, len(wants))}
	line, err := t.l.read()
	if errors.Is(err, io.EOF) {
		return nil, &Error{Problem: "is empty, where a line with the names of the columns was expected"}
	}
	if err != nil {
		return nil, err
	}
	heading := strings.Split(string(line), "\t")
	t.columns = len(heading)
	t.places, err = findColumns(heading, wants)
	return t, err
}

func (t *tsvTable) next() ([]*string, error) {
	line, err := t.l.read()
	for err == nil && blank(line) && t.columns > 1 {
		line, err = t.l.read()
	}
	if err != nil {
		return nil, err
	}
	fields := strings.Split(string(line), "\t")
	if len(fields) != t.columns {
		return nil, &Error{Problem: fmt.Sprintf("%d fields, where the first line has %d", len(fields), t.columns)}
	}
	for i, p := range t.places {
		t.row[i] = nil
		if p >= 0 {
			t.row[i] = &fields[p]
		}
	}
	return t.row, nil
}

func (t *tsvTable) line() int { return t.l.number }

// jsonTable reads one JSON object a line. A name with dots leads into objects, a list
// of strings is joined by line ends.
type jsonTable struct {
	l     *lines
	scan  scanner
	wants []want
	row   []*string
	found []bool
}

func (t *jsonTable) line() int { return t.l.number }

func (t *jsonTable) next() ([]*string, error) {
	line, err := t.l.read()
	for err == nil && blank(line) {
		line, err = t.l.read()
	}
	if err != nil {
		return nil, err
	}
	if at := invalidUTF8(line); at >= 0 {
		return nil, notUTF8("", 0, t.l.offset+int64(at), line[at])
	}
	clear(t.row)
	t.found = make([]bool, len(t.wants))
	var names []string
	err = t.scan.object(line, func(key []byte, v value) error {
		names = append(names, string(key))
		return t.field(string(key), v)
	})
	if err != nil {
		return nil, problemOf(err)
	}
	for i, w := range t.wants {
		if !t.found[i] && !w.optional && w.name != "" {
			return nil, noColumn(w.name, names)
		}
	}
	return t.row, nil
}

func (t *jsonTable) field(key string, v value) error {
	for i, w := range t.wants {
		rest, inside := strings.CutPrefix(w.name, key+".")
		if w.name != key && (!inside || v.sort != '{') {
			continue
		}
		if t.found[i] {
			return &Error{Problem: fmt.Sprintf("the field %q stands twice in one object", key)}
		}
		t.found[i] = true
		text, err := cellText(v, w.name, rest, inside && w.name != key)
		if err != nil {
			return err
		}
		t.row[i] = text
	}
	return nil
}

// cellText makes a value into a text; rest leads into an object.
func cellText(v value, name, rest string, inside bool) (*string, error) {
	switch v.sort {
	case 'n':
		return nil, nil
	case '"':
		text, err := v.text()
		return &text, err
	case '[', '{':
		var decoded any
		dec := json.NewDecoder(bytes.NewReader(v.raw))
		dec.UseNumber()
		if err := dec.Decode(&decoded); err != nil {
			return nil, err
		}
		if inside {
			for part := range strings.SplitSeq(rest, ".") {
				object, ok := decoded.(map[string]any)
				if !ok {
					return nil, &Error{Problem: fmt.Sprintf("the field %q leads into no object", name)}
				}
				decoded = object[part]
			}
		}
		return decodedText(decoded, name)
	}
	text := string(v.raw) // a number, true or false
	return &text, nil
}

func decodedText(decoded any, name string) (*string, error) {
	switch d := decoded.(type) {
	case nil:
		return nil, nil
	case string:
		return &d, nil
	case json.Number, bool:
		text := fmt.Sprint(d)
		return &text, nil
	case []any:
		var parts []string
		for _, e := range d {
			switch text, ok := e.(string); {
			case ok:
				parts = append(parts, text)
			case e != nil:
				return nil, &Error{Problem: fmt.Sprintf("the field %q is a list that holds something else than strings", name)}
			}
		}
		text := strings.Join(parts, "\n")
		return &text, nil
	}
	return nil, &Error{Problem: fmt.Sprintf("the field %q is an object", name), Hint: "name a field in it, as " + name + ".text"}
}
