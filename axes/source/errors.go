package source

import (
	"fmt"
	"strings"
)

// Error is one thing wrong with the input of a source.
type Error struct {
	// Path is the file, as the source was given it; Line counts from 1 and is
	// 0 where the file as a whole is meant.
	Path string
	Line int
	// Problem says what was found, Hint what to do about it (may be empty).
	Problem, Hint string
	// Err is the cause, where there is one, such as an [io/fs.PathError].
	Err error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Path)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	b.WriteString(e.Problem)
	if e.Hint != "" {
		b.WriteString("; ")
		b.WriteString(e.Hint)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errors is what a source found wrong with the content of its input, in the
// order it was met. A file that cannot be read at all, or changes, is reported
// as an [*Error] alone; [errors.As] finds an [*Error] in both.
type Errors struct {
	// List holds at least one error and at most [MaxErrors].
	List []*Error
	// More counts those beyond the list.
	More int
}

// MaxErrors is how many errors of one input are kept in full.
const MaxErrors = 20

func (e *Errors) Error() string {
	lines := make([]string, 0, len(e.List)+1)
	for _, one := range e.List {
		lines = append(lines, one.Error())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors of the list.
func (e *Errors) Unwrap() []error {
	all := make([]error, len(e.List))
	for i, one := range e.List {
		all[i] = one
	}
	return all
}

// problems collects errors up to the limit and counts the rest.
type problems struct{ found Errors }

func (p *problems) add(e *Error) {
	if len(p.found.List) == MaxErrors {
		p.found.More++
		return
	}
	p.found.List = append(p.found.List, e)
}

func (p *problems) any() bool { return len(p.found.List) > 0 }

// err returns what was collected, or nil.
func (p *problems) err() error {
	if !p.any() {
		return nil
	}
	return &p.found
}
