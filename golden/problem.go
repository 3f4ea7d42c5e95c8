package golden

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is what is wrong with one question or line. File and Line may be
// missing where a set comes from no file, Question where a line has no id.
type Problem struct {
	File     string
	Line     int // from 1; 0 for the file as a whole
	Question string
	// Summary says what is wrong, Detail what was expected or what to do.
	Summary string
	Detail  string
}

// String shows the problem on one line.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ":")
		if p.Line > 0 {
			fmt.Fprintf(&b, "%d:", p.Line)
		}
		b.WriteByte(' ')
	}
	if p.Question != "" {
		fmt.Fprintf(&b, "question %s: ", p.Question)
	}
	b.WriteString(p.Summary)
	if p.Detail != "" {
		b.WriteString("; " + p.Detail)
	}
	return b.String()
}

// Problems is an error: all that is wrong with a set, in the order of the file.
type Problems []Problem

// maxShown bounds what a file of the wrong kind prints.
const maxShown = 50

// Error lists the problems, one a line, up to a limit.
func (ps Problems) Error() string {
	lines := make([]string, 0, min(len(ps), maxShown)+1)
	for _, p := range ps[:min(len(ps), maxShown)] {
		lines = append(lines, p.String())
	}
	if more := len(ps) - maxShown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// err returns the problems as an error, nil when there are none.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return ps
}

// problem makes one about the question.
func (q Question) problem(detail, summary string, args ...any) Problem {
	return Problem{File: q.Pos.File, Line: q.Pos.Line, Question: q.ID, Summary: fmt.Sprintf(summary, args...), Detail: detail}
}
