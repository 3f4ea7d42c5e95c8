package inverted

import (
	linked "container/list"
	"sync"
)

// termID tells the terms of all parts apart.
type termID struct{ part, term int }

// recent keeps the postings that were asked for last, in so many bytes, and what
// bounds the terms of all that ever were. It is safe for concurrent use.
type recent struct {
	mu     sync.Mutex
	keep   int64
	used   int64
	last   *linked.List // of *remembered, the last asked for in front
	places map[termID]*linked.Element
	bounds map[termID]bounds
}

type remembered struct {
	id    termID
	terms *postings
	bytes int64
}

func newRecent(keep int64) *recent {
	return &recent{keep: keep, last: linked.New(), places: map[termID]*linked.Element{}, bounds: map[termID]bounds{}}
}

// get returns a term's postings, or nil when they are not kept, and its bounds, of
// depth 0 when it has never been asked for.
func (r *recent) get(id termID) (*postings, bounds) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.places[id]
	if !ok {
		return nil, r.bounds[id]
	}
	r.last.MoveToFront(at)
	return at.Value.(*remembered).terms, r.bounds[id]
}

// put keeps a term's postings, and lets go of those that were not asked for longest.
func (r *recent) put(id termID, p *postings) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bounds[id] = p.bounds
	if at, ok := r.places[id]; ok {
		r.remove(at)
	}
	m := &remembered{id, p, p.bytes()}
	r.places[id] = r.last.PushFront(m)
	r.used += m.bytes
	for r.used > r.keep {
		r.remove(r.last.Back())
	}
}

func (r *recent) remove(at *linked.Element) {
	m := r.last.Remove(at).(*remembered)
	r.used -= m.bytes
	delete(r.places, m.id)
}
