package inverted

import (
	"fmt"
	"math"
	"sync"
)

// BM25 says how documents are scored. A document's score is the sum over the
// distinct terms of the question of
//
//	count · idf · (tf · s) / (tf + K1 · (1 − B + B · length / mean length))
//
// with count the occurrences of the term in the question and tf those in the
// document. Lucene's variant (from Lucene 8.0 on, but with exact lengths) has
// s = 1 and idf = ln(1 + (N − df + 0.5) / (df + 0.5)). The Okapi variant, as
// rank_bm25 0.2.2 computes it, has s = K1 + 1 and idf = ln(N − df + 0.5) −
// ln(df + 0.5), in place of which a term with a negative one gets Epsilon times
// the mean over all terms, the negative ones included.
//
// N and the mean length count empty documents. The sum is made in double
// precision from the rarest term to the most frequent, equal ones by their
// bytes.
type BM25 struct {
	K1, B   float64
	Okapi   bool
	Epsilon float64 // of the Okapi variant
}

// Searcher ranks the documents of an index, in one piece or in parts, by BM25. It is
// safe for concurrent use.
type Searcher struct {
	BM25
	parts   []*part
	docs    float64 // of all parts
	scale   float64
	floor   float64 // what a term with a negative idf has instead, of the Okapi variant
	threads int
	pool    sync.Pool // of *state
	asked   sync.Pool // of *question
}

// Part is one of the pieces that the index over a corpus was built in.
type Part struct {
	Index *Mapped
	// Ordinals are the places in the corpus of the part's documents, ascending; nil: the
	// part is the corpus.
	Ordinals []uint32
}

// NewSearcher prepares an index for search.
func NewSearcher(x *Index, p BM25) *Searcher {
	return newSearcher(p, []*part{{piece: x, fixed: newFixed(x)}}, 1)
}

// NewPartsSearcher prepares the parts of an index for search, each of which may be
// searched by a thread of its own. Numbers of documents, mean length and frequencies
// are those of all parts together, so that scores and rankings are the very ones of
// an index in one piece. Postings that were decoded are kept for the next question in
// at most so many bytes.
func NewPartsSearcher(parts []Part, p BM25, threads int, keep int64) (*Searcher, error) {
	memory := newRecent(keep)
	of := make([]*part, len(parts))
	for i, x := range parts {
		if x.Ordinals != nil && x.Index.Len() != len(x.Ordinals) {
			return nil, fmt.Errorf("part %d: %d documents have %d places in the corpus", i, x.Index.Len(), len(x.Ordinals))
		}
		of[i] = &part{piece: x.Index, ordinals: x.Ordinals, place: i, recent: memory}
	}
	return newSearcher(p, of, max(threads, 1)), nil
}

func newSearcher(p BM25, parts []*part, threads int) *Searcher {
	s := &Searcher{BM25: p, parts: parts, scale: 1, threads: threads}
	docs, tokens := 0, uint64(0)
	for _, x := range parts {
		docs, tokens = docs+x.Len(), tokens+x.total()
	}
	s.docs = float64(docs)
	mean := float64(tokens) / float64(docs)
	for _, x := range parts {
		x.norms = norms(x.lengths(), p, mean)
	}
	if p.Okapi {
		s.scale, s.floor = p.K1+1, p.Epsilon*s.meanIDF()
	}
	s.pool.New = func() any { return new(state) }
	s.asked.New = func() any { return new(question) }
	return s
}

// norms computes every document's part of the denominator, in the order of
// rank_bm25's operations. Products are rounded before they are added, so that
// no machine fuses the two.
func norms(lens []uint32, p BM25, mean float64) []float64 {
	norms := make([]float64, len(lens))
	for i, n := range lens {
		part := float64(p.B*float64(n)) / mean
		if mean == 0 {
			part = 0
		}
		norms[i] = p.K1 * (1 - p.B + part)
	}
	return norms
}

// idf is the weight of a term in so many documents.
func (s *Searcher) idf(df int) float64 {
	n := float64(df)
	if !s.Okapi {
		return math.Log(1 + (s.docs-n+0.5)/(n+0.5))
	}
	if v := s.okapi(n); v >= 0 {
		return v
	}
	return s.floor
}

func (s *Searcher) okapi(df float64) float64 {
	return math.Log(s.docs-df+0.5) - math.Log(df+0.5)
}

// meanIDF is the mean over all terms, added up in the order of their bytes.
func (s *Searcher) meanIDF() float64 {
	sum, terms := 0.0, 0
	for df := range s.frequencies() {
		sum += s.okapi(float64(df))
		terms++
	}
	return sum / float64(terms)
}
