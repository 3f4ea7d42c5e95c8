package metric

import (
	"slices"
	"strings"
)

// pieces finds the longest piece of a span that a text holds, in time that grows
// with the text alone. It is the suffix automaton of the span, over runes (Blumer
// et al., Theoretical Computer Science 40, 1985).
type pieces struct {
	bare   []int32 // of the first n runes those that are no blank, by n
	states []state
}

// state stands for the pieces of the span that end at the same places.
type state struct {
	edges []edge
	link  int32 // the state of the longest suffix that ends elsewhere too, or -1
	size  int32 // runes of the longest of its pieces
	end   int32 // where the first of them ends
}

// edge leads to the state of a piece that is a rune longer. Most states have one.
type edge struct {
	r  rune
	to int32
}

// next returns where a rune leads, or -1.
func (s *state) next(r rune) int32 {
	for _, e := range s.edges {
		if e.r == r {
			return e.to
		}
	}
	return -1
}

func (s *state) lead(r rune, to int32) {
	for i := range s.edges {
		if s.edges[i].r == r {
			s.edges[i].to = to
			return
		}
	}
	s.edges = append(s.edges, edge{r, to})
}

func newPieces(span string) *pieces {
	p := &pieces{bare: []int32{0}, states: []state{{link: -1}}}
	last := int32(0)
	for _, r := range span {
		n := p.bare[len(p.bare)-1]
		if r != ' ' {
			n++
		}
		p.bare = append(p.bare, n)
		last = p.extend(last, r)
	}
	return p
}

// extend adds a rune behind the state of the whole text so far.
func (p *pieces) extend(last int32, r rune) int32 {
	size := p.states[last].size + 1
	current := p.add(state{size: size, end: size})
	at := last
	for ; at >= 0 && p.states[at].next(r) < 0; at = p.states[at].link {
		p.states[at].lead(r, current)
	}
	if at >= 0 {
		p.states[current].link = p.split(at, r)
	}
	return current
}

// split returns the state that r leads to from a state, one of its own for the
// piece that is one rune longer than the state's longest.
func (p *pieces) split(at int32, r rune) int32 {
	to := p.states[at].next(r)
	if p.states[to].size == p.states[at].size+1 {
		return to
	}
	clone := p.add(state{
		edges: slices.Clone(p.states[to].edges), link: p.states[to].link,
		size: p.states[at].size + 1, end: p.states[to].end,
	})
	p.states[to].link = clone
	for ; at >= 0 && p.states[at].next(r) == to; at = p.states[at].link {
		p.states[at].lead(r, clone)
	}
	return clone
}

func (p *pieces) add(s state) int32 {
	p.states = append(p.states, s)
	return int32(len(p.states) - 1)
}

// longest returns how many characters, blanks left out, the longest piece of the
// span has that stands in the folded text.
func (p *pieces) longest(text string) int {
	best, at, size := int32(0), int32(0), int32(0)
	for _, r := range text {
		to := p.states[at].next(r)
		for to < 0 && at > 0 {
			at = p.states[at].link
			size = p.states[at].size
			to = p.states[at].next(r)
		}
		if to < 0 {
			continue // no piece ends here
		}
		at = to
		size++
		end := p.states[at].end
		best = max(best, p.bare[end]-p.bare[end-size])
	}
	return int(best)
}

// chain follows a span through neighbouring chunks. Texts are without blanks,
// because a cut may fall on one.
type chain struct {
	span string
	// reach is how far the chunks so far hold the span from its beginning, up to
	// the last one's end.
	reach    int
	complete bool
}

// add goes on with the next chunk of the document.
func (c *chain) add(body string) {
	if c.complete {
		return
	}
	c.reach = max(c.continued(body), c.begun(body))
	c.complete = c.reach == len(c.span)
}

// begun is the length of the longest beginning of the span that the body ends with.
func (c *chain) begun(body string) int {
	for n := min(len(c.span), len(body)); n > 0; n-- {
		if strings.HasSuffix(body, c.span[:n]) {
			return n
		}
	}
	return 0
}

// continued is how far the span goes when the body takes it up, at or before where
// the last chunk ended: up to the body's end, or the span's.
func (c *chain) continued(body string) int {
	reach := 0
	for from := 0; from <= c.reach && c.reach > 0; from++ {
		n := min(len(c.span)-from, len(body))
		if body[:n] == c.span[from:from+n] {
			reach = max(reach, from+n)
		}
	}
	return reach
}
