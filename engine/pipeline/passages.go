package pipeline

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"raglab/axes"
	"raglab/axes/retriever"
)

// passages tell which chunks are ranked as one: those that are returned as the same
// passage. The zero value ranks every chunk for itself.
type passages struct {
	// ranked is the ordinal under which each chunk of a passage of several is
	// ranked: the first one's.
	ranked map[uint32]uint32
	// sizes are how many chunks those passages have.
	sizes []int
}

// read adds the passages of a document whose n chunks begin at an ordinal, by the
// number of chunks in each.
func (p *passages) read(ordinal, n int, sizes string) error {
	end := ordinal + n
	for text := range strings.SplitSeq(sizes, ",") {
		size, err := strconv.Atoi(text)
		if err != nil || size < 1 || ordinal+size > end {
			return fmt.Errorf("passages of %s chunks", sizes)
		}
		if size > 1 {
			p.add(uint32(ordinal), size)
		}
		ordinal += size
	}
	if ordinal != end {
		return fmt.Errorf("passages of %s chunks are not %d", sizes, n)
	}
	return nil
}

func (p *passages) add(first uint32, size int) {
	if p.ranked == nil {
		p.ranked = map[uint32]uint32{}
	}
	for i := range uint32(size) {
		p.ranked[first+i] = first
	}
	p.sizes = append(p.sizes, size)
}

// chunksFor is how many of the best chunks hold so many passages for sure: all
// chunks of the largest ones but one may come first.
func (p *passages) chunksFor(depth, chunks int) int {
	if len(p.sizes) == 0 {
		return depth
	}
	slices.SortFunc(p.sizes, func(a, b int) int { return b - a })
	n := depth
	for _, size := range p.sizes[:min(len(p.sizes), depth-1)] {
		n += size - 1
	}
	return min(n, max(depth, chunks))
}

// collapse turns a ranking of chunks into one of passages, in place: each stands
// where the best of its chunks stands, under the first one's ordinal. Equal scores
// stay in order, because a passage's chunks follow one another in the corpus.
func (p *passages) collapse(hits []axes.Hit, depth int) []axes.Hit {
	if len(p.sizes) == 0 {
		return hits
	}
	seen := make(map[uint32]bool, depth)
	out := hits[:0]
	for _, h := range hits {
		if first, ok := p.ranked[h.Ordinal]; ok {
			if seen[first] {
				continue
			}
			seen[first] = true
			h.Ordinal = first
		}
		if out = append(out, h); len(out) == depth {
			break
		}
	}
	return out
}

// askable is the greatest number of chunks, up to want, that a leaf can be asked for;
// it can be asked for depth.
func askable(leaf retriever.Leaf, depth, want int) int {
	limited, ok := leaf.(retriever.DepthLimiter)
	if !ok || want <= depth || limited.CheckDepth(want) == nil {
		return want
	}
	return depth + sort.Search(want-depth, func(more int) bool { return limited.CheckDepth(depth+more+1) != nil })
}
