package golden

import (
	"encoding/json"
	"fmt"
	"slices"
)

// ragEvalDocs are the names that the list of documents may have, the one that
// is written first.
var ragEvalDocs = []string{"relevant_docs", "relevant_doc_ids", "relevant_documents"}

func parseRagEval(name, data string) (set *Set, warnings []Problem, err error) {
	known := slices.Concat([]string{"id", "question"}, ragEvalDocs, []string{"spans", "tags"})
	return parseLines(name, data, func(p *questionParser, line string) Question {
		return p.ragEval(line, known)
	})
}

func (p *questionParser) ragEval(line string, known []string) Question {
	q, ms, ok := p.begin(line, "id", known, "a line is an object with the fields id, question, relevant_docs, spans and tags")
	if !ok {
		return q
	}
	docs := p.documents(ms)
	spans := p.spans(ms, docs)
	q.Relevant = make([]Relevant, 0, len(docs))
	for _, doc := range docs {
		whole := true
		for _, s := range spans {
			if s.Doc == doc {
				q.Relevant = append(q.Relevant, s)
				whole = false
			}
		}
		if whole {
			q.Relevant = append(q.Relevant, Relevant{Doc: doc, Grade: 1})
		}
	}
	q.Tags = p.tags(ms)
	return q
}

// documents reads the list of relevant documents.
func (p *questionParser) documents(ms members) []string {
	name := ragEvalDocs[0]
	var value json.RawMessage
	found := false
	for _, n := range ragEvalDocs {
		v, ok := ms.get(n)
		if ok && found {
			p.report("", "%q and %q are two names of one field", name, n)
		}
		if ok && !found {
			name, value, found = n, v, true
		}
	}
	if !found {
		p.report(`write "relevant_docs": [] for a question that the corpus does not answer`, "the field %q is missing", name)
		return nil
	}
	items, err := list(value)
	if err != nil {
		p.report("", "%s %v", name, err)
		return nil
	}
	var out []string
	for i, item := range items {
		doc, err := text(item)
		switch {
		case err != nil:
			p.report("", "%s[%d] %v", name, i, err)
		case doc == "":
			p.report("", "%s[%d]: the document's id is empty", name, i)
		case slices.Contains(out, doc):
			p.report("", "%s: the document %q stands twice", name, doc)
		default:
			out = append(out, doc)
		}
	}
	return out
}

// spans reads the spans, each of one of the documents.
func (p *questionParser) spans(ms members, docs []string) []Relevant {
	value, ok := ms.get("spans")
	if !ok {
		return nil
	}
	items, err := list(value)
	if err != nil {
		p.report("", "spans %v", err)
		return nil
	}
	var out []Relevant
	for i, item := range items {
		r, ok := p.span(i, item, docs)
		if !ok {
			continue
		}
		if slices.Contains(out, r) {
			p.report("", "spans[%d] stands twice", i)
			continue
		}
		out = append(out, r)
	}
	return out
}

func (p *questionParser) span(i int, item json.RawMessage, docs []string) (r Relevant, ok bool) {
	before := len(p.lines.problems)
	at := fmt.Sprintf("spans[%d]", i)
	r = Relevant{Grade: 1}
	if len(item) > 0 && item[0] == '"' {
		r.Span, _ = p.inner(at, item)
		if len(docs) != 1 {
			p.report(`write {"doc": "…", "text": "…"}`, "%s does not say its document, and there are %d", at, len(docs))
			return r, false
		}
		r.Doc = docs[0]
	} else {
		r.Doc, r.Span = p.spanObject(at, item)
	}
	if len(p.lines.problems) > before {
		return r, false
	}
	if Fold(r.Span) == "" {
		p.report("", "%s: the span is empty", at)
	}
	if !slices.Contains(docs, r.Doc) {
		p.report("", "%s: the document %q is not among the relevant ones", at, r.Doc)
	}
	return r, len(p.lines.problems) == before
}

func (p *questionParser) spanObject(at string, item json.RawMessage) (doc, span string) {
	ms, err := readObject(item)
	if err != nil {
		p.report(`write {"doc": "…", "text": "…"}`, "%s must be an object, not %s", at, jsonType(item))
		return "", ""
	}
	ms.check([]string{"doc", "doc_id", "text"}, func(detail, summary string, args ...any) { p.report(detail, at+": "+summary, args...) })
	value, ok := ms.get("doc")
	if other, both := ms.get("doc_id"); both && ok {
		p.report("", `%s: "doc" and "doc_id" are two names of one field`, at)
	} else if both {
		value, ok = other, true
	}
	if !ok {
		p.report("", `%s: the field "doc" is missing`, at)
	} else {
		doc, _ = p.inner(at+": doc", value)
	}
	value, ok = ms.get("text")
	if !ok {
		p.report("", `%s: the field "text" is missing`, at)
		return doc, ""
	}
	span, _ = p.inner(at+": text", value)
	return doc, span
}

// inner reads a text that stands inside a field.
func (p *questionParser) inner(at string, value json.RawMessage) (string, bool) {
	s, err := text(value)
	if err != nil {
		p.report("", "%s %v", at, err)
	}
	return s, err == nil
}

type ragEvalJSON struct {
	ID       string        `json:"id"`
	Question string        `json:"question"`
	Docs     []string      `json:"relevant_docs"`
	Spans    []ragEvalSpan `json:"spans,omitempty"`
	Tags     []string      `json:"tags,omitempty"`
}

type ragEvalSpan struct {
	Doc  string `json:"doc"`
	Text string `json:"text"`
}

// ragEvalLine puts a question into the shape, or says why it does not fit.
func ragEvalLine(q Question) (any, []Problem) {
	var problems []Problem
	out := ragEvalJSON{ID: q.ID, Question: q.Text, Docs: []string{}, Tags: q.Tags}
	whole := map[string]bool{}
	for _, r := range q.Relevant {
		if r.Grade != 1 {
			problems = append(problems, q.problem("", "document %s has the grade %d: the format rag-eval has no grades", r.Doc, r.Grade))
		}
		if !slices.Contains(out.Docs, r.Doc) {
			out.Docs = append(out.Docs, r.Doc)
			whole[r.Doc] = r.Span == ""
		} else if whole[r.Doc] != (r.Span == "") {
			problems = append(problems, q.problem("leave one of them out", "document %s is judged as a whole and by a span: the format rag-eval cannot say both", r.Doc))
		}
		if r.Span != "" {
			out.Spans = append(out.Spans, ragEvalSpan{r.Doc, r.Span})
		}
	}
	return out, problems
}
