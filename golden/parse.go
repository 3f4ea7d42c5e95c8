package golden

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

var (
	questionFields = []string{"id", "question", "relevant", "tags"}
	relevantFields = []string{"doc", "span", "grade"}
)

// Parse reads raglab's own format. The name stands in messages. Nothing is
// corrected: what cannot be taken as it stands is an error, of type [Problems],
// which holds everything that is wrong with the file. The warnings tell what was
// left out of the texts: a byte order mark, carriage returns at line ends.
func Parse(name, data string) (set *Set, warnings []Problem, err error) {
	return parseLines(name, data, (*questionParser).question)
}

// parseLines reads a file of one JSON object a line.
func parseLines(name, data string, question func(p *questionParser, line string) Question) (set *Set, warnings []Problem, err error) {
	l := newLines(name, data)
	set = new(Set)
	seen := map[string]int{}
	for line, ok := l.next(); ok; line, ok = l.next() {
		p := &questionParser{lines: l}
		q := question(p, line)
		p.once(q, seen)
		set.Questions = append(set.Questions, q)
	}
	if len(set.Questions) == 0 && len(l.problems) == 0 {
		l.line = 0
		l.report("write one JSON object a line", "no question")
	}
	if err := l.problems.err(); err != nil {
		return nil, l.warnings, err
	}
	return set, l.warnings, nil
}

// questionParser reads one line, or one item of a list, and notes what is wrong
// with it.
type questionParser struct {
	lines  *lines
	id     string
	item   int    // its place in a list, from 1; 0 when it is a line
	prefix string // of what it reports
}

func (p *questionParser) report(detail, summary string, args ...any) {
	q := Question{ID: p.id, Pos: p.lines.position()}
	found := q.problem(detail, summary, args...)
	found.Summary = p.prefix + found.Summary
	if p.id == "" && p.item > 0 {
		found.Summary = fmt.Sprintf("item %d: %s", p.item, found.Summary)
	}
	p.lines.problems = append(p.lines.problems, found)
}

// begin reads what every shape begins with: an object of known fields, the id
// and the question. The shape is told of when it is no object.
func (p *questionParser) begin(data, id string, known []string, shape string) (q Question, ms members, ok bool) {
	q.Pos = p.lines.position()
	ms, err := readObject([]byte(data))
	if err != nil {
		p.report(shape, "%v", err)
		return q, nil, false
	}
	if q.ID, ok = p.text(ms, id); ok {
		if problem := badID(q.ID); problem != "" {
			p.report("", "the id %s", problem)
		} else {
			p.id = q.ID
		}
	}
	ms.check(known, p.report)
	if q.Text, ok = p.text(ms, "question"); ok && strings.TrimSpace(q.Text) == "" {
		p.report("", "the question is empty")
	}
	return q, ms, true
}

func (p *questionParser) question(line string) Question {
	q, ms, ok := p.begin(line, "id", questionFields, `a line is an object with the fields id, question, relevant and tags`)
	if !ok {
		return q
	}
	q.Relevant = p.relevant(ms)
	q.Tags = p.tags(ms)
	return q
}

// badID says what is wrong with an id, "" for nothing.
func badID(id string) string {
	switch {
	case id == "":
		return "is empty"
	case strings.ContainsFunc(id, unicode.IsControl):
		return fmt.Sprintf("%q holds a control character", id)
	case strings.TrimSpace(id) != id:
		return fmt.Sprintf("%q begins or ends with white space", id)
	}
	return ""
}

// text reads a field that must be there, and reports when it is not or is no
// text.
func (p *questionParser) text(ms members, name string) (value string, ok bool) {
	raw, ok := ms.get(name)
	if !ok {
		p.report("", "the field %q is missing", name)
		return "", false
	}
	value, err := text(raw)
	if err != nil {
		p.report("", "%s %v", name, err)
	}
	return value, err == nil
}

func (p *questionParser) relevant(ms members) []Relevant {
	value, ok := ms.get("relevant")
	if !ok {
		p.report(`write "relevant": [] for a question that the corpus does not answer`, "the field %q is missing", "relevant")
		return nil
	}
	items, err := list(value)
	if err != nil {
		p.report("", "relevant %v", err)
		return nil
	}
	out := make([]Relevant, 0, len(items))
	for i, item := range items {
		r := p.judgement(i, item)
		for j, other := range out {
			if r.Doc != "" && r.Doc == other.Doc && r.Span == other.Span {
				p.report("", "relevant[%d] and relevant[%d] judge the same document and span", j, i)
			}
		}
		out = append(out, r)
	}
	return out
}

func (p *questionParser) judgement(i int, item json.RawMessage) Relevant {
	r := Relevant{Grade: 1}
	at := fmt.Sprintf("relevant[%d]", i)
	ms, err := readObject(item)
	if err != nil {
		p.report(`write {"doc": "…"}`, "%s must be an object, not %s", at, jsonType(item))
		return r
	}
	inside := func(detail, summary string, args ...any) { p.report(detail, at+": "+summary, args...) }
	ms.check(relevantFields, inside)
	doc, ok := ms.get("doc")
	switch {
	case !ok:
		inside("", `the field "doc" is missing`)
	default:
		if r.Doc, err = text(doc); err != nil {
			inside("", "doc %v", err)
		} else if r.Doc == "" {
			inside("", "the document's id is empty")
		}
	}
	if span, ok := ms.get("span"); ok {
		if r.Span, err = text(span); err != nil {
			inside("", "span %v", err)
		} else if Fold(r.Span) == "" {
			inside("leave the field out to judge the whole document", "the span is empty")
		}
	}
	if grade, ok := ms.get("grade"); ok {
		n, err := strconv.ParseInt(string(grade), 10, 32)
		if err != nil {
			inside("1 or more for relevant, 0 for not relevant", "grade %s is not a whole number of 32 bits", grade)
		}
		r.Grade = int(n)
	}
	return r
}

func (p *questionParser) tags(ms members) []string {
	value, ok := ms.get("tags")
	if !ok {
		return nil
	}
	items, err := list(value)
	if err != nil {
		p.report("", "tags %v", err)
		return nil
	}
	seen := map[string]bool{}
	var out []string
	for i, item := range items {
		tag, err := text(item)
		switch {
		case err != nil:
			p.report("", "tags[%d] %v", i, err)
		case strings.TrimSpace(tag) != tag || tag == "":
			p.report("", "tags[%d] %q is empty or begins or ends with white space", i, tag)
		case seen[tag]:
			p.report("", "the tag %q stands twice", tag)
		}
		seen[tag] = true
		out = append(out, tag)
	}
	return out
}
