package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"raglab/axes"
	"raglab/golden"
)

// eachRow calls use for the rows of a table until it returns false. What is wrong
// with a row is added to found, and those after it are read.
func eachRow(ctx context.Context, at string, t table, found *problems, use func(row []*string) bool) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		row, err := t.next()
		switch e := (*Error)(nil); {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &e) && e.Path == "":
			found.add(inFile(at, t.line(), err))
		case err != nil:
			return unreadable(at, err)
		case !use(row):
			return nil
		}
	}
}

// checkedRow drops a byte order mark that hides in a text's front, and reports what is
// not valid UTF-8.
func checkedRow(doc axes.Document, at string, line int, g *gate) (axes.Document, bool) {
	for _, part := range []string{doc.ID, doc.Title, doc.Text} {
		if bad := invalidUTF8([]byte(part)); bad >= 0 {
			g.add(&Error{
				Path: at, Line: line, Problem: fmt.Sprintf("not valid UTF-8: byte 0x%02X at offset %d of a value", part[bad], bad),
			})
			return doc, false
		}
	}
	if trimmed := strings.TrimPrefix(doc.Text, string(byteOrderMark)); len(trimmed) < len(doc.Text) {
		doc.Text = trimmed
		g.notes.marks.add(fmt.Sprintf("the text of %q", doc.ID))
	}
	return doc, true
}

// judgements reads the files with judgements.
func (s *huggingFace) judgements(ctx context.Context) (*judgements, error) {
	members, err := s.fetch(ctx, qrelsOf)
	if err != nil {
		return nil, err
	}
	j := &judgements{byQuestion: make(map[string][]golden.Relevant)}
	var found problems
	seen := make(map[[2]string]earlier)
	for _, m := range members {
		var wants []want
		for _, name := range s.QrelsColumns {
			wants = append(wants, want{name, false})
		}
		err := readTable(m, wants, func(at string, t table) error {
			return eachRow(ctx, at, t, &found, func(row []*string) bool {
				if e := j.judge(textOrEmpty(row[0]), textOrEmpty(row[1]), textOrEmpty(row[2]), t.line(), seen); e != nil {
					e.Path, e.Line = at, t.line()
					found.add(e)
				}
				return true
			})
		})
		if err != nil {
			return nil, err
		}
	}
	if len(j.order) == 0 && !found.any() {
		found.add(&Error{Path: s.name(), Problem: "no judgement was found"})
	}
	return j, found.err()
}

// judge adds one judgement. A grade may be written as a number without a fraction,
// such as 1.0.
func (j *judgements) judge(question, document, grade string, line int, seen map[[2]string]earlier) *Error {
	value, err := strconv.ParseFloat(strings.TrimSpace(grade), 64)
	if err != nil || value != float64(int(value)) {
		return &Error{Problem: fmt.Sprintf("the grade %q is not a whole number", grade)}
	}
	for _, id := range []string{question, document} {
		if invalidUTF8([]byte(id)) >= 0 {
			return &Error{Problem: fmt.Sprintf("the id %q is not valid UTF-8", id)}
		}
	}
	return j.record(question, document, int(value), line, seen)
}

// readQueries reads the questions that have a judgement, and tells of those that have
// none.
func (s *huggingFace) readQueries(ctx context.Context, judged *judgements) (questions []golden.Question, unjudged tally, err error) {
	members, err := s.fetch(ctx, queriesOf)
	if err != nil {
		return nil, tally{}, err
	}
	g := newGate(emptyError, func(n int) string { return fmt.Sprintf("%s, line %d", members[n/recordsPerFile].at, n%recordsPerFile) })
	for i, m := range members {
		err := readTable(m, []want{{s.QueryID, false}, {s.QueryText, false}}, func(at string, t table) error {
			return eachRow(ctx, at, t, &g.problems, func(row []*string) bool {
				doc := axes.Document{ID: textOrEmpty(row[0]), Text: textOrEmpty(row[1])}
				doc, ok := checkedRow(doc, at, t.line(), g)
				if !ok || !g.checkID(doc.ID, recordNumber(i, t.line()), at, t.line()) {
					return true
				}
				if strings.TrimSpace(doc.Text) == "" {
					g.add(&Error{Path: at, Line: t.line(), Problem: fmt.Sprintf("the question %q has no text", doc.ID)})
					return true
				}
				if relevant := judged.take(doc.ID); relevant != nil {
					questions = append(questions, golden.Question{ID: doc.ID, Text: doc.Text, Relevant: relevant})
				} else {
					unjudged.add(fmt.Sprintf("%q", doc.ID))
				}
				return true
			})
		})
		if err != nil {
			return nil, tally{}, err
		}
	}
	if len(questions) == 0 && !g.any() {
		g.add(&Error{Path: s.name(), Problem: "no question has a judgement", Hint: "look whether queries and judgements belong together"})
	}
	return questions, unjudged, g.err()
}
