package golden

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"raglab/internal/trec"
)

// ParseJudged reads questions and their judgements from two files in the forms
// of BEIR and TREC. Queries are JSON lines with _id and text, or lines of an id,
// a tab and the text; judgements are as [trec.ParseQrels] reads them. The set
// holds the judged questions, in the order of the queries; the warnings tell which
// queries had no judgement and which judgements no query. The error is of type
// [Problems].
func ParseJudged(queriesName, queries, qrelsName, qrels string) (set *Set, warnings []Problem, err error) {
	l := newLines(queriesName, queries)
	questions := parseQueries(l)
	judged, err := trec.ParseQrels(qrelsName, qrels)
	l.problems = append(l.problems, fromTREC(err)...)
	if err := l.problems.err(); err != nil {
		return nil, l.warnings, err
	}
	warnings = l.warnings
	for _, w := range judged.Warnings {
		warnings = append(warnings, Problem{File: w.File, Line: w.Line, Summary: w.Text})
	}
	set, loose := join(questions, judged)
	if len(set.Questions) == 0 {
		return nil, warnings, Problems{{File: qrelsName, Summary: "no question of " + queriesName + " is judged", Detail: "the two files must use the same question ids"}}
	}
	return set, append(warnings, loose...), nil
}

func fromTREC(err error) Problems {
	var theirs trec.Problems
	if !errors.As(err, &theirs) {
		return nil
	}
	out := make(Problems, len(theirs))
	for i, p := range theirs {
		out[i] = Problem{File: p.File, Line: p.Line, Summary: p.Text}
	}
	return out
}

// join gives the questions their judgements.
func join(questions []Question, qrels *trec.Qrels) (set *Set, warnings []Problem) {
	set = new(Set)
	byID := make(map[string]trec.Judgements, len(qrels.Questions))
	for _, j := range qrels.Questions {
		byID[j.Question] = j
	}
	var unjudged []string
	for _, q := range questions {
		judged, ok := byID[q.ID]
		if !ok {
			unjudged = append(unjudged, q.ID)
			continue
		}
		delete(byID, q.ID)
		for _, d := range judged.Docs {
			q.Relevant = append(q.Relevant, Relevant{Doc: d.Doc, Grade: int(d.Grade)})
		}
		set.Questions = append(set.Questions, q)
	}
	var unasked []string
	for _, j := range qrels.Questions {
		if _, left := byID[j.Question]; left {
			unasked = append(unasked, j.Question)
		}
	}
	if len(unjudged) > 0 {
		warnings = append(warnings, Problem{File: qrels.File, Summary: "no judgement of " + some(unjudged), Detail: "left out"})
	}
	if len(unasked) > 0 {
		warnings = append(warnings, Problem{File: qrels.File, Summary: "judgements without a question: " + some(unasked), Detail: "left out"})
	}
	return set, warnings
}

// some names the first few ids.
func some(ids []string) string {
	const shown = 3
	names := strings.Join(ids[:min(len(ids), shown)], ", ")
	if more := len(ids) - shown; more > 0 {
		names = fmt.Sprintf("%s and %d more", names, more)
	}
	return names
}

func parseQueries(l *lines) []Question {
	var out []Question
	seen := map[string]int{}
	ignored := map[string]bool{"metadata": true}
	for line, ok := l.next(); ok; line, ok = l.next() {
		q, ok := parseQuery(l, line, ignored)
		if !ok {
			continue
		}
		if first, twice := seen[q.ID]; twice {
			l.problems = append(l.problems, q.problem(fmt.Sprintf("the first is on line %d", first), "two questions have this id"))
		}
		seen[q.ID] = l.line
		out = append(out, q)
	}
	return out
}

func parseQuery(l *lines, line string, ignored map[string]bool) (q Question, ok bool) {
	before := len(l.problems)
	q.Pos = l.position()
	if strings.HasPrefix(strings.TrimSpace(line), "{") {
		q.ID, q.Text = jsonQuery(l, line, ignored)
	} else {
		q.ID, q.Text, ok = strings.Cut(line, "\t")
		if !ok || strings.Contains(q.Text, "\t") {
			l.report("", `a line of queries is an id, a tab and the text, or a JSON object with "_id" and "text"`)
			return q, false
		}
	}
	if len(l.problems) > before {
		return q, false
	}
	if problem := badID(q.ID); problem != "" {
		l.report("", "the id %s", problem)
	}
	if strings.TrimSpace(q.Text) == "" {
		l.problems = append(l.problems, q.problem("", "the question is empty"))
	}
	return q, len(l.problems) == before
}

// jsonQuery reads the fields that BEIR defines. Others are told once.
func jsonQuery(l *lines, line string, ignored map[string]bool) (id, question string) {
	ms, err := readObject([]byte(line))
	if err != nil {
		l.report("", "%v", err)
		return "", ""
	}
	ms.check(nil, l.report)
	fields := map[string]*string{"_id": &id, "text": &question}
	for _, name := range []string{"_id", "text"} {
		value, ok := ms.get(name)
		if !ok {
			l.report("", "the field %q is missing", name)
			continue
		}
		if *fields[name], err = text(value); err != nil {
			l.report("", "%s %v", name, err)
		}
	}
	for _, m := range ms {
		if _, known := fields[m.name]; !known && !ignored[m.name] {
			ignored[m.name] = true
			l.warnings = append(l.warnings, Problem{File: l.file, Line: l.line, Summary: fmt.Sprintf("the field %q is not used", m.name)})
		}
	}
	return id, question
}

// Qrels returns the judgements of documents in the form of [trec.WriteQrels].
// A document judged for several spans has the highest of their grades.
func (s *Set) Qrels() []trec.Judgements {
	out := make([]trec.Judgements, 0, len(s.Questions))
	for _, q := range s.Questions {
		j := trec.Judgements{Question: q.ID}
		for _, r := range q.Relevant {
			at := slices.IndexFunc(j.Docs, func(d trec.Judgement) bool { return d.Doc == r.Doc })
			if at < 0 {
				j.Docs = append(j.Docs, trec.Judgement{Doc: r.Doc, Grade: int32(r.Grade)})
				continue
			}
			j.Docs[at].Grade = max(j.Docs[at].Grade, int32(r.Grade))
		}
		out = append(out, j)
	}
	return out
}
