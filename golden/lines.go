package golden

import (
	"strings"
	"unicode/utf8"
)

// lines walks over the lines of a file and gathers what is wrong or odd.
type lines struct {
	file     string
	rest     string
	line     int
	crlf     bool
	problems Problems
	warnings []Problem
}

const byteOrderMark = "\ufeff"

func newLines(file, data string) *lines {
	l := &lines{file: file, rest: data}
	if rest, ok := strings.CutPrefix(data, byteOrderMark); ok {
		l.rest = rest
		l.warnings = append(l.warnings, Problem{File: file, Line: 1, Summary: "a byte order mark was skipped"})
	}
	return l
}

// next returns the next line that is neither blank nor broken, without its end.
func (l *lines) next() (string, bool) {
	for l.rest != "" {
		l.line++
		var line string
		line, l.rest, _ = strings.Cut(l.rest, "\n")
		if cut, ok := strings.CutSuffix(line, "\r"); ok {
			line = cut
			l.warnCRLF()
		}
		switch {
		case !utf8.ValidString(line):
			l.report("save the file as UTF-8", "not valid UTF-8")
		case strings.TrimSpace(line) != "":
			return line, true
		}
	}
	return "", false
}

func (l *lines) warnCRLF() {
	if !l.crlf {
		l.warnings = append(l.warnings, Problem{File: l.file, Line: l.line, Summary: "lines end in CRLF; the carriage returns were dropped"})
	}
	l.crlf = true
}

// report notes a problem with the line.
func (l *lines) report(detail, summary string, args ...any) {
	l.problems = append(l.problems, Question{Pos: l.position()}.problem(detail, summary, args...))
}

func (l *lines) position() Position { return Position{l.file, l.line} }
