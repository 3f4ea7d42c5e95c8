package inverted

import (
	"math"
	"sync"
	"sync/atomic"

	"raglab/axes"
	"raglab/axes/retriever/topk"
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

// Searcher ranks documents by BM25. It is safe for concurrent use.
type Searcher struct {
	x     *Index
	scale float64
	idf   []float64 // by term
	norms []float64 // by document: K1 · (1 − B + B · length / mean length)
	stats []atomic.Pointer[termStats]
	pool  sync.Pool // of *state
}

// NewSearcher prepares an index for search.
func NewSearcher(x *Index, p BM25) *Searcher {
	s := &Searcher{x: x, scale: 1, norms: x.norms(p)}
	if p.Okapi {
		s.scale, s.idf = p.K1+1, x.okapi(p.Epsilon)
	} else {
		s.idf = x.lucene()
	}
	s.stats = make([]atomic.Pointer[termStats], x.Terms())
	s.pool.New = func() any { return new(state) }
	return s
}

// norms computes every document's part of the denominator, in the order of
// rank_bm25's operations. Products are rounded before they are added, so that
// no machine fuses the two.
func (x *Index) norms(p BM25) []float64 {
	mean := float64(x.tokens) / float64(len(x.lens))
	norms := make([]float64, len(x.lens))
	for i, n := range x.lens {
		part := float64(p.B*float64(n)) / mean
		if x.tokens == 0 {
			part = 0
		}
		norms[i] = p.K1 * (1 - p.B + part)
	}
	return norms
}

func (x *Index) lucene() []float64 {
	idf := make([]float64, x.Terms())
	for term := range idf {
		df := float64(x.df(term))
		idf[term] = math.Log(1 + (float64(len(x.lens))-df+0.5)/(df+0.5))
	}
	return idf
}

func (x *Index) okapi(epsilon float64) []float64 {
	idf, sum := make([]float64, x.Terms()), 0.0
	for term := range idf {
		df := float64(x.df(term))
		idf[term] = math.Log(float64(len(x.lens))-df+0.5) - math.Log(df+0.5)
		sum += idf[term]
	}
	floor := epsilon * (sum / float64(len(idf)))
	for term, v := range idf {
		if v < 0 {
			idf[term] = floor
		}
	}
	return idf
}

// termStats is what search wants to know of all postings of a term. It is found
// out when a term is first asked for: most never are.
type termStats struct {
	most    float64 // the largest part, see [Searcher.part]
	depth   int
	floor   float64  // so many documents as depth have at least this part, or it is 0
	members *members // of a frequent term, else nil
}

// statsOf returns a term's statistics for rankings of a depth.
func (s *Searcher) statsOf(term, depth int) *termStats {
	known := s.stats[term].Load()
	if known != nil && known.depth == depth {
		return known
	}
	st := &termStats{depth: depth}
	if known != nil {
		st.members = known.members
	} else if n := s.x.Len(); s.x.df(term) >= n/memberShare {
		st.members = newMembers(s.x.docs[s.x.starts[term]:s.x.starts[term+1]], n)
	}
	var best topk.Collector
	best.Reset(depth)
	for at := s.x.starts[term]; at < s.x.starts[term+1]; at++ {
		part := s.part(at, s.x.docs[at])
		st.most = max(st.most, part)
		best.Push(axes.Hit{Ordinal: s.x.docs[at], Score: part})
	}
	if worst, full := best.Bound(); full {
		st.floor = worst.Score
	}
	s.stats[term].Store(st)
	return st
}

// part is what a posting's term contributes to its document, but for the weight.
func (s *Searcher) part(at uint64, doc uint32) float64 {
	tf := float64(s.x.tf(at))
	return float64(tf*s.scale) / (tf + s.norms[doc])
}
