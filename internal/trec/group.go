package trec

import "strings"

// grouper gathers lines by question. Lines of one question mostly stand
// together: those share one growing array, and only a question that comes back
// costs a copy.
type grouper[T any] struct {
	items  []T
	start  int // where the question being read begins in items
	groups []group[T]
	places map[string]int
	open   string // the question being read
}

type group[T any] struct {
	question string
	items    []T
}

// newGrouper makes room for all lines of the text at once.
func newGrouper[T any](text string) *grouper[T] {
	return &grouper[T]{items: make([]T, 0, strings.Count(text, "\n")+1), places: map[string]int{}}
}

func (g *grouper[T]) add(question string, item T) {
	if question != g.open || len(g.items) == g.start {
		g.flush()
		g.open = question
	}
	g.items = append(g.items, item)
}

// flush ends the question being read.
func (g *grouper[T]) flush() {
	read := g.items[g.start:len(g.items):len(g.items)]
	g.start = len(g.items)
	if len(read) == 0 {
		return
	}
	if place, ok := g.places[g.open]; ok {
		g.groups[place].items = append(g.groups[place].items, read...)
		return
	}
	g.places[g.open] = len(g.groups)
	g.groups = append(g.groups, group[T]{g.open, read})
}
