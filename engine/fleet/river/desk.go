package river

import (
	"slices"
	"sync"
	"time"

	"raglab/engine/fleet"
)

// desk brings those who want to claim together with the jobs that River's producers
// fetch. A caller waits until it is reserved for a producer's fetch; what is fetched
// is bound to it until Work has claimed the node.
type desk struct {
	mu      sync.Mutex
	waiting []*caller // in order of arrival
	lines   map[fleet.Class]*line
	changed chan struct{} // closed when a producer may want to look again
	closed  bool
	paused  bool // nobody may claim: the worker has no session
}

// caller is somebody who waits in Claim.
type caller struct {
	offer fleet.Offer
	got   chan *fleet.Claim // of length 1
	gone  bool              // it waits no more
	taken bool              // it has its claim
}

// line is what a producer's fetches go by.
type line struct {
	reserved, bound []*caller
	// stamp counts what may have brought jobs, asked is as of the fetch under way, seen
	// as of the last one that found fewer than it asked for.
	stamp, asked, seen uint64
}

func newDesk(classes []fleet.Class) *desk {
	d := &desk{lines: map[fleet.Class]*line{}, changed: make(chan struct{})}
	for _, c := range classes {
		d.lines[c] = &line{stamp: 1}
	}
	return d
}

// signal lets the producers look; d.mu is held.
func (d *desk) signal() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// join puts a caller into the line.
func (d *desk) join(o fleet.Offer) *caller {
	c := &caller{offer: o, got: make(chan *fleet.Claim, 1)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = append(d.waiting, c)
	d.signal()
	return c
}

// leave takes a caller out of the line, and reports false when it has its claim.
func (d *desk) leave(c *caller) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.gone = true
	d.waiting = slices.DeleteFunc(d.waiting, func(o *caller) bool { return o == c })
	return !c.taken
}

// wake says that there may be jobs of a class, or of all when it is empty.
func (d *desk) wake(class fleet.Class) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c, l := range d.lines {
		if class == "" || c == class {
			l.stamp++
		}
	}
	d.signal()
}

// pause keeps fetches from beginning, or lets them.
func (d *desk) pause(paused bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused = paused
	d.signal()
}

// close ends all fetches.
func (d *desk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.signal()
}

// reserveWithin bounds how long a producer's fetch waits: what has to do with the producer
// otherwise comes to it between two.
const reserveWithin = time.Second

// reserve waits until somebody wants a job of a class and there may be one, and
// reserves up to most callers; 0 when that takes long, or the desk is closed.
func (d *desk) reserve(class fleet.Class, most int) int {
	enough := time.NewTimer(reserveWithin)
	defer enough.Stop()
	for {
		d.mu.Lock()
		l := d.lines[class]
		if d.closed {
			d.mu.Unlock()
			return 0
		}
		if l.seen != l.stamp && !d.paused {
			if n := d.take(l, class, most); n > 0 {
				d.mu.Unlock()
				return n
			}
		}
		changed := d.changed
		d.mu.Unlock()
		select {
		case <-changed:
		case <-enough.C:
			return 0
		}
	}
}

// take moves callers from the line to the class's reserved; d.mu is held.
func (d *desk) take(l *line, class fleet.Class, most int) int {
	rest := d.waiting[:0]
	n := 0
	l.asked = l.stamp
	for _, c := range d.waiting {
		if n < most && slices.Contains(c.offer.Classes, class) {
			l.reserved = append(l.reserved, c)
			n++
		} else {
			rest = append(rest, c)
		}
	}
	clear(d.waiting[len(rest):])
	d.waiting = rest
	return n
}

// settle ends a fetch that asked for some jobs and found fewer or as many. After one
// that failed the producer tries again when River lets it.
func (d *desk) settle(class fleet.Class, found, asked int, failed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lines[class]
	l.bound = append(l.bound, l.reserved[:found]...)
	d.putBack(l.reserved[found:])
	l.reserved = nil
	if found < asked && !failed {
		l.seen = l.asked
	}
	d.signal()
}

// putBack puts callers back to the beginning of the line; d.mu is held.
func (d *desk) putBack(callers []*caller) {
	callers = slices.DeleteFunc(slices.Clone(callers), func(c *caller) bool { return c.gone })
	d.waiting = append(callers, d.waiting...)
}

// boundTo returns the caller that a fetched job is for.
func (d *desk) boundTo(class fleet.Class) *caller {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lines[class]
	c := l.bound[0]
	l.bound = l.bound[1:]
	return c
}

// unbind puts a caller back whose job came to nothing.
func (d *desk) unbind(c *caller) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.putBack([]*caller{c})
	d.signal()
}

// deliver gives a claim to a caller, and reports false when it has gone.
func (d *desk) deliver(c *caller, claim *fleet.Claim) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.gone {
		return false
	}
	c.taken = true
	c.got <- claim
	return true
}

// idle takes a caller out of the line for whom nothing is ready, to look for work
// elsewhere; false when it is on its way to some.
func (d *desk) idle(c *caller) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := slices.Index(d.waiting, c)
	if at < 0 {
		return false
	}
	for class, l := range d.lines {
		if l.seen != l.stamp && slices.Contains(c.offer.Classes, class) {
			return false
		}
	}
	d.waiting = slices.Delete(d.waiting, at, at+1)
	return true
}

// later wakes a class after a delay.
func (d *desk) later(class fleet.Class, after time.Duration) {
	time.AfterFunc(after, func() { d.wake(class) })
}
