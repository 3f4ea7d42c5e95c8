package sim

import (
	"container/heap"
	"time"
)

// clock is a virtual clock with the events to come. It belongs to one goroutine.
type clock struct {
	now    time.Time
	events events
	number int
}

// event is something that happens at a time; of two at one time, the one that was
// planned first.
type event struct {
	at     time.Time
	number int
	do     func()
	place  int // -1 when it is over
}

func newClock() *clock { return &clock{now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time { return c.now }

// AfterFunc plans an event.
func (c *clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	e := c.after(d, f)
	return func() bool { return c.cancel(e) }
}

func (c *clock) after(d time.Duration, f func()) *event {
	c.number++
	e := &event{at: c.now.Add(max(d, 0)), number: c.number, do: f}
	heap.Push(&c.events, e)
	return e
}

// cancel reports whether it kept an event from happening.
func (c *clock) cancel(e *event) bool {
	if e == nil || e.place < 0 {
		return false
	}
	heap.Remove(&c.events, e.place)
	return true
}

// step lets the next event happen; false when there is none.
func (c *clock) step() bool {
	if len(c.events) == 0 {
		return false
	}
	e := heap.Pop(&c.events).(*event)
	c.now = e.at
	e.do()
	return true
}

// events are a heap by time.
type events []*event

func (h events) Len() int { return len(h) }

func (h events) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].number < h[j].number
}

func (h events) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *events) Push(x any) {
	e := x.(*event)
	e.place = len(*h)
	*h = append(*h, e)
}

func (h *events) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	e.place = -1
	return e
}
