package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"raglab/golden"
)

// judgements are those of one split by question.
type judgements struct {
	byQuestion map[string][]golden.Relevant
	order      []string // question ids as they were first met
	repeated   tally
}

// take removes and returns a question's judgements, nil when it has none.
func (j *judgements) take(question string) []golden.Relevant {
	relevant := j.byQuestion[question]
	delete(j.byQuestion, question)
	return relevant
}

// warnings tells what does not fit once all questions were taken.
func (j *judgements) warnings(split string, unjudged tally) []string {
	var strangers tally
	for _, question := range j.order {
		if _, left := j.byQuestion[question]; left {
			strangers.add(fmt.Sprintf("%q", question))
		}
	}
	in := strings.ReplaceAll(strconv.Quote(split), "%", "%%")
	return slices.Concat(
		unjudged.say("the question %s has no judgement in the split "+in+" and was left out",
			"%d questions have no judgement in the split "+in+" and were left out; the first is %s"),
		strangers.say("the split "+in+" judges the question %s, which the queries lack",
			"the split "+in+" judges %d questions that the queries lack; the first is %s"),
		j.repeated.say("the judgement of %s stands twice in the split "+in,
			"%d judgements stand twice in the split "+in+"; the first is of %s"),
	)
}

// readQrels reads judgements: tab-separated lines of a question, a document and
// a whole grade, with or without a heading line.
func readQrels(ctx context.Context, path string, r io.Reader) (*judgements, error) {
	j := &judgements{byQuestion: make(map[string][]golden.Relevant)}
	var found problems
	l := newLines(r)
	lineOf := make(map[[2]string]earlier)
	for {
		line, err := l.read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, unreadable(path, err)
		}
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if e := j.add(string(line), l, lineOf); e != nil {
			e.Path, e.Line = path, l.number
			found.add(e)
		}
	}
	if len(j.order) == 0 && !found.any() {
		found.add(&Error{Path: path, Problem: "no judgement was found"})
	}
	return j, found.err()
}

// earlier is a judgement that was met before.
type earlier struct{ line, grade int }

// add reads one line.
func (j *judgements) add(line string, l *lines, seen map[[2]string]earlier) *Error {
	if strings.TrimSpace(line) == "" {
		return nil
	}
	if at := invalidUTF8([]byte(line)); at >= 0 {
		return notUTF8("", 0, l.offset+int64(at), line[at])
	}
	fields := strings.Split(line, "\t")
	if len(fields) != 3 {
		return &Error{
			Problem: fmt.Sprintf("%d fields, where 3 were expected", len(fields)),
			Hint:    "a line holds a question's id, a document's id and a grade, separated by tabs",
		}
	}
	grade, err := strconv.Atoi(strings.TrimSpace(fields[2]))
	if err != nil {
		if l.number == 1 && len(j.order) == 0 && !numeric(fields[2]) {
			return nil // the heading
		}
		return &Error{Problem: fmt.Sprintf("the grade %q is not a whole number", fields[2])}
	}
	return j.record(fields[0], fields[1], grade, l.number, seen)
}

// record takes a judgement that stands in a line.
func (j *judgements) record(question, document string, grade, line int, seen map[[2]string]earlier) *Error {
	if question == "" || document == "" {
		return &Error{Problem: "the id of a question or document is empty"}
	}
	pair := [2]string{question, document}
	if before, twice := seen[pair]; twice {
		return j.again(pair, before, grade)
	}
	seen[pair] = earlier{line, grade}
	if j.byQuestion[question] == nil {
		j.order = append(j.order, question)
	}
	j.byQuestion[question] = append(j.byQuestion[question], golden.Relevant{Doc: document, Grade: grade})
	return nil
}

// numeric reports whether a text was meant as a number, such as 0.5.
func numeric(text string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return err == nil
}

// again judges a pair for the second time: harmless unless the grades differ.
func (j *judgements) again(pair [2]string, before earlier, grade int) *Error {
	if before.grade == grade {
		j.repeated.add(fmt.Sprintf("%q and %q", pair[0], pair[1]))
		return nil
	}
	return &Error{Problem: fmt.Sprintf("question %q and document %q have the grade %d here and %d in line %d",
		pair[0], pair[1], grade, before.grade, before.line)}
}
