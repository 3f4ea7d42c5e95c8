package trec

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Judgement is the grade that a document has for a question: above 0 relevant, 0
// judged and not relevant, below 0 in the pool but not judged, as trec_eval has
// it.
type Judgement struct {
	Doc   string
	Grade int32
	Line  int // in its file, 0 when it comes from none
}

// Judgements are those of one question, in file order, each document once.
type Judgements struct {
	Question string
	Docs     []Judgement
}

// Qrels is a file of judgements, in the order in which it first names the
// questions.
type Qrels struct {
	File      string
	Questions []Judgements
	Warnings  []Problem
}

const (
	trecForm = `"question 0 document grade"`
	beirForm = `"question document grade" separated by tabs`
)

// ParseQrels reads judgements in TREC's or BEIR's form; the first line tells
// which. Ids in BEIR's form may hold blanks and are never unescaped. The name
// stands in problems; the result refers to text. A bad file gives [Problems].
func ParseQrels(name, text string) (*Qrels, error) {
	s := newScanner(name, text)
	q := &Qrels{File: name}
	g := newGrouper[Judgement](text)
	parse := qrelsForm(s)
	for line, ok := s.next(); ok && parse != nil; line, ok = s.next() {
		if question, j, ok := parse(s, line); ok {
			j.Line = s.line
			g.add(question, j)
		}
	}
	g.flush()
	for _, group := range g.groups {
		q.Questions = append(q.Questions, Judgements{group.question, group.items})
	}
	q.checkTwice(s)
	var err error
	if q.Warnings, err = s.finish(); err != nil {
		return nil, err
	}
	return q, nil
}

type qrelsLine func(s *scanner, line string) (question string, j Judgement, ok bool)

// qrelsForm looks at the first line, and takes it off when it is a header. It
// returns nil for a file that it refuses.
func qrelsForm(s *scanner) qrelsLine {
	ahead := *s
	line, ok := ahead.next()
	if !ok {
		return trecLine
	}
	var none [0]string
	tabs, n := strings.Count(line, "\t"), fields(line, none[:])
	switch {
	case strings.HasPrefix(line, "query-id\t"):
		*s = ahead
		return beirLine
	case tabs == 2 && n == 4:
		ahead.fail(`two tabs and four words: this may be %s or %s; put the header "query-id\tcorpus-id\tscore" on top if it is the second`, trecForm, beirForm)
		*s = ahead
		return nil
	case tabs == 2:
		return beirLine
	}
	return trecLine
}

func trecLine(s *scanner, line string) (question string, j Judgement, ok bool) {
	var f [4]string
	if n := fields(line, f[:]); n != len(f) {
		s.fail("%d fields; a qrels line has 4: %s", n, trecForm)
		return "", j, false
	}
	if question, ok = s.id(f[0]); !ok {
		return "", j, false
	}
	if j.Doc, ok = s.id(f[2]); !ok {
		return "", j, false
	}
	j.Grade, ok = s.grade(f[3])
	return question, j, ok
}

func beirLine(s *scanner, line string) (question string, j Judgement, ok bool) {
	f := strings.Split(line, "\t")
	if len(f) != 3 {
		s.fail("%d columns; a line of a BEIR qrels file has 3: %s", len(f), beirForm)
		return "", j, false
	}
	if f[0] == "" || f[1] == "" {
		s.fail("an id is empty")
		return "", j, false
	}
	j.Doc = f[1]
	j.Grade, ok = s.grade(f[2])
	return f[0], j, ok
}

func (s *scanner) grade(field string) (int32, bool) {
	g, err := strconv.ParseInt(field, 10, 32)
	if err != nil {
		s.fail("grade %q is not a whole number of 32 bits", field)
	}
	return int32(g), err == nil
}

// checkTwice reports documents that have two grades for a question, and drops
// those that have the same grade twice.
func (q *Qrels) checkTwice(s *scanner) {
	first := map[string]Judgement{}
	for i, question := range q.Questions {
		clear(first)
		kept := question.Docs[:0]
		for _, j := range question.Docs {
			before, twice := first[j.Doc]
			if !twice {
				first[j.Doc] = j
				kept = append(kept, j)
				continue
			}
			text := fmt.Sprintf("document %s is judged twice for question %s, first on line %d", j.Doc, question.Question, before.Line)
			if before.Grade == j.Grade {
				s.warnings = append(s.warnings, Problem{q.File, j.Line, text + "; dropped, since the grades are equal"})
			} else if len(s.problems) < maxProblems {
				s.problems = append(s.problems, Problem{q.File, j.Line, fmt.Sprintf("%s, with grade %d there and %d here", text, before.Grade, j.Grade)})
			}
		}
		q.Questions[i].Docs = kept
	}
	slices.SortStableFunc(s.problems, func(a, b Problem) int { return a.Line - b.Line })
}

// WriteQrels writes judgements in TREC's form.
func WriteQrels(w io.Writer, questions []Judgements) error {
	b := bufio.NewWriter(w)
	for _, q := range questions {
		id := Escape(q.Question)
		for _, j := range q.Docs {
			fmt.Fprintf(b, "%s 0 %s %d\n", id, Escape(j.Doc), j.Grade)
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write qrels: %w", err)
	}
	return nil
}

// WriteBEIR writes judgements in BEIR's form, with the header. It refuses ids
// that are empty or hold tabs or line ends, for which that form has no escape.
func WriteBEIR(w io.Writer, questions []Judgements) error {
	b := bufio.NewWriter(w)
	b.WriteString("query-id\tcorpus-id\tscore\n")
	for _, q := range questions {
		for _, j := range q.Docs {
			for _, id := range []string{q.Question, j.Doc} {
				if id == "" || strings.ContainsAny(id, "\t\r\n") {
					return fmt.Errorf("write qrels: id %q cannot stand in a file of tab-separated columns", id)
				}
			}
			fmt.Fprintf(b, "%s\t%s\t%d\n", q.Question, j.Doc, j.Grade)
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write qrels: %w", err)
	}
	return nil
}
