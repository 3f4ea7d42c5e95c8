package golden

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

var (
	// turkishTexts are the fields that every question has.
	turkishTexts = []string{"qid", "question", "doc_id", "doc_title", "answer_span"}
	// turkishTags are the fields that become tags, in the order in which they do.
	turkishTags  = []string{"annotator", "source", "review", "second_of"}
	secondFields = []string{"annotator", "answer_span"}
)

func parseTurkish(name, data string) (set *Set, warnings []Problem, err error) {
	l := newLines(name, data)
	set = new(Set)
	seen := map[string]int{}
	known := slices.Concat(turkishTexts, turkishTags, []string{"second_annotation"})
	for i, item := range l.items() {
		l.line = item.line
		p := &questionParser{lines: l, item: i + 1}
		q := p.turkish(item.value, known)
		p.once(q, seen)
		set.Questions = append(set.Questions, q)
	}
	if len(set.Questions) == 0 && len(l.problems) == 0 {
		l.line = 0
		l.report("", "no question")
	}
	if err := l.problems.err(); err != nil {
		return nil, l.warnings, err
	}
	return set, l.warnings, nil
}

// arrayItem is one value of a JSON list, and the line on which it begins.
type arrayItem struct {
	line  int
	value json.RawMessage
}

// items reads the file as one JSON list.
func (l *lines) items() []arrayItem {
	if at := firstInvalid(l.rest); at >= 0 {
		l.line = 1 + strings.Count(l.rest[:at], "\n")
		l.report("save the file as UTF-8", "not valid UTF-8")
		return nil
	}
	var values []json.RawMessage
	err := json.Unmarshal([]byte(l.rest), &values)
	var s *json.SyntaxError
	switch {
	case errors.As(err, &s):
		before := l.rest[:max(0, min(len(l.rest), int(s.Offset)-1))]
		l.line = 1 + strings.Count(before, "\n")
		l.report("the file is one JSON list of questions", "not valid JSON: %v", s)
		return nil
	case err != nil:
		l.report("", "the file must be a JSON list of questions")
		return nil
	}
	out := make([]arrayItem, len(values))
	line, rest := 1, l.rest
	for i, v := range values {
		// A raw value is the text itself, so that the next place where it
		// stands, from the end of the one before, is its own.
		at := strings.Index(rest, string(v))
		line += strings.Count(rest[:at], "\n")
		out[i] = arrayItem{line, v}
		line += strings.Count(string(v), "\n")
		rest = rest[at+len(v):]
	}
	return out
}

// firstInvalid is where a text stops being UTF-8, or -1.
func firstInvalid(s string) int {
	if utf8.ValidString(s) {
		return -1
	}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

func (p *questionParser) turkish(value json.RawMessage, known []string) Question {
	q, ms, ok := p.begin(string(value), "qid", known, "an item is an object with the fields "+strings.Join(turkishTexts, ", "))
	if !ok {
		return q
	}
	doc := p.filled(ms, "doc_id")
	title := p.filled(ms, "doc_title")
	span := p.filled(ms, "answer_span")
	q.Relevant = []Relevant{{Doc: doc, Title: title, Span: span, Grade: 1}}
	for _, name := range turkishTags {
		if _, ok := ms.get(name); !ok {
			continue
		}
		if v := p.filled(ms, name); v != "" {
			q.Tags = append(q.Tags, name+":"+v)
		}
	}
	q.Second = p.second(ms, doc, title)
	return q
}

// filled reads a text that must not be blank.
func (p *questionParser) filled(ms members, name string) string {
	value, ok := p.text(ms, name)
	switch {
	case !ok:
	case Fold(value) == "":
		p.report("", "%s is empty", name)
	case slices.Contains(turkishTags, name) && strings.TrimSpace(value) != value:
		p.report("", "%s %q begins or ends with white space", name, value)
	}
	return value
}

// second reads what the second annotator marked in the same document.
func (p *questionParser) second(ms members, doc, title string) *Annotation {
	value, ok := ms.get("second_annotation")
	if !ok {
		return nil
	}
	inner, err := readObject(value)
	if err != nil {
		p.report(`write {"annotator": "…", "answer_span": "…"}`, "second_annotation must be an object, not %s", jsonType(value))
		return nil
	}
	p.prefix = "second_annotation: "
	defer func() { p.prefix = "" }()
	inner.check(secondFields, p.report)
	return &Annotation{
		Annotator: p.filled(inner, "annotator"),
		Relevant:  []Relevant{{Doc: doc, Title: title, Span: p.filled(inner, "answer_span"), Grade: 1}},
	}
}

type turkishJSON struct {
	ID        string       `json:"qid"`
	Question  string       `json:"question"`
	Doc       string       `json:"doc_id"`
	Title     string       `json:"doc_title"`
	Span      string       `json:"answer_span"`
	Annotator string       `json:"annotator,omitempty"`
	Source    string       `json:"source,omitempty"`
	Second    *turkishPair `json:"second_annotation,omitempty"`
	Review    string       `json:"review,omitempty"`
	SecondOf  string       `json:"second_of,omitempty"`
}

type turkishPair struct {
	Annotator string `json:"annotator"`
	Span      string `json:"answer_span"`
}

// turkishItem puts a question into the shape, or says why it does not fit.
func turkishItem(q Question) (any, []Problem) {
	var problems []Problem
	wrong := func(detail, summary string, args ...any) {
		problems = append(problems, q.problem(detail, summary, args...))
	}
	out := turkishJSON{ID: q.ID, Question: q.Text}
	if len(q.Relevant) != 1 || q.Relevant[0].Span == "" || q.Relevant[0].Grade != 1 {
		wrong("", "the format %s has one document and one span of it for each question, without a grade", Turkish)
	} else if r := q.Relevant[0]; r.Title == "" {
		wrong("", "the format %s states the title of the document, which is not known here", Turkish)
	} else {
		out.Doc, out.Title, out.Span = r.Doc, r.Title, r.Span
	}
	fields := map[string]*string{"annotator": &out.Annotator, "source": &out.Source, "review": &out.Review, "second_of": &out.SecondOf}
	for _, tag := range q.Tags {
		name, value, _ := strings.Cut(tag, ":")
		if f := fields[name]; f != nil && *f == "" && value != "" {
			*f = value
			continue
		}
		wrong("", "the format %s has no place for the tag %q", Turkish, tag)
	}
	if s := q.Second; s != nil {
		if len(s.Relevant) != 1 || len(q.Relevant) != 1 || s.Relevant[0].Doc != q.Relevant[0].Doc {
			wrong("", "the format %s has one span of the same document for a second annotation", Turkish)
		} else {
			out.Second = &turkishPair{s.Annotator, s.Relevant[0].Span}
		}
	}
	return out, problems
}

// once reports an id that an earlier question has.
func (p *questionParser) once(q Question, seen map[string]int) {
	if first, ok := seen[q.ID]; ok && q.ID != "" {
		p.report(fmt.Sprintf("the first is on line %d", first), "two questions have this id")
		return
	}
	seen[q.ID] = p.lines.line
}
