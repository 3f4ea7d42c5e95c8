package memory

import (
	"context"
	"slices"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
)

// claim is a node in a worker's hands.
type claim struct {
	token       int64
	node        *node
	worker      string
	attempt     int
	since       time.Time
	limits      []*limit
	done, total int64
	unit        string
}

// delivery is a claim on its way to who waits for it.
type delivery struct {
	to    func(*fleet.Claim)
	claim *fleet.Claim
}

// waiter is an offer that nothing was found for yet.
type waiter struct {
	offer fleet.Offer
	take  func(*fleet.Claim) // nil when it waits no more
}

// waiters stand in line for each class. One that waits no more is in the lines until
// its turn comes.
type waiters struct {
	lines map[fleet.Class][]*waiter
	order []fleet.Class
	live  int
}

func (w *waiters) add(a *waiter) {
	if w.lines == nil {
		w.lines = map[fleet.Class][]*waiter{}
	}
	w.live++
	for _, c := range a.offer.Classes {
		line, ok := w.lines[c]
		if !ok {
			w.order = append(w.order, c)
		}
		if len(line) > 2*w.live+16 {
			line = slices.DeleteFunc(line, func(o *waiter) bool { return o.take == nil })
		}
		w.lines[c] = append(line, a)
	}
}

// first is who has waited longest for a class; nil when nobody does.
func (w *waiters) first(c fleet.Class) *waiter {
	line := w.lines[c]
	for len(line) > 0 && line[0].take == nil {
		line[0] = nil
		line = line[1:]
	}
	w.lines[c] = line
	if len(line) == 0 {
		return nil
	}
	return line[0]
}

// Claim is as [fleet.Queue] says. Any name is a worker's; it is known from its first
// offer on.
func (q *Queue) Claim(ctx context.Context, o fleet.Offer) (*fleet.Claim, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	got := make(chan *fleet.Claim, 1)
	cancel := q.Await(o, func(c *fleet.Claim) { got <- c })
	select {
	case c := <-got:
		return c, nil
	case <-ctx.Done():
	}
	if cancel() {
		return nil, context.Cause(ctx)
	}
	return <-got, nil
}

// Await is Claim with a callback: take is called once, from the goroutine by whose doing
// there is something to claim, and must not wait. Cancel reports whether it kept it from
// being called.
func (q *Queue) Await(o fleet.Offer, take func(*fleet.Claim)) (cancel func() bool) {
	w := &waiter{offer: o, take: take}
	_ = q.do(func() error {
		q.worker(o).waiting++
		q.waiting.add(w)
		return nil
	})
	return func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		if w.take == nil {
			return false
		}
		q.leave(w)
		return true
	}
}

// leave ends a waiter's wait.
func (q *Queue) leave(w *waiter) {
	w.take = nil
	q.waiting.live--
	q.worker(w.offer).waiting--
}

// dispatch hands what is ready to those who wait.
func (q *Queue) dispatch() {
	q.due()
	idle := false
	for _, class := range q.waiting.order {
		for w := q.waiting.first(class); w != nil; w = q.waiting.first(class) {
			g := q.best(w.offer.Classes)
			if g == nil {
				idle = true
				break
			}
			n := g.nodes[0]
			g.remove(n)
			q.hand(w, n, g.limits)
		}
	}
	if idle {
		q.backUp()
		return
	}
	q.looking.clear()
}

// due makes what was delayed ready, and sees to it that somebody looks again.
func (q *Queue) due() {
	now := q.now
	for len(q.delayed.nodes) > 0 && !q.delayed.nodes[0].since.After(now) {
		n := q.delayed.nodes[0]
		q.delayed.remove(n)
		q.pushReady(n)
	}
	if len(q.delayed.nodes) == 0 {
		q.wake.clear()
		return
	}
	q.wake.set(q.clock, q.delayed.nodes[0].since, func() {
		_ = q.do(func() error { q.wake.stop = nil; return nil })
	})
}

// hand gives a node to a waiter.
func (q *Queue) hand(w *waiter, n *node, limits []*limit) {
	q.token++
	c := &claim{
		token: q.token, node: n, worker: w.offer.Worker, attempt: n.failures + n.died + 1,
		since: q.now, limits: limits,
	}
	for _, l := range limits {
		l.taken++
	}
	again := len(n.claims) > 0
	n.claims = append(n.claims, c)
	q.claims[c.token] = c
	if !again {
		q.setState(n, stateClaimed)
	}
	q.worker(w.offer).claims++
	out := &fleet.Claim{Node: n.Node, Bundle: n.bundle, From: make(map[cache.Key]engine.Made, len(n.needs)), Attempt: c.attempt, Again: again, Token: c.token}
	for _, need := range n.needs {
		out.From[need.Key] = need.made
	}
	q.handed = append(q.handed, delivery{w.take, out})
	q.leave(w)
}

// backUp claims slow nodes a second time for those who wait in vain.
func (q *Queue) backUp() {
	if q.backups.Off || len(q.claims) == 0 {
		return
	}
	now := q.now
	next := q.looked.Add(q.look)
	if !now.Before(next) {
		q.looked, next = now, now.Add(q.look)
		for _, class := range q.waiting.order {
			q.backUpClass(class, now)
		}
	}
	q.looking.set(q.clock, next, func() {
		_ = q.do(func() error { q.looking.stop = nil; return nil })
	})
}

func (q *Queue) backUpClass(class fleet.Class, now time.Time) {
	for q.waiting.first(class) != nil {
		running, nodes := q.running(class)
		i, ok := q.backups.Pick(now, running, q.walls.Usual)
		if !ok {
			return
		}
		at := slices.IndexFunc(q.waiting.lines[class], func(w *waiter) bool {
			return w.take != nil && w.offer.Worker != nodes[i].claims[0].worker
		})
		if at < 0 {
			return
		}
		q.hand(q.waiting.lines[class][at], nodes[i], nil)
	}
}

// running are the claimed nodes of a class that another worker could make too, in
// order of their claims.
func (q *Queue) running(class fleet.Class) (running []fleet.Running, nodes []*node) {
	for _, c := range q.claims {
		n := c.node
		if n.Class == class && n.claims[0] == c && n.wanted > 0 && n.waits == 0 {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b *node) int { return int(a.claims[0].token - b.claims[0].token) })
	for _, n := range nodes {
		c := n.claims[0]
		running = append(running, fleet.Running{Node: &n.Node, Since: c.since, Done: c.done, Total: c.total, Backed: len(n.claims) > 1})
	}
	return running, nodes
}

// claimed finds a claim that stands.
func (q *Queue) claimed(c *fleet.Claim) (*claim, error) {
	got, ok := q.claims[c.Token]
	if !ok || got.node.Key != c.Key {
		return nil, fleet.ErrClaimLost
	}
	return got, nil
}

// drop ends a claim; what becomes of its node is the caller's.
func (q *Queue) drop(c *claim) {
	delete(q.claims, c.token)
	c.node.claims = slices.DeleteFunc(c.node.claims, func(o *claim) bool { return o == c })
	for _, l := range c.limits {
		l.taken--
	}
	if w, ok := q.workers[c.worker]; ok {
		w.claims--
	}
}

func (q *Queue) dropClaims(n *node) {
	for len(n.claims) > 0 {
		q.drop(n.claims[0])
	}
}
