package sim

import (
	"fmt"

	"raglab/cache"
	"raglab/engine/fleet"
)

// ledger knows by itself, without the queue, what must hold: who may hold what, what is
// done, and how often each node had to be run.
type ledger struct {
	clock *clock
	nodes map[cache.Key]*entry
	// holders are the nodes that workers hold.
	holders map[string]*entry
	remade  map[cache.Key]int
	done    int
}

// entry is a node in the ledger.
type entry struct {
	key     cache.Key
	done    bool
	claims  map[int64]string // that stand: token and worker
	runs    int              // claims so far
	allowed int              // claims that faults and backups account for, the first included
}

func newLedger(c *clock) *ledger {
	return &ledger{clock: c, nodes: map[cache.Key]*entry{}, holders: map[string]*entry{}, remade: map[cache.Key]int{}}
}

func (l *ledger) node(k cache.Key) *entry {
	e, ok := l.nodes[k]
	if !ok {
		e = &entry{key: k, claims: map[int64]string{}, allowed: 1}
		l.nodes[k] = e
	}
	return e
}

// claimed notes a claim, or says what is wrong with it.
func (l *ledger) claimed(worker string, c *fleet.Claim) error {
	e := l.node(c.Key)
	switch {
	case e.done:
		return fmt.Errorf("%s was claimed, which is done", c.Address)
	case len(e.claims) > 1:
		return fmt.Errorf("%s was claimed a third time", c.Address)
	case (len(e.claims) == 1) != c.Again:
		return fmt.Errorf("%s was claimed while %d claims stood, again: %v", c.Address, len(e.claims), c.Again)
	case c.Again && l.holds(e, worker):
		return fmt.Errorf("%s was claimed twice by %s", c.Address, worker)
	}
	for _, need := range c.Needs {
		if !l.node(need).done {
			return fmt.Errorf("%s was claimed before what it needs was done", c.Address)
		}
		if len(c.From[need].Outputs) == 0 {
			return fmt.Errorf("%s was claimed without the result of a need", c.Address)
		}
	}
	if c.Again {
		e.allowed++
	}
	e.runs++
	if e.runs > e.allowed {
		return fmt.Errorf("%s was claimed %d times, and faults account for %d", c.Address, e.runs, e.allowed)
	}
	e.claims[c.Token] = worker
	l.holders[worker] = e
	return nil
}

func (l *ledger) holds(e *entry, worker string) bool {
	for _, w := range e.claims {
		if w == worker {
			return true
		}
	}
	return false
}

func (l *ledger) stands(c *fleet.Claim) bool {
	_, ok := l.node(c.Key).claims[c.Token]
	return ok
}

// finished reports whether a result counts.
func (l *ledger) finished(c *fleet.Claim) bool {
	e := l.node(c.Key)
	if !l.stands(c) {
		return false
	}
	clear(e.claims)
	e.done = true
	l.done++
	return true
}

// gaveUp ends a claim without a result: when it was the last, the node is run again.
func (l *ledger) gaveUp(c *fleet.Claim) bool {
	e := l.node(c.Key)
	if !l.stands(c) {
		return false
	}
	delete(e.claims, c.Token)
	if len(e.claims) == 0 {
		e.allowed++
	}
	return true
}

// lost ends a claim because the result of a need is gone: that is made again too, when
// no other claim of the node stands.
func (l *ledger) lost(c *fleet.Claim, need cache.Key) bool {
	if !l.gaveUp(c) {
		return false
	}
	n := l.node(need)
	if len(l.node(c.Key).claims) == 0 && n.done {
		n.done = false
		n.allowed++
		l.remade[need]++
		l.done--
	}
	return true
}

// died ends what a dead worker held.
func (l *ledger) died(worker string) {
	e, ok := l.holders[worker]
	if !ok {
		return
	}
	delete(l.holders, worker)
	for token, w := range e.claims {
		if w != worker {
			continue
		}
		delete(e.claims, token)
		if len(e.claims) == 0 {
			e.allowed++
		}
	}
}

// check holds the sums against the report.
func (l *ledger) check(r *Report) error {
	if l.done != r.Nodes {
		return fmt.Errorf("%d of %d nodes are done", l.done, r.Nodes)
	}
	runs := 0
	for _, e := range l.nodes {
		runs += e.runs
	}
	// A loss repeats the run that found it and, once, the need; every other fault one run.
	if most := r.Nodes + r.Backups + r.Orphaned + r.Retries + 2*r.Losses; runs != r.Claims || runs > most {
		return fmt.Errorf("%d claims of %d nodes, and faults account for %d", runs, r.Nodes, most)
	}
	return nil
}
