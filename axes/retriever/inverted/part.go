package inverted

import (
	"bytes"
	"container/heap"
	"iter"
	"sync/atomic"
	"unsafe"

	"raglab/axes"
	"raglab/axes/retriever/topk"
)

// piece is an index over some documents.
type piece interface {
	// Len is the number of documents, lengths are how many terms they have, and total
	// is the sum of those.
	Len() int
	lengths() []uint32
	total() uint64
	// look finds a term.
	look(term []byte) (found, bool)
	// postings reads the postings of a term that was found.
	postings(f found) (list, error)
	// each yields the terms in the order of their bytes, each valid until the next, and
	// in how many documents they are.
	each() iter.Seq2[[]byte, int]
}

// found is a term of a piece: its number, in how many documents it is, and where its
// postings are written, if they are not read yet.
type found struct {
	id, df int
	raw    []byte
}

// part is a piece with what search wants to know of it.
type part struct {
	piece
	place    int       // among the parts
	ordinals []uint32  // of the documents in the corpus; nil: their own numbers
	norms    []float64 // by document: K1 · (1 − B + B · length / mean length)
	fixed    fixed     // what is known of a piece in memory
	recent   *recent   // what is known of a mapped piece
}

func (x *Index) lengths() []uint32 { return x.lens }
func (x *Index) total() uint64     { return x.tokens }

func (x *Index) look(term []byte) (found, bool) {
	id, ok := x.terms.find(term)
	if !ok {
		return found{}, false
	}
	return found{id: id, df: x.df(id)}, true
}

func (x *Index) postings(f found) (list, error) { return x.list(f.id), nil }

func (x *Index) each() iter.Seq2[[]byte, int] {
	return func(yield func([]byte, int) bool) {
		for id := range x.Terms() {
			if !yield(x.terms.term(id), x.df(id)) {
				return
			}
		}
	}
}

func (x *Mapped) lengths() []uint32 { return x.lens }
func (x *Mapped) total() uint64     { return x.tokens }

func (x *Mapped) look(term []byte) (found, bool) {
	d, ok := x.marks.seek(x.dict, x.docs, term)
	if !ok {
		return found{}, false
	}
	end := uint64(len(x.lists)) - d.left
	return found{d.n - 1, int(d.df), x.lists[end-d.size : end]}, true
}

func (x *Mapped) postings(f found) (list, error) { return decodeList(f.raw, f.df, x.docs) }

func (x *Mapped) each() iter.Seq2[[]byte, int] {
	return func(yield func([]byte, int) bool) {
		d := x.dictionary()
		for {
			// It was read to its end when the index was opened.
			if more, err := d.next(); !more || err != nil || !yield(d.term, int(d.df)) {
				return
			}
		}
	}
}

// frequencies yields in how many documents each term of all parts is, in the order of
// the terms' bytes.
func (s *Searcher) frequencies() iter.Seq[int] {
	return func(yield func(int) bool) {
		var heads vocabularies
		for _, p := range s.parts {
			next, stop := iter.Pull2(p.each())
			defer stop()
			h := &vocabularyHead{next: next}
			if h.advance() {
				heads = append(heads, h)
			}
		}
		heap.Init(&heads)
		var term []byte
		for len(heads) > 0 {
			term = append(term[:0], heads[0].term...)
			df := 0
			for len(heads) > 0 && bytes.Equal(heads[0].term, term) {
				df += heads[0].df
				if heads[0].advance() {
					heap.Fix(&heads, 0)
				} else {
					heap.Pop(&heads)
				}
			}
			if !yield(df) {
				return
			}
		}
	}
}

// vocabularyHead is the next term of a part.
type vocabularyHead struct {
	next func() ([]byte, int, bool)
	term []byte
	df   int
}

func (h *vocabularyHead) advance() (ok bool) {
	h.term, h.df, ok = h.next()
	return ok
}

// vocabularies is a heap of parts by their next term.
type vocabularies []*vocabularyHead

func (v vocabularies) Len() int           { return len(v) }
func (v vocabularies) Less(i, j int) bool { return bytes.Compare(v[i].term, v[j].term) < 0 }
func (v vocabularies) Swap(i, j int)      { v[i], v[j] = v[j], v[i] }
func (v *vocabularies) Push(x any)        { *v = append(*v, x.(*vocabularyHead)) }

func (v *vocabularies) Pop() any {
	last := (*v)[len(*v)-1]
	*v = (*v)[:len(*v)-1]
	return last
}

// postings is what search wants to know of a term: its list, and what it takes a
// pass over the list to find out.
type postings struct {
	list
	bounds
	members *members // of a frequent term, else nil
}

// bounds are what a term can add to a score.
type bounds struct {
	most  float64 // the largest part, see [Searcher.part]
	depth int
	floor float64 // so many documents as depth have at least this part, or it is 0
}

// bytes is about how much memory the postings of a mapped piece take.
func (p *postings) bytes() int64 {
	n := int64(unsafe.Sizeof(*p)) + 5*int64(len(p.docs))
	if p.members != nil {
		n += 12 * int64(len(p.members.bits))
	}
	return n
}

// fixed keeps what is known of each term of a piece in memory.
type fixed []atomic.Pointer[postings]

func newFixed(x *Index) fixed { return make(fixed, x.Terms()) }

// postingsOf returns a term's postings, for rankings of a depth.
func (s *Searcher) postingsOf(p *part, f found, depth int) (*postings, error) {
	if p.recent != nil {
		return s.recalled(p, f, depth)
	}
	known := p.fixed[f.id].Load()
	if known != nil && known.depth == depth {
		return known, nil
	}
	l, err := p.postings(f)
	if err != nil {
		return nil, err
	}
	now := &postings{list: l}
	if known != nil {
		now.members = known.members
	} else {
		now.members = p.membersOf(&l)
	}
	now.bounds = s.boundsOf(p, &l, depth)
	p.fixed[f.id].Store(now)
	return now, nil
}

// recalled is postingsOf for a mapped piece.
func (s *Searcher) recalled(p *part, f found, depth int) (*postings, error) {
	id := termID{p.place, f.id}
	known, b := p.recent.get(id)
	switch {
	case known == nil:
		l, err := p.postings(f)
		if err != nil {
			return nil, err
		}
		known = &postings{list: l, members: p.membersOf(&l)}
	case b.depth == depth:
		return known, nil
	}
	now := &postings{list: known.list, members: known.members, bounds: b}
	if b.depth != depth {
		now.bounds = s.boundsOf(p, &now.list, depth)
	}
	p.recent.put(id, now)
	return now, nil
}

// membersOf are those of a frequent term.
func (p *part) membersOf(l *list) *members {
	if n := p.Len(); len(l.docs) >= n/memberShare {
		return newMembers(l.docs, n)
	}
	return nil
}

// boundsOf finds out what a term can add. Most terms are never asked for.
func (s *Searcher) boundsOf(p *part, l *list, depth int) bounds {
	b := bounds{depth: depth}
	var best topk.Collector
	best.Reset(depth)
	for i, doc := range l.docs {
		share := s.part(p, l, i)
		b.most = max(b.most, share)
		best.Push(axes.Hit{Ordinal: doc, Score: share})
	}
	if worst, full := best.Bound(); full {
		b.floor = worst.Score
	}
	return b
}

// part is what a posting's term contributes to its document, but for the weight.
func (s *Searcher) part(p *part, l *list, i int) float64 {
	tf := float64(l.tf(i))
	return float64(tf*s.scale) / (tf + p.norms[l.docs[i]])
}
