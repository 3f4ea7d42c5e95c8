package trec

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// Entry is one document of a ranking with the score that the file gives it.
type Entry struct {
	Doc   string
	Score float64
}

// Ranking is what a run returned for one question. Its order, not its scores, is
// what metrics read.
type Ranking struct {
	Question string
	Entries  []Entry
}

// Run is a run file: a ranking for each question, in the order in which the file
// first names the questions, the entries of each in the order of the file.
//
// A file does not say which order it means. Where raglab wrote it, the file's
// order is the ranking; [Run.CheckOrder] confirms that the scores agree. A
// foreign run is ranked as trec_eval ranks it by [Run.SortByScore].
type Run struct {
	File     string
	Rankings []Ranking
	Warnings []Problem
	text     string
}

const runForm = `"question Q0 document rank score tag"`

// ParseRun reads a run. The name stands in problems; the result refers to text.
// A bad file gives [Problems].
func ParseRun(name, text string) (*Run, error) {
	s := newScanner(name, text)
	r := &Run{File: name, text: text}
	g := newGrouper[Entry](text)
	for line, ok := s.next(); ok; line, ok = s.next() {
		question, entry, ok := runLine(s, line)
		if ok {
			g.add(question, entry)
		}
	}
	var err error
	if r.Warnings, err = s.finish(); err != nil {
		return nil, err
	}
	g.flush()
	r.Rankings = make([]Ranking, len(g.groups))
	for i, group := range g.groups {
		r.Rankings[i] = Ranking{Question: group.question, Entries: group.items}
	}
	return r, nil
}

func runLine(s *scanner, line string) (question string, e Entry, ok bool) {
	var f [6]string
	if n := fields(line, f[:]); n != len(f) {
		s.fail("%d fields; a run line has 6: %s", n, runForm)
		return "", e, false
	}
	question, ok = s.id(f[0])
	if !ok {
		return "", e, false
	}
	if e.Doc, ok = s.id(f[2]); !ok {
		return "", e, false
	}
	if !digits(f[3]) {
		s.fail("rank %q is not a whole number", f[3])
		return "", e, false
	}
	if e.Score, ok = score(f[4]); !ok {
		s.fail("score %q is not a finite number", f[4])
		return "", e, false
	}
	return question, e, true
}

// score reads a finite number. Short decimals, which scores mostly are, need no
// more than one division: both operands are exact, so the quotient is rounded
// correctly (Clinger, PLDI 1990).
func score(field string) (value float64, ok bool) {
	digits, negative := field, false
	if digits[0] == '-' {
		digits, negative = digits[1:], true
	}
	whole, point, seen := uint64(0), len(digits)-1, false
	for i := range len(digits) {
		switch c := digits[i]; {
		case '0' <= c && c <= '9':
			whole = whole*10 + uint64(c-'0')
		case c == '.' && !seen:
			point, seen = i, true
		default:
			return longScore(field)
		}
	}
	if len(digits) < 2 || len(digits) > 16 {
		return longScore(field)
	}
	value = float64(whole) / powersOfTen[len(digits)-1-point]
	if negative {
		value = -value
	}
	return value, true
}

var powersOfTen = [16]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

func longScore(field string) (value float64, ok bool) {
	value, err := strconv.ParseFloat(field, 64)
	return value, err == nil && !math.IsNaN(value) && !math.IsInf(value, 0)
}

// id undoes the escape of a field.
func (s *scanner) id(field string) (string, bool) {
	if field[0] != '%' {
		return field, true
	}
	id, err := Unescape(field)
	if err != nil {
		s.fail("%v", err)
	}
	return id, err == nil
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// SortByScore orders every ranking as trec_eval does, whatever the file's order
// and ranks: by score, highest first, equal scores by document id in descending
// byte order. Scores are compared as float64.
func (r *Run) SortByScore() {
	for _, ranking := range r.Rankings {
		if slices.IsSortedFunc(ranking.Entries, byScore) {
			continue
		}
		slices.SortFunc(ranking.Entries, byScore)
	}
}

func byScore(a, b Entry) int {
	if a.Score != b.Score {
		return cmp.Compare(b.Score, a.Score)
	}
	return cmp.Compare(b.Doc, a.Doc)
}

// CheckOrder returns an error when the order of a ranking in the file cannot be
// the ranking meant, because a score rises.
func (r *Run) CheckOrder() error {
	for _, ranking := range r.Rankings {
		for i := 1; i < len(ranking.Entries); i++ {
			before, e := ranking.Entries[i-1], ranking.Entries[i]
			if e.Score > before.Score {
				return fmt.Errorf("%s: question %s: document %s (score %v) stands below %s (score %v): the file's order is not the ranking; read it by its scores",
					r.File, ranking.Question, e.Doc, e.Score, before.Doc, before.Score)
			}
		}
	}
	return nil
}

// Lines returns the numbers of the lines that rank a document for a question,
// for use in messages. It reads the file's text again.
func (r *Run) Lines(question, doc string) []int {
	s := newScanner(r.File, r.text)
	var lines []int
	for line, ok := s.next(); ok; line, ok = s.next() {
		if q, e, ok := runLine(s, line); ok && q == question && e.Doc == doc {
			lines = append(lines, s.line)
		}
	}
	return lines
}

// RunWriter writes a run. Scores are derived from ranks, from the number of
// documents down to 1, so that a reader that orders by score, in single
// precision too, gets the ranking back.
type RunWriter struct {
	w   *bufio.Writer
	tag string
	buf []byte
}

// NewRunWriter returns a writer of a run with a tag, which names the system.
// [RunWriter.Flush] must be called at the end.
func NewRunWriter(w io.Writer, tag string) *RunWriter {
	return &RunWriter{w: bufio.NewWriterSize(w, 1<<16), tag: Escape(tag)}
}

// Write adds the ranking of a question, best document first. A question without
// results cannot be written in this format and leaves no trace.
func (w *RunWriter) Write(question string, docs []string) error {
	question = Escape(question)
	for i, doc := range docs {
		b := append(w.buf[:0], question...)
		b = append(b, " Q0 "...)
		b = append(b, Escape(doc)...)
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(i+1), 10)
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(len(docs)-i), 10)
		b = append(b, ' ')
		b = append(b, w.tag...)
		b = append(b, '\n')
		w.buf = b
		if _, err := w.w.Write(b); err != nil {
			return fmt.Errorf("write run: %w", err)
		}
	}
	return nil
}

// Flush writes what is buffered.
func (w *RunWriter) Flush() error {
	if err := w.w.Flush(); err != nil {
		return fmt.Errorf("write run: %w", err)
	}
	return nil
}
