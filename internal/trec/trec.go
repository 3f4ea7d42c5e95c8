// Package trec reads and writes the field's two text formats: runs, which rank
// documents for questions, and qrels, which judge them.
//
// A run line is "question Q0 document rank score tag", a qrels line "question 0
// document grade", fields separated by white space. Qrels may also be in BEIR's
// form: three columns separated by tabs, with or without the header
// "query-id corpus-id score".
//
// The readers are strict. They report every bad line, with its number, up to a
// limit, and return no partial result. What they accept although it is unusual
// (a byte order mark, CRLF line ends) they return as warnings.
//
// A field of these formats cannot be empty or hold white space. See [Escape] for
// how such ids are written.
package trec

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Problem says what is wrong with one line of a file.
type Problem struct {
	File string
	Line int // from 1; 0 for the file as a whole
	Text string
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Problems is the error of the readers: all bad lines, in file order.
type Problems []Problem

// Error lists the problems, one a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// maxProblems bounds what a file of the wrong kind can print.
const maxProblems = 50

// scanner walks over the lines of a file and gathers what is wrong with them.
type scanner struct {
	file     string
	rest     string
	line     int
	crlf     int // first line that ends in CRLF
	problems Problems
	warnings []Problem
}

const byteOrderMark = "\ufeff"

func newScanner(file, text string) *scanner {
	s := &scanner{file: file, rest: text}
	if rest, ok := strings.CutPrefix(text, byteOrderMark); ok {
		s.rest = rest
		s.warnings = append(s.warnings, Problem{file, 1, "a byte order mark was skipped"})
	}
	if !utf8.ValidString(text) {
		s.line = 1 + strings.Count(text[:firstInvalid(text)], "\n")
		s.fail("not valid UTF-8")
		s.rest = ""
	}
	return s
}

func firstInvalid(text string) int {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd") {
			return i
		}
	}
	return len(text)
}

// next returns the next line that is not blank, without its line end.
func (s *scanner) next() (line string, ok bool) {
	for s.rest != "" && len(s.problems) < maxProblems {
		s.line++
		end := strings.IndexByte(s.rest, '\n')
		if end < 0 {
			line, s.rest = s.rest, ""
		} else {
			line, s.rest = s.rest[:end], s.rest[end+1:]
		}
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
			if s.crlf == 0 {
				s.crlf = s.line
			}
		}
		if line != "" && (!space[line[0]] || strings.TrimLeft(line, blanks) != "") {
			return line, true
		}
	}
	return "", false
}

func (s *scanner) fail(format string, args ...any) {
	s.problems = append(s.problems, Problem{s.file, s.line, fmt.Sprintf(format, args...)})
}

// finish returns the warnings and the error of the whole file.
func (s *scanner) finish() ([]Problem, error) {
	if s.crlf > 0 {
		s.warnings = append(s.warnings, Problem{s.file, s.crlf, "lines end in CRLF; the carriage returns were dropped"})
	}
	if len(s.problems) == 0 {
		return s.warnings, nil
	}
	if len(s.problems) >= maxProblems && s.rest != "" {
		s.problems = append(s.problems, Problem{s.file, 0, fmt.Sprintf("reading stopped after %d bad lines", maxProblems)})
	}
	return s.warnings, s.problems
}

const blanks = " \t\v\f\r"

// space holds the white space that separates fields.
var space = [256]bool{' ': true, '\t': true, '\v': true, '\f': true, '\r': true}

// fields splits a line into at most len(dst) fields and returns how many there
// are, counting on past the end of dst.
func fields(line string, dst []string) int {
	n, i := 0, 0
	for {
		for i < len(line) && space[line[i]] {
			i++
		}
		if i == len(line) {
			return n
		}
		start := i
		for i < len(line) && !space[line[i]] {
			i++
		}
		if n < len(dst) {
			dst[n] = line[start:i]
		}
		n++
	}
}
