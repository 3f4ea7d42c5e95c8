package report

import "fmt"

// Wording says how much of a question's wording is that of the documents: shares of
// its different words, letter by letter.
type Wording struct {
	// Document is the share that stands in a relevant document, Other that in a document
	// which is relevant to another question alone, Span that in an answer span; of several
	// the highest. Other and Span are null where there are none.
	Document float64  `json:"document"`
	Other    *float64 `json:"other_document,omitempty"`
	Span     *float64 `json:"span,omitempty"`
}

// wordingLimits say how much of the test questions' wording stands in what they ask for.
func (r *Report) wordingLimits() []string {
	var document, other, span mean
	asked := 0
	for _, q := range r.Golden {
		if q.Part != "test" || q.Relevant == 0 {
			continue
		}
		asked++
		if q.Wording == nil {
			continue
		}
		document.add(&q.Wording.Document)
		other.add(q.Wording.Other)
		span.add(q.Wording.Span)
	}
	if document.n == 0 {
		return nil
	}
	s := "Of a test question's different words"
	if document.n < asked {
		s += fmt.Sprintf(", in %d of %d,", document.n, asked)
	}
	s += fmt.Sprintf(" %s stand on average in its relevant document", share(document.value()))
	if other.n > 0 {
		s += fmt.Sprintf(" and %s in one that is relevant to another question", share(other.value()))
	}
	if span.n > 0 {
		s += fmt.Sprintf("; %s stand in its answer span", share(span.value()))
	}
	return []string{s + ". The more of a question's words are the document's own, the more these results flatter search by words."}
}

// mean is that of what was added.
type mean struct {
	sum float64
	n   int
}

// add adds a value that is there.
func (m *mean) add(v *float64) {
	if v != nil {
		m.sum, m.n = m.sum+*v, m.n+1
	}
}

func (m *mean) value() float64 { return m.sum / float64(m.n) }
