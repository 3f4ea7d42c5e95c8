package inverted

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"

	"raglab/axes"
	"raglab/axes/retriever/topk"
)

// windowSize is how many documents are scored together: their scores and norms
// fit the processor's first cache.
const windowSize = 2048

// state is the memory that one search uses.
type state struct {
	terms  []queryTerm
	scores [windowSize]float64     // of the window's documents; 0 between windows
	near   [windowSize / 64]uint64 // which of them may rank; 0 between windows
	least  float64                 // so many documents as are wanted score this or more
	best   topk.Collector
}

// queryTerm is a distinct term of a question that the index knows, and how far
// its postings have been read.
type queryTerm struct {
	term   int
	weight float64  // count · idf
	rest   float64  // no document gets more from it and the terms after it
	docs   []uint32 // the postings that are still to come
	tfs    []uint8
	at     uint64 // the place of the first of them
	from   uint64 // the place of the term's first
	has    *members
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
// brought close enough (MaxScore; Turtle and Flood 1995).
func (s *Searcher) Search(ctx context.Context, terms func(emit func(term []byte)), depth int, dst []axes.Hit) ([]axes.Hit, error) {
	if err := context.Cause(ctx); err != nil {
		return dst, err
	}
	st := s.pool.Get().(*state)
	defer s.pool.Put(st)
	if depth <= 0 {
		return dst, nil
	}
	s.resolve(st, terms)
	s.bound(st, depth)
	st.best.Reset(depth)
	s.rank(st)
	return st.best.Append(dst), nil
}

// resolve finds the question's terms and orders them.
func (s *Searcher) resolve(st *state, terms func(emit func(term []byte))) {
	st.terms = st.terms[:0]
	terms(func(term []byte) {
		if id, ok := s.x.terms.find(term); ok {
			st.terms = append(st.terms, queryTerm{term: id, weight: 1})
		}
	})
	slices.SortFunc(st.terms, func(a, b queryTerm) int {
		return cmp.Or(cmp.Compare(s.x.df(a.term), s.x.df(b.term)), cmp.Compare(a.term, b.term))
	})
	distinct := st.terms[:0]
	for _, t := range st.terms {
		if n := len(distinct); n > 0 && distinct[n-1].term == t.term {
			distinct[n-1].weight++
			continue
		}
		distinct = append(distinct, t)
	}
	st.terms = distinct
	for i := range distinct {
		t := &distinct[i]
		t.weight *= s.idf[t.term]
		from, to := s.x.starts[t.term], s.x.starts[t.term+1]
		t.docs, t.tfs, t.at, t.from = s.x.docs[from:to], s.x.tfs[from:to], from, from
	}
}

// bound sets what is known beforehand: how much the terms may add at most, and
// that a ranking of the wanted depth can be made of any one term alone. Neither
// holds when a term takes from a score, so then nothing is ruled out.
func (s *Searcher) bound(st *state, depth int) {
	rest, positive := 0.0, true
	st.least = 0
	for i := len(st.terms) - 1; i >= 0; i-- {
		t := &st.terms[i]
		stats := s.statsOf(t.term, depth)
		rest += t.weight * stats.most
		t.rest, t.has = rest, stats.members
		st.least = max(st.least, t.weight*stats.floor)
		positive = positive && t.weight > 0
	}
	if positive {
		return
	}
	st.least = math.Inf(-1)
	for i := range st.terms {
		st.terms[i].rest = math.Inf(1)
	}
}

// rank scores all documents that may rank.
func (s *Searcher) rank(st *state) {
	essential := len(st.terms) // a document that ranks has one of so many first terms
	for {
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
		need := st.least/slack - rest
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
	norms := s.norms[base:min(int(base)+windowSize, len(s.norms))]
	for i, doc := range docs {
		at := doc - base
		if int(at) >= len(norms) {
			return
		}
		tf := float64(tfs[i])
		if tfs[i] == manyTimes {
			tf = float64(s.x.often[t.at+uint64(i)])
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
	t.docs, t.tfs, t.at = t.docs[n:], t.tfs[n:], t.at+uint64(n)
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
		score += s.lookUp(t, doc)
	}
	return score
}

// lookUp returns what a term adds to the score of a document, which lies behind
// those that it was looked up for before.
func (s *Searcher) lookUp(t *queryTerm, doc uint32) float64 {
	if t.has != nil {
		if place, ok := t.has.find(doc); ok {
			return float64(t.weight * s.part(t.from+place, doc))
		}
		return 0
	}
	t.skip(gallop(t.docs, doc))
	if len(t.docs) == 0 || t.docs[0] != doc {
		return 0
	}
	return float64(t.weight * s.part(t.at, doc))
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
