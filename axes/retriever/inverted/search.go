package inverted

import (
	"context"
	"math"
	"math/bits"

	"raglab/axes"
	"raglab/axes/retriever/topk"
)

// windowSize is how many documents are scored together: their scores and norms
// fit the processor's first cache.
const windowSize = 2048

// state is the memory that one search of one part uses.
type state struct {
	*part
	terms  []queryTerm
	scores [windowSize]float64     // of the window's documents; 0 between windows
	near   [windowSize / 64]uint64 // which of them may rank; 0 between windows
	least  float64                 // so many documents as are wanted score this or more
	best   topk.Collector
}

// queryTerm is a distinct term of a question that the part has, and how far its
// postings have been read.
type queryTerm struct {
	*postings
	weight float64  // count · idf
	rest   float64  // no document gets more from it and the terms after it
	docs   []uint32 // the postings that are still to come
	tfs    []uint8
	at     int // the place of the first of them
}

// slack widens bounds by more than the rounding of a sum of a million terms.
const slack = 1 + 1e-9

// Search appends the best depth documents to dst. The argument terms calls emit
// for every term of the question. A document ranks when it has one of them.
//
// The result is exactly that of scoring every document. Documents are scored
// window by window, terms from the rarest to the most frequent. As the least
// score that ranks rises, more of the frequent terms cannot by themselves lift a
// document to it; those are looked up only for documents that rarer terms have
// brought close enough (MaxScore; Turtle and Flood 1995). Parts tell one another
// how far it has risen.
func (s *Searcher) Search(ctx context.Context, terms func(emit func(term []byte)), depth int, dst []axes.Hit) ([]axes.Hit, error) {
	if err := context.Cause(ctx); err != nil {
		return dst, err
	}
	if depth <= 0 {
		return dst, nil
	}
	q := s.asked.Get().(*question)
	defer s.asked.Put(q)
	s.ask(q, terms)
	if len(s.parts) == 1 {
		return s.searchPart(s.parts[0], q, depth, newThreshold(), dst)
	}
	return s.searchParts(ctx, q, depth, dst)
}

// searchPart appends the best of one part.
func (s *Searcher) searchPart(p *part, q *question, depth int, least *threshold, dst []axes.Hit) ([]axes.Hit, error) {
	st := s.pool.Get().(*state)
	defer s.pool.Put(st)
	st.part = p
	if err := s.bound(st, q, depth); err != nil {
		return dst, err
	}
	st.best.Reset(depth)
	s.rank(st, least)
	from := len(dst)
	dst = st.best.Append(dst)
	if p.ordinals != nil {
		for i := range dst[from:] {
			hit := &dst[from+i]
			hit.Ordinal = p.ordinals[hit.Ordinal]
		}
	}
	return dst, nil
}

// bound gathers the terms that the part has, and sets what is known beforehand: how
// much the terms may add at most, and that a ranking of the wanted depth can be made
// of any one term alone. Neither holds when a term of the question takes from a score,
// so then nothing is ruled out.
func (s *Searcher) bound(st *state, q *question, depth int) error {
	st.terms = st.terms[:0]
	for _, t := range q.terms {
		f := q.found[t.found+st.place]
		if f.df == 0 {
			continue
		}
		p, err := s.postingsOf(st.part, f, depth)
		if err != nil {
			return err
		}
		st.terms = append(st.terms, queryTerm{postings: p, weight: t.weight, docs: p.list.docs, tfs: p.list.tfs})
	}
	rest := 0.0
	st.least = 0
	for i := len(st.terms) - 1; i >= 0; i-- {
		t := &st.terms[i]
		rest += t.weight * t.most
		t.rest = rest
		st.least = max(st.least, t.weight*t.floor)
	}
	if q.positive {
		return nil
	}
	st.least = math.Inf(-1)
	for i := range st.terms {
		st.terms[i].rest = math.Inf(1)
	}
	return nil
}

// rank scores all documents that may rank.
func (s *Searcher) rank(st *state, least *threshold) {
	essential := len(st.terms) // a document that ranks has one of so many first terms
	for {
		st.least = least.raise(st.least)
		for essential > 0 && st.terms[essential-1].rest*slack < st.least {
			essential--
		}
		base, ok := st.first(essential)
		if !ok {
			return
		}
		rest := 0.0
		if essential < len(st.terms) {
			rest = st.terms[essential].rest
		}
		need := below(st.least) - rest
		for i := range essential {
			s.score(st, &st.terms[i], base, need)
		}
		s.collect(st, base, essential)
		for i := range essential {
			st.forget(&st.terms[i], base)
		}
		if worst, full := st.best.Bound(); full {
			st.least = max(st.least, worst.Score)
		}
	}
}

// below is a little less than a bound, by the slack.
func below(bound float64) float64 {
	if bound < 0 {
		return bound * slack
	}
	return bound / slack
}

// first returns the first document that is still to come in the postings of the
// first terms.
func (st *state) first(terms int) (doc uint32, ok bool) {
	for i := range terms {
		if docs := st.terms[i].docs; len(docs) > 0 && (!ok || docs[0] < doc) {
			doc, ok = docs[0], true
		}
	}
	return doc, ok
}

// score adds a term to the scores of the window's documents that have it, and
// marks those that reach need.
func (s *Searcher) score(st *state, t *queryTerm, base uint32, need float64) {
	docs, tfs := t.docs, t.tfs[:len(t.docs)]
	norms := st.norms[base:min(int(base)+windowSize, len(st.norms))]
	for i, doc := range docs {
		at := doc - base
		if int(at) >= len(norms) {
			return
		}
		tf := float64(tfs[i])
		if tfs[i] == manyTimes {
			tf = float64(t.tf(t.at + i))
		}
		at %= windowSize
		score := st.scores[at] + float64(t.weight*(float64(tf*s.scale)/(tf+norms[at])))
		st.scores[at] = score
		var near uint64 // without a branch: it would be guessed wrong too often
		if score >= need {
			near = 1
		}
		st.near[at/64] |= near << (at % 64)
	}
}

// forget passes over the term's documents in the window and takes back their
// scores.
func (st *state) forget(t *queryTerm, base uint32) {
	for i, doc := range t.docs {
		at := doc - base
		if at >= windowSize {
			t.skip(i)
			return
		}
		st.scores[at] = 0
	}
	t.skip(len(t.docs))
}

func (t *queryTerm) skip(n int) {
	t.docs, t.tfs, t.at = t.docs[n:], t.tfs[n:], t.at+n
}

// collect completes the scores of the marked documents and keeps the best.
func (s *Searcher) collect(st *state, base uint32, essential int) {
	for i, word := range st.near {
		for ; word != 0; word &= word - 1 {
			at := i*64 + bits.TrailingZeros64(word)
			doc := base + uint32(at)
			if score := s.complete(st, doc, st.scores[at], essential); score >= st.least {
				st.best.Push(axes.Hit{Ordinal: doc, Score: score})
			}
		}
		st.near[i] = 0
	}
}

// complete adds the terms from the given one on to the score of a document, or
// stops when the document cannot rank any more.
func (s *Searcher) complete(st *state, doc uint32, score float64, from int) float64 {
	for i := from; i < len(st.terms); i++ {
		t := &st.terms[i]
		if (score+t.rest)*slack < st.least {
			return math.Inf(-1)
		}
		score += s.lookUp(st.part, t, doc)
	}
	return score
}

// lookUp returns what a term adds to the score of a document, which lies behind
// those that it was looked up for before.
func (s *Searcher) lookUp(p *part, t *queryTerm, doc uint32) float64 {
	if t.members != nil {
		if place, ok := t.members.find(doc); ok {
			return float64(t.weight * s.part(p, &t.list, place))
		}
		return 0
	}
	t.skip(gallop(t.docs, doc))
	if len(t.docs) == 0 || t.docs[0] != doc {
		return 0
	}
	return float64(t.weight * s.part(p, &t.list, t.at))
}

// gallop returns how many of the ascending docs come before doc.
func gallop(docs []uint32, doc uint32) int {
	low, high := 0, 1 // docs[:low] come before, docs[high] may not
	for high < len(docs) && docs[high-1] < doc {
		low, high = high, 2*high
	}
	high = min(high, len(docs))
	for low < high {
		mid := int(uint(low+high) / 2)
		if docs[mid] < doc {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}
