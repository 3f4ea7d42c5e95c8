package retriever

import (
	"raglab/axes"
	"raglab/axes/retriever/topk"
)

// fusion sums what the legs give to each chunk. The zero value is ready. Legs
// must be added in order.
type fusion struct {
	sums  []share
	place map[uint32]int // of an ordinal in sums
}

// share is a chunk's sum so far and the last leg that gave to it.
type share struct {
	ordinal uint32
	leg     int
	score   float64
}

// add gives a chunk its part of a leg. Only a leg's first mention of a chunk
// counts.
func (f *fusion) add(leg int, ordinal uint32, score float64) {
	if f.place == nil {
		f.place = make(map[uint32]int)
	}
	at, known := f.place[ordinal]
	switch {
	case !known:
		f.place[ordinal] = len(f.sums)
		f.sums = append(f.sums, share{ordinal, leg, score})
	case f.sums[at].leg != leg:
		f.sums[at].leg = leg
		f.sums[at].score += score
	}
}

// best returns the first depth chunks in order.
func (f *fusion) best(depth int) []axes.Hit {
	var c topk.Collector
	c.Reset(min(depth, len(f.sums)))
	for _, s := range f.sums {
		c.Push(axes.Hit{Ordinal: s.ordinal, Score: s.score})
	}
	return c.Append(nil)
}
