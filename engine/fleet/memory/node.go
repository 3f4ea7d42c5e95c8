package memory

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
)

// state is where a node stands.
type state uint8

const (
	stateWaiting state = iota
	stateReady
	stateClaimed
	stateDone
	stateFailed
	stateBlocked
	states
)

func (s state) ended() bool { return s >= stateDone }

// node is a stage in the queue. Its definition is that of the submission that last
// queued it.
type node struct {
	fleet.Node
	bundle           cache.Digest
	attempts, deaths int

	needs, readers []*node
	runs           []*run // that have it and have not ended
	wanted         int    // runs among them that are not held

	state state
	waits int       // needs that are not done, until it has ended
	since time.Time // when it is or was ready
	in    *heap     // nil outside
	at    int       // place in it

	failures, died, lost int
	// remade says that it was done before and is made again.
	remade bool
	claims []*claim // at most two
	made   engine.Made
	ended  time.Time
	// Why it failed, or what it needs did.
	failure *fleet.Failure
	root    *node
	// stale is a need that came out different while the node was claimed.
	stale *node
	// returned is why it was given back last.
	returned string
}

// before is the order in which nodes are begun; by is how their times compare.
func (n *node) before(o *node, byTime int) bool {
	return cmp.Or(cmp.Compare(n.Priority, o.Priority), byTime, bytes.Compare(n.Key[:], o.Key[:])) < 0
}

// setState moves a node from one state to another in the counts of its runs.
func (q *Queue) setState(n *node, s state) {
	for _, r := range n.runs {
		r.counts[n.state]--
		r.counts[s]++
		if s.ended() || n.state == stateClaimed {
			q.change(r)
		}
	}
	n.state = s
}

// enqueue puts a node whose claims have ended, or that was ended, where it belongs: it
// waits for needs, is blocked by one, or is ready from a time on.
func (q *Queue) enqueue(n *node, from time.Time) {
	n.waits = 0
	for _, need := range n.needs {
		switch need.state {
		case stateDone:
		case stateFailed, stateBlocked:
			q.block(n, need.source())
			return
		default:
			n.waits++
		}
	}
	q.setState(n, stateWaiting)
	if n.waits == 0 {
		q.makeReady(n, from)
	}
}

func (q *Queue) makeReady(n *node, from time.Time) {
	q.setState(n, stateReady)
	n.since = from
	q.offer(n)
}

// offer puts a ready node where workers find it, if anybody wants it.
func (q *Queue) offer(n *node) {
	switch {
	case n.wanted == 0 || n.in != nil:
	case n.since.After(q.now):
		q.delayed.push(n)
	default:
		q.pushReady(n)
	}
}

// retract takes a node out of what is ready or delayed.
func (q *Queue) retract(n *node) {
	if n.in != nil {
		n.in.remove(n)
	}
}

// finish makes a node done, and releases what waits for it.
func (q *Queue) finish(n *node, m engine.Made) {
	now := q.now
	again := n.remade && !slices.Equal(n.made.Outputs, m.Outputs)
	n.made, n.ended, n.failure, n.root, n.remade = m, now, nil, nil, false
	q.setState(n, stateDone)
	for _, r := range n.readers {
		switch {
		case r.state == stateWaiting:
			if r.waits--; r.waits == 0 {
				q.makeReady(r, now)
			}
			continue
		case r.state == stateClaimed && r.waits > 0:
			r.waits--
		}
		if again {
			q.outdated(r, n)
		}
	}
}

// outdated queues a reader again whose need was lost and came out different: what it
// came to must not stand beside what others make of the new one.
func (q *Queue) outdated(r, need *node) {
	switch {
	case r.wanted == 0:
	case r.state == stateClaimed:
		r.stale = need
	case r.state == stateDone:
		r.Reason = engine.Reason{Kind: engine.ReasonDerived, Field: need.Address}
		q.undo(r)
	}
}

// undo queues a node again that was done; what was to read it waits for it anew.
func (q *Queue) undo(n *node) {
	q.setState(n, stateWaiting)
	for _, r := range n.readers {
		switch r.state {
		case stateReady:
			q.retract(r)
			q.setState(r, stateWaiting)
			r.waits++
		case stateWaiting, stateClaimed:
			r.waits++
		}
	}
	n.failures, n.died, n.remade = 0, 0, true
	q.enqueue(n, q.now)
}

// fail fails a node and blocks what needs it.
func (q *Queue) fail(n *node, f fleet.Failure, told fleet.Notice) {
	q.retract(n)
	q.dropClaims(n)
	n.failure, n.root, n.ended = &f, nil, q.now
	q.setState(n, stateFailed)
	told.Type, told.State, told.Failure, told.PaidUSD = engine.EventErrored, engine.StateFailed, &f, f.PaidUSD
	q.tell(n, told)
	q.blockReaders(n, n)
	for _, r := range slices.Clone(n.runs) {
		if r.failFast || f.Class == fleet.StoreFailure {
			q.stop(r)
		}
	}
}

// source is the node because of whose failure a node has no result.
func (n *node) source() *node {
	if n.state == stateBlocked {
		return n.root
	}
	return n
}

// block blocks a node, and what needs it.
func (q *Queue) block(n, root *node) {
	q.blockOne(n, root)
	q.blockReaders(n, root)
}

func (q *Queue) blockOne(n, root *node) {
	q.retract(n)
	n.root, n.ended = root, q.now
	q.setState(n, stateBlocked)
	q.tell(n, blockedBy(root))
}

func blockedBy(root *node) fleet.Notice {
	return fleet.Notice{Type: engine.EventBlocked, State: engine.StateBlocked, Message: root.Address}
}

// blockReaders blocks what waits for a node, and what waits for that, without
// recursion: chains may be long.
func (q *Queue) blockReaders(n, root *node) {
	rest := []*node{n}
	for len(rest) > 0 {
		n, rest = rest[len(rest)-1], rest[:len(rest)-1]
		for _, r := range n.readers {
			if r.state != stateWaiting && r.state != stateReady {
				continue
			}
			q.blockOne(r, root)
			rest = append(rest, r)
		}
	}
}
