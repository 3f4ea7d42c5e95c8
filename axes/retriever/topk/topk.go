// Package topk keeps the best of many hits.
package topk

import (
	"math/bits"
	"slices"

	"raglab/axes"
)

// Collector keeps the best hits of those it is shown, in the order of
// [axes.Hit.Before]. It holds at most twice as many as are wanted, and throws
// the worse half away when it is full, so a hit costs constant time on average.
// The zero value wants none; make it ready with [Collector.Reset].
type Collector struct {
	want int
	hits []axes.Hit
	last axes.Hit // the worst of the want best so far, once there are as many
	full bool     // last is set: only what ranks before it matters
}

// Reset empties the collector and sets how many hits it is to keep.
func (c *Collector) Reset(want int) {
	c.want, c.hits, c.full = max(want, 0), c.hits[:0], false
}

// Push shows the collector a hit. Each ordinal may be shown once.
func (c *Collector) Push(h axes.Hit) {
	if c.full && !h.Before(c.last) {
		return
	}
	if c.want == 0 {
		return
	}
	c.hits = append(c.hits, h)
	if len(c.hits) >= 2*c.want {
		c.shrink()
	}
}

// Bound returns a hit that every further one must rank before to be kept, once
// as many as wanted have been shown.
func (c *Collector) Bound() (h axes.Hit, full bool) {
	if !c.full && c.want > 0 && len(c.hits) >= c.want {
		c.shrink()
	}
	return c.last, c.full
}

// Append appends the kept hits to dst, best first, and empties the collector.
func (c *Collector) Append(dst []axes.Hit) []axes.Hit {
	if len(c.hits) > c.want {
		c.shrink()
	}
	slices.SortFunc(c.hits, compare)
	dst = append(dst, c.hits...)
	c.Reset(c.want)
	return dst
}

func (c *Collector) shrink() {
	partition(c.hits, c.want)
	c.hits = c.hits[:c.want]
	c.last, c.full = c.hits[0], true
	for _, h := range c.hits[1:] {
		if c.last.Before(h) {
			c.last = h
		}
	}
}

func compare(a, b axes.Hit) int {
	switch {
	case a.Before(b):
		return -1
	case b.Before(a):
		return 1
	}
	return 0
}

// partition moves the k best hits to the front, in any order: quickselect with
// the median of three, and sorting when the pivots are bad too often.
func partition(hits []axes.Hit, k int) {
	for tries := 2 * bits.Len(uint(len(hits))); k > 0 && k < len(hits); tries-- {
		if tries == 0 || len(hits) < 12 {
			slices.SortFunc(hits, compare)
			return
		}
		at := split(hits)
		switch {
		case at >= k:
			hits = hits[:at]
		default:
			hits, k = hits[at+1:], k-at-1
		}
	}
}

// split arranges hits around one of them and returns its place: what ranks
// before it is in front.
func split(hits []axes.Hit) int {
	last := len(hits) - 1
	mid := last / 2
	if hits[mid].Before(hits[0]) {
		hits[mid], hits[0] = hits[0], hits[mid]
	}
	if hits[last].Before(hits[0]) {
		hits[last], hits[0] = hits[0], hits[last]
	}
	if hits[mid].Before(hits[last]) {
		hits[mid], hits[last] = hits[last], hits[mid]
	}
	pivot, at := hits[last], 0
	for i := range last {
		if hits[i].Before(pivot) {
			hits[i], hits[at] = hits[at], hits[i]
			at++
		}
	}
	hits[at], hits[last] = hits[last], hits[at]
	return at
}
