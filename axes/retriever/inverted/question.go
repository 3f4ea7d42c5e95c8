package inverted

import (
	"bytes"
	"cmp"
	"slices"
)

// question is what is asked of all parts: its distinct terms that some part knows,
// from the rarest in all of them to the most frequent, equal ones by their bytes.
type question struct {
	text   []byte // the terms as they came, one after the other
	tokens []span
	terms  []askedTerm
	found  []found // of each term in each part
	// positive says that no term takes from a score.
	positive bool
}

type span struct{ from, to int }

// askedTerm is a distinct term.
type askedTerm struct {
	weight float64 // count · idf
	df     int     // in all parts
	span   span
	found  int // where it is found: one for each part, of df 0 in those that lack it
}

// ask finds the question's terms and orders them.
func (s *Searcher) ask(q *question, terms func(emit func(term []byte))) {
	q.text, q.tokens, q.terms, q.found = q.text[:0], q.tokens[:0], q.terms[:0], q.found[:0]
	terms(func(term []byte) {
		from := len(q.text)
		q.text = append(q.text, term...)
		q.tokens = append(q.tokens, span{from, len(q.text)})
	})
	slices.SortFunc(q.tokens, func(a, b span) int { return bytes.Compare(q.bytes(a), q.bytes(b)) })
	for i := 0; i < len(q.tokens); {
		term, count := q.tokens[i], 0
		for ; i < len(q.tokens) && bytes.Equal(q.bytes(q.tokens[i]), q.bytes(term)); i++ {
			count++
		}
		s.find(q, term, count)
	}
	q.positive = !slices.ContainsFunc(q.terms, func(t askedTerm) bool { return t.weight <= 0 })
	slices.SortStableFunc(q.terms, func(a, b askedTerm) int { return cmp.Compare(a.df, b.df) })
}

func (q *question) bytes(s span) []byte { return q.text[s.from:s.to] }

// find looks a term up in all parts.
func (s *Searcher) find(q *question, term span, count int) {
	t := askedTerm{span: term, found: len(q.found)}
	for _, p := range s.parts {
		f, _ := p.look(q.bytes(term))
		q.found = append(q.found, f)
		t.df += f.df
	}
	if t.df == 0 {
		q.found = q.found[:t.found]
		return
	}
	t.weight = float64(count) * s.idf(t.df)
	q.terms = append(q.terms, t)
}
