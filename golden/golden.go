// Package golden holds the judged questions: their format, their split into
// dev and test, and the checks that they must pass.
//
// raglab's own format is one JSON object a line:
//
//	{"id": "q1", "question": "Who …?", "relevant": [{"doc": "d7", "span": "it was …"}], "tags": ["kind:factoid"]}
//
// A judgement's span and grade, and the tags, may be left out; a question with
// no answer in the corpus says "relevant": []. [Read] recognises it among the
// other shapes that one file may have, see [Format]; [ParseJudged] reads
// questions and judgements in the forms of BEIR and TREC.
package golden

import (
	"bytes"
	"encoding/json"
)

// Set is a list of judged questions, in file order.
type Set struct {
	Questions []Question
}

// Question is something to ask, with what answers it.
type Question struct {
	ID       string     `json:"id"`
	Text     string     `json:"question"`
	Relevant []Relevant `json:"relevant"`
	// Tags are free words such as "kind:factoid" or "split:test".
	Tags []string `json:"tags,omitempty"`
	// Second is what another annotator marked, without having seen Relevant; nil
	// when nobody did. Only some shapes state it.
	Second *Annotation `json:"-"`
	// Pos is where the question was read, for messages.
	Pos Position `json:"-"`
}

// Annotation is what one annotator marked as relevant to a question.
type Annotation struct {
	Annotator string
	Relevant  []Relevant
}

// Position is a line of a file, counted from 1. The zero value says nothing.
type Position struct {
	File string
	Line int
}

// Relevant is one judgement: a document, optionally the span that holds the
// answer, and a grade.
type Relevant struct {
	Doc  string
	Span string
	// Title is the document's title, where the shape states one. Nothing is
	// judged by it.
	Title string
	// Grade is the relevance judgement: 1 when a file does not state it, 0
	// for judged and not relevant, below 0 for not judged, as trec_eval has
	// it.
	Grade int
}

type relevantJSON struct {
	Doc   string `json:"doc"`
	Span  string `json:"span,omitempty"`
	Grade *int   `json:"grade,omitempty"`
}

// MarshalJSON leaves out a grade of 1 and writes any other.
func (r Relevant) MarshalJSON() ([]byte, error) {
	out := relevantJSON{Doc: r.Doc, Span: r.Span}
	if r.Grade != 1 {
		out.Grade = &r.Grade
	}
	return marshal(out)
}

// UnmarshalJSON takes a missing grade for 1. It is no strict reader; see [Parse].
func (r *Relevant) UnmarshalJSON(data []byte) error {
	var in relevantJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*r = Relevant{Doc: in.Doc, Span: in.Span, Grade: 1}
	if in.Grade != nil {
		r.Grade = *in.Grade
	}
	return nil
}

// marshal encodes without the escapes that HTML would need.
func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
