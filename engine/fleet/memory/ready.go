package memory

import (
	"slices"
	"strings"

	"raglab/engine/fleet"
)

// heap is a binary heap of nodes that know their places in it.
type heap struct {
	nodes  []*node
	before func(a, b *node) bool
}

func (h *heap) push(n *node) {
	n.in, n.at = h, len(h.nodes)
	h.nodes = append(h.nodes, n)
	h.up(n.at)
}

// remove takes a node out, wherever it is.
func (h *heap) remove(n *node) {
	at, last := n.at, len(h.nodes)-1
	h.swap(at, last)
	h.nodes[last] = nil
	h.nodes = h.nodes[:last]
	n.in = nil
	if at < last {
		h.down(at)
		h.up(at)
	}
}

func (h *heap) swap(i, j int) {
	h.nodes[i], h.nodes[j] = h.nodes[j], h.nodes[i]
	h.nodes[i].at, h.nodes[j].at = i, j
}

func (h *heap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.before(h.nodes[i], h.nodes[parent]) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h *heap) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.nodes); child++ {
			if h.before(h.nodes[child], h.nodes[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}

// groupName is what decides whether a ready node may be claimed: its class, and the
// names of its limits in order.
type groupName struct {
	class  fleet.Class
	limits string
}

// group are the ready nodes of one name: either all may be claimed or none.
type group struct {
	heap
	class  fleet.Class
	limits []*limit
}

// free reports whether each limit of the group has a place.
func (g *group) free() bool {
	return !slices.ContainsFunc(g.limits, func(l *limit) bool { return l.taken >= l.most })
}

// limit bounds how many nodes run at a time.
type limit struct{ most, taken int }

// ready are the nodes that may be begun now. There are as many groups as there are
// different sets of limits, which are few.
type ready struct {
	groups map[groupName]*group
	order  []*group
}

// limitsOf are the limits that a node counts in; those that no submission bounds do not.
func (q *Queue) limitsOf(n *node) ([]*limit, string) {
	var names []string
	for _, name := range n.Limits {
		if _, ok := q.limits[name]; ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	out := make([]*limit, len(names))
	for i, name := range names {
		out[i] = q.limits[name]
	}
	return out, strings.Join(names, "\x00")
}

// pushReady puts a node among those that may be begun.
func (q *Queue) pushReady(n *node) {
	name, limits := groupName{class: n.Class}, []*limit(nil)
	if len(n.Limits) > 0 {
		limits, name.limits = q.limitsOf(n)
	}
	g, ok := q.ready.groups[name]
	if !ok {
		g = &group{class: n.Class, limits: limits}
		g.before = func(a, b *node) bool { return a.before(b, a.since.Compare(b.since)) }
		q.ready.groups[name] = g
		q.ready.order = append(q.ready.order, g)
	}
	g.push(n)
}

// best is the group whose first node is to be begun first by somebody who serves the
// classes; nil when there is none.
func (q *Queue) best(classes []fleet.Class) *group {
	var best *group
	for _, g := range q.ready.order {
		if len(g.nodes) == 0 || !slices.Contains(classes, g.class) || !g.free() {
			continue
		}
		if best == nil || g.before(g.nodes[0], best.nodes[0]) {
			best = g
		}
	}
	return best
}
