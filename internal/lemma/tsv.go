package lemma

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// shownProblems is how many wrong lines an error of [ReadTSV] lists.
const shownProblems = 10

// ReadTSV reads lines of a form, a tab and its lemma, in UTF-8; a byte order
// mark, CRLF line ends and empty lines are allowed. Forms are brought into
// normalisation form C. A form may be there twice only with the same lemma. The
// error lists the first wrong lines, one a line, each beginning with name and
// its number.
func ReadTSV(name string, file []byte) (*Dictionary, error) {
	file = bytes.TrimPrefix(file, []byte("\ufeff"))
	b := newBuilder(bytes.Count(file, []byte("\n"))+1, len(file), maxForms)
	var problems []string
	number := 0
	for line := range bytes.Lines(file) {
		number++
		if line = trimEnd(line); len(line) == 0 {
			continue
		}
		err := b.addLine(line)
		if err == nil {
			continue
		}
		if errors.Is(err, errTwice) {
			err = fmt.Errorf("%w in line %d", err, lineOf(file, line))
		}
		if len(problems) == shownProblems {
			problems = append(problems, name+": more lines are wrong")
			break
		}
		problems = append(problems, fmt.Sprintf("%s:%d: %v", name, number, err))
	}
	switch {
	case len(problems) > 0:
		return nil, errors.New(strings.Join(problems, "\n"))
	case b.d.n == 0:
		return nil, fmt.Errorf("%s: no line of a form, a tab and a lemma", name)
	}
	return b.finish(), nil
}

// errTwice says that a form has two lemmas. What follows it is where the first is.
var errTwice = errors.New("has another lemma")

// addLine adds the form and lemma of one line.
func (b *builder) addLine(line []byte) error {
	if !utf8.Valid(line) {
		return errors.New("not UTF-8")
	}
	form, lemma, ok := bytes.Cut(line, []byte("\t"))
	if tabs := bytes.Count(line, []byte("\t")); !ok || tabs != 1 {
		return fmt.Errorf("expected a form, a tab and its lemma, found %d tabs", tabs)
	}
	form = norm.NFC.Bytes(form)
	if err := checkLemma(lemma); err != nil {
		return err
	}
	added, err := b.add(form, lemma)
	if err != nil || added {
		return err
	}
	if id, _ := b.d.Lookup(form); string(b.d.Lemma(id)) != string(lemma) {
		return fmt.Errorf("form %q %w, %q,", form, errTwice, b.d.Lemma(id))
	}
	return nil
}

// lineOf returns the number of the first line that has the form of a line.
func lineOf(file, line []byte) int {
	form, _, _ := bytes.Cut(line, []byte("\t"))
	number := 0
	for other := range bytes.Lines(file) {
		number++
		f, _, _ := bytes.Cut(trimEnd(other), []byte("\t"))
		if string(norm.NFC.Bytes(f)) == string(norm.NFC.Bytes(form)) {
			break
		}
	}
	return number
}

// trimEnd cuts the end off a line.
func trimEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}
