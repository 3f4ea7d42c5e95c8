package metric

import (
	"fmt"
	"slices"
	"strings"

	"raglab/axes"
	"raglab/golden"
)

// Documents returns a question's judgements of documents. A document judged for
// several spans has the highest of their grades. Documents that ordinal does not
// know become [Nowhere]: they count as relevant and cannot be found.
func Documents(q golden.Question, ordinal func(id string) (uint32, bool)) []Grade {
	var grades []Grade
	places := make(map[string]int, len(q.Relevant))
	for _, r := range q.Relevant {
		if place, ok := places[r.Doc]; ok {
			grades[place].Grade = max(grades[place].Grade, int32(r.Grade))
			continue
		}
		item, ok := ordinal(r.Doc)
		if !ok {
			item = Nowhere
		}
		places[r.Doc] = len(grades)
		grades = append(grades, Grade{item, int32(r.Grade)})
	}
	return grades
}

// Unreachable says what becomes of an answer span that no chunk holds.
type Unreachable string

const (
	// UnreachableZero, the default, counts each such span as one relevant
	// chunk that cannot be found: a chunker gains nothing by cutting answers
	// in two. A question with no other span scores 0.
	UnreachableZero Unreachable = "zero"
	// UnreachableSkip does not count it. A question with no other span is
	// left out of the means.
	UnreachableSkip Unreachable = "skip"
)

// Spans finds out which chunks of a configuration are relevant: those that come
// from the judged document and hold the answer span, both folded by
// [golden.Fold]. Heading and title do not count, only the chunk's body. A chunk
// that holds several spans of a question has the highest of their grades; a span
// that several overlapping chunks hold makes each of them relevant.
type Spans struct {
	questions []golden.Question
	wanted    map[string][]wanted
	grades    [][]Grade
	held      [][]bool // question × judgement
}

type wanted struct {
	question, judgement int
	span                string
}

// NewSpans prepares the search for the questions' spans. Each judgement must
// have a span that does not fold to nothing.
func NewSpans(questions []golden.Question) (*Spans, error) {
	s := &Spans{
		questions: questions,
		wanted:    map[string][]wanted{},
		grades:    make([][]Grade, len(questions)),
		held:      make([][]bool, len(questions)),
	}
	for i, q := range questions {
		s.held[i] = make([]bool, len(q.Relevant))
		for j, r := range q.Relevant {
			span := golden.Fold(r.Span)
			if span == "" {
				return nil, fmt.Errorf("question %s judges document %s without an answer span: state the span, or judge by document", q.ID, r.Doc)
			}
			s.wanted[r.Doc] = append(s.wanted[r.Doc], wanted{i, j, span})
		}
	}
	return s, nil
}

// Add looks for spans in a chunk. Every chunk of the configuration must be added
// once, in any order.
func (s *Spans) Add(ordinal uint32, chunk axes.Chunk) {
	candidates := s.wanted[chunk.Doc]
	if len(candidates) == 0 {
		return
	}
	body := golden.Fold(chunk.Text)
	for _, w := range candidates {
		if !strings.Contains(body, w.span) {
			continue
		}
		s.held[w.question][w.judgement] = true
		s.judge(w.question, Grade{ordinal, int32(s.questions[w.question].Relevant[w.judgement].Grade)})
	}
}

// judge merges a grade into the question's. Those of one chunk come together.
func (s *Spans) judge(question int, g Grade) {
	grades := s.grades[question]
	if last := len(grades) - 1; last >= 0 && grades[last].Item == g.Item {
		grades[last].Grade = max(grades[last].Grade, g.Grade)
		return
	}
	s.grades[question] = append(grades, g)
}

// Judgements returns the judgements of chunks for the question at a place in the
// list given to [NewSpans], after the last chunk was added.
func (s *Spans) Judgements(question int, unreachable Unreachable) []Grade {
	grades := slices.Clone(s.grades[question])
	if unreachable == UnreachableSkip {
		return grades
	}
	for j, held := range s.held[question] {
		if grade := s.questions[question].Relevant[j].Grade; !held && grade > 0 {
			grades = append(grades, Grade{Nowhere, int32(grade)})
		}
	}
	return grades
}

// Lost is a question with answer spans that no chunk holds.
type Lost struct {
	Question string
	// Judgements are the places of those spans in the question's list.
	Judgements []int
	// All says that no span of a grade above 0 is held at all, so that the
	// question is unreachable.
	All bool
}

// Lost lists the questions that lost spans to the chunker, in order. Spans of
// grade 0 and below are no loss.
func (s *Spans) Lost() []Lost {
	var out []Lost
	for i, q := range s.questions {
		l := Lost{Question: q.ID, All: true}
		for j, r := range q.Relevant {
			switch {
			case r.Grade <= 0:
			case s.held[i][j]:
				l.All = false
			default:
				l.Judgements = append(l.Judgements, j)
			}
		}
		if len(l.Judgements) > 0 {
			out = append(out, l)
		}
	}
	return out
}
