package metric

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"raglab/axes"
	"raglab/golden"
)

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
// from the judged document and hold enough of the answer span.
//
// Span and body are folded by [golden.Fold]; heading and title do not count. What
// a chunk holds of a span is the longest piece of the span that stands in its
// body in one stretch, wherever in the document that is; its share is the piece's
// characters among the span's, white space left out on both sides. With a coverage
// of 1 a chunk is relevant when the span stands in it whole. The body of a chunk
// that is returned with its surroundings is that of the whole passage: chunks that
// share a passage are judged once, as the first of them.
//
// A chunk that holds several spans of a question has the highest of their grades;
// a span that several overlapping chunks hold makes each of them relevant.
type Spans struct {
	questions []golden.Question
	coverage  float64
	wanted    map[string][]*wanted // by document
	judged    [][]*wanted          // question × judgement
	grades    [][]Grade
	// The document of the chunk that was last added, its bodies so far and their
	// ordinals.
	doc    string
	bodies []string
	places []uint32
}

// wanted is one judgement's span, and what is known of it so far.
type wanted struct {
	question int
	grade    int32
	span     string
	// characters are the span's, without blanks; best is how many of them one
	// chunk holds.
	characters, best int
	// reached says that some chunk holds enough, cut that none holds all and
	// neighbouring ones do together.
	reached, cut bool
	held         []int // by body of the document at hand
}

// NewSpans prepares the search for the questions' spans. Each judgement must
// have a span that does not fold to nothing. The coverage, above 0 and at most 1,
// is the share of a span that a relevant chunk holds at least.
func NewSpans(questions []golden.Question, coverage float64) (*Spans, error) {
	if !(coverage > 0 && coverage <= 1) {
		return nil, fmt.Errorf("coverage %v is not above 0 and at most 1", coverage)
	}
	s := &Spans{
		questions: questions, coverage: coverage,
		wanted: map[string][]*wanted{}, judged: make([][]*wanted, len(questions)),
		grades: make([][]Grade, len(questions)),
	}
	for i, q := range questions {
		for _, r := range q.Relevant {
			span := golden.Fold(r.Span)
			if span == "" {
				return nil, fmt.Errorf("question %s judges document %s without an answer span: state the span, or judge by document", q.ID, r.Doc)
			}
			w := &wanted{question: i, grade: int32(r.Grade), span: span, characters: utf8.RuneCountInString(squeeze(span))}
			s.wanted[r.Doc] = append(s.wanted[r.Doc], w)
			s.judged[i] = append(s.judged[i], w)
		}
	}
	return s, nil
}

// Add looks for spans in a chunk, whose ordinal is that of the first chunk of its
// passage. Every chunk of the configuration must be added once, those of a document
// together and in their order.
func (s *Spans) Add(ordinal uint32, chunk axes.Chunk) {
	if len(s.wanted[chunk.Doc]) == 0 {
		return
	}
	if s.doc != chunk.Doc {
		s.finish()
		s.doc = chunk.Doc
	}
	if n := len(s.places); n > 0 && s.places[n-1] == ordinal {
		return // the same passage, found by another of its chunks
	}
	s.bodies, s.places = append(s.bodies, golden.Fold(chunk.Returned())), append(s.places, ordinal)
}

// finish looks for the spans of a document whose chunks have all come.
func (s *Spans) finish() {
	for _, w := range s.wanted[s.doc] {
		w.look(s.bodies, s.coverage == 1)
	}
	for i, ordinal := range s.places {
		for _, w := range s.wanted[s.doc] {
			if s.enough(w.held[i], w.characters) {
				w.reached = true
				s.judge(w.question, Grade{ordinal, w.grade})
			}
		}
	}
	for _, w := range s.wanted[s.doc] {
		w.held = nil
	}
	s.doc, s.bodies, s.places = "", nil, nil
}

// look finds out how much of the span each of the bodies holds. When only the whole
// span counts, parts are looked for only where no body holds the whole.
func (w *wanted) look(bodies []string, onlyWhole bool) {
	w.held = make([]int, len(bodies))
	whole := false
	for i, body := range bodies {
		if strings.Contains(body, w.span) {
			w.held[i], whole = w.characters, true
		}
	}
	if !whole {
		c := chain{span: squeeze(w.span)}
		for _, body := range bodies {
			c.add(squeeze(body))
		}
		w.cut = c.complete
	}
	if !whole || !onlyWhole {
		p := newPieces(w.span)
		for i, body := range bodies {
			if w.held[i] == 0 {
				w.held[i] = p.longest(body)
			}
		}
	}
	for _, held := range w.held {
		w.best = max(w.best, held)
	}
}

// enough reports whether so many of a span's characters make a chunk relevant.
func (s *Spans) enough(held, characters int) bool {
	// The product may come out a hair above the whole number that it is.
	const hair = 1e-9
	return float64(held) >= s.coverage*float64(characters)-hair
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
	s.finish()
	grades := slices.Clone(s.grades[question])
	if unreachable == UnreachableSkip {
		return grades
	}
	for _, w := range s.judged[question] {
		if !w.reached && w.grade > 0 {
			grades = append(grades, Grade{Nowhere, w.grade})
		}
	}
	return grades
}

// Lost is a question with answer spans that no chunk holds enough of.
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
	s.finish()
	var out []Lost
	for i, q := range s.questions {
		l := Lost{Question: q.ID, All: true}
		for j, w := range s.judged[i] {
			switch {
			case w.grade <= 0:
			case w.reached:
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

// SpanCounts says what a chunker made of the spans of grades above 0. Whole, Cut
// and Dropped add up to Spans.
type SpanCounts struct {
	Spans int `json:"spans"`
	// Whole spans stand in some chunk as they are.
	Whole int `json:"whole"`
	// Cut spans stand in no chunk whole, but in two or more neighbouring ones
	// together, each of which holds a part at its end or beginning.
	Cut int `json:"cut"`
	// Dropped spans are the others: the chunks lack a part of their text, or
	// there is no chunk of the document.
	Dropped int `json:"dropped"`
	// Reached spans make a chunk relevant under the coverage asked for.
	Reached int `json:"reached"`
	// Share is the mean, over the spans, of the largest share that one chunk
	// holds; 0 when there is no span.
	Share float64 `json:"mean_share"`
	// CutIn and DroppedIn are the ids of the questions with such spans.
	CutIn     []string `json:"cut_questions,omitempty"`
	DroppedIn []string `json:"dropped_questions,omitempty"`
}

// Counts counts the spans, after the last chunk was added.
func (s *Spans) Counts() SpanCounts {
	s.finish()
	var c SpanCounts
	sum := 0.0
	for i, q := range s.questions {
		for _, w := range s.judged[i] {
			if w.grade > 0 {
				c.count(w, q.ID)
				sum += float64(w.best) / float64(w.characters)
			}
		}
	}
	if c.Spans > 0 {
		c.Share = sum / float64(c.Spans)
	}
	return c
}

func (c *SpanCounts) count(w *wanted, question string) {
	c.Spans++
	if w.reached {
		c.Reached++
	}
	switch w.fate() {
	case SpanWhole:
		c.Whole++
	case SpanCut:
		c.Cut++
		c.CutIn = once(c.CutIn, question)
	default:
		c.Dropped++
		c.DroppedIn = once(c.DroppedIn, question)
	}
}

// once appends an id that is not the last of the list.
func once(ids []string, id string) []string {
	if n := len(ids); n > 0 && ids[n-1] == id {
		return ids
	}
	return append(ids, id)
}

// squeeze takes the blanks out of a folded text.
func squeeze(folded string) string { return strings.ReplaceAll(folded, " ", "") }
