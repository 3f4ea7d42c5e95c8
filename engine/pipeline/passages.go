package pipeline

import (
	"maps"
	"slices"
	"sort"

	"raglab/axes/retriever"
)

// passages count those of several chunks, which are ranked as one: by how many chunks
// they have. The zero value ranks every chunk for itself.
type passages struct{ sizes map[int]int }

func (p *passages) add(size int) {
	if p.sizes == nil {
		p.sizes = map[int]int{}
	}
	p.sizes[size]++
}

// several reports whether there is such a passage.
func (p *passages) several() bool { return len(p.sizes) > 0 }

// chunksFor is how many of the best chunks hold so many passages for sure: all
// chunks of the largest ones but one may come first.
func (p *passages) chunksFor(depth, chunks int) int {
	if !p.several() {
		return depth
	}
	n, left := depth, depth-1
	for _, size := range slices.Backward(slices.Sorted(maps.Keys(p.sizes))) {
		these := min(left, p.sizes[size])
		n, left = n+these*(size-1), left-these
	}
	return min(n, max(depth, chunks))
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
