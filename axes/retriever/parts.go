package retriever

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"raglab/axes"
	"raglab/axes/retriever/topk"
	"raglab/axes/text"
)

// Part is one of the pieces that the index over a large corpus was built in: each
// over some of the documents, in the order of the corpus.
type Part struct {
	// Index is what Build, or of a resident leaf BuildAs, wrote. It may be a file
	// mapped into memory: it must not be changed, and is there until the searcher has
	// been closed.
	Index []byte
	// Ordinals are the places in the whole corpus of the part's chunks, by their
	// ordinal in the part; they ascend. Like Index it may be mapped. Nil: the part is
	// the corpus.
	Ordinals []uint32
}

// ordinal is the place in the corpus of a chunk of the part, which may have none of
// that number.
func (p Part) ordinal(place uint32) (ordinal uint32, ok bool) {
	switch {
	case p.Ordinals == nil:
		return place, true
	case int(place) >= len(p.Ordinals):
		return 0, false
	}
	return p.Ordinals[place], true
}

// Parted is implemented by leaves for which it is not enough, or not the fastest, to
// search each part of an index by itself and to merge what is found: as where scores
// depend on statistics of the whole corpus.
type Parted interface {
	Leaf
	// OpenParts opens the parts of an index as one. Hits have ordinals of the whole
	// corpus; rankings and scores are the very ones of an index in one piece.
	OpenParts(ctx context.Context, parts []Part, analyzer text.Analyzer) (Searcher, error)
}

// checkPart refuses a part that has other places in the corpus than one for each of its
// chunks, and a corpus of no parts.
func checkPart(parts []Part, i, chunks int) error {
	p := parts[i]
	if p.Ordinals == nil && len(parts) > 1 || p.Ordinals != nil && len(p.Ordinals) != chunks {
		return fmt.Errorf("part %d has %d chunks, and %d places in the corpus", i, chunks, len(p.Ordinals))
	}
	return nil
}

// PartError says which of the parts of an index something is wrong with.
type PartError struct {
	// Part is its place among them.
	Part int
	Err  error
}

func (e *PartError) Error() string { return fmt.Sprintf("part %d: %v", e.Part, e.Err) }

// Unwrap returns what is wrong.
func (e *PartError) Unwrap() error { return e.Err }

// errNoParts says that a corpus has no parts: an empty one has one that is empty.
var errNoParts = errors.New("open index: it has no part")

// OpenParts opens the parts of an index, which a leaf built, as one. Unless the leaf
// is [Parted] every part is opened by itself, they are asked one after the other, and
// their hits are merged: score descending, then place in the corpus.
func OpenParts(ctx context.Context, leaf Leaf, parts []Part, analyzer text.Analyzer) (Searcher, error) {
	if l, ok := leaf.(Parted); ok {
		return l.OpenParts(ctx, parts, analyzer)
	}
	open := func(_ int, p Part) (Searcher, error) {
		return leaf.Open(ctx, bytes.NewReader(p.Index), int64(len(p.Index)), analyzer)
	}
	return openMerged(parts, 1, open)
}

// openMerged opens every part by itself.
func openMerged(parts []Part, threads int, open func(i int, p Part) (Searcher, error)) (Searcher, error) {
	if len(parts) == 0 {
		return nil, errNoParts
	}
	m := &merged{threads: max(threads, 1)}
	blank := true
	for i, p := range parts {
		s, err := open(i, p)
		if err != nil {
			return nil, errors.Join(&PartError{i, err}, m.Close())
		}
		m.parts = append(m.parts, partSearcher{s, p})
		_, tells := s.(Blanker)
		blank = blank && tells
	}
	if blank {
		return blankMerged{m}, nil
	}
	return m, nil
}

// blankMerged is merged with parts that are [Blanker].
type blankMerged struct{ *merged }

// Blank implements [Blanker]: what a part's searcher says of a question does not depend
// on what the part holds.
func (m blankMerged) Blank(q axes.Query) bool { return m.parts[0].Searcher.(Blanker).Blank(q) }

// merged searches the parts of an index whose scores do not depend on one another.
type merged struct {
	parts   []partSearcher
	threads int
}

// partSearcher ranks the chunks of a part by their places in the whole corpus.
type partSearcher struct {
	Searcher
	Part
}

// Search implements [Searcher]. In a part chunks have the order that they have in the
// corpus, so that of equal scores the first of a part are the first of all.
func (m *merged) Search(ctx context.Context, q axes.Query, depth int, dst []axes.Hit) ([]axes.Hit, error) {
	found := make([][]axes.Hit, len(m.parts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(m.threads)
	for i, p := range m.parts {
		group.Go(func() (err error) {
			if found[i], err = p.search(ctx, q, depth); err != nil {
				return &PartError{i, err}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return dst, err
	}
	return Merge(found, depth, dst), nil
}

func (p partSearcher) search(ctx context.Context, q axes.Query, depth int) ([]axes.Hit, error) {
	hits, err := p.Searcher.Search(ctx, q, depth, nil)
	if err != nil {
		return nil, err
	}
	for i, h := range hits {
		ordinal, ok := p.ordinal(h.Ordinal)
		if !ok {
			return nil, fmt.Errorf("hit %d is outside the part of %d chunks", h.Ordinal, len(p.Ordinals))
		}
		hits[i].Ordinal = ordinal
	}
	return hits, nil
}

// Merge appends the best depth of the hits of several parts to dst, ordered as
// [axes.Hit] says. Each chunk is a hit of one part.
func Merge(parts [][]axes.Hit, depth int, dst []axes.Hit) []axes.Hit {
	var best topk.Collector
	best.Reset(depth)
	for _, hits := range parts {
		for _, h := range hits {
			best.Push(h)
		}
	}
	return best.Append(dst)
}

// Close closes all parts.
func (m *merged) Close() error {
	var errs []error
	for _, p := range m.parts {
		errs = append(errs, p.Searcher.Close())
	}
	return errors.Join(errs...)
}
