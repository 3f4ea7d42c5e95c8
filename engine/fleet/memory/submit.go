package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
)

// Submit is as [fleet.Queue] says. Of two submissions that bound one limit, the latter
// counts.
func (q *Queue) Submit(ctx context.Context, s fleet.Submission) (fleet.RunID, error) {
	if err := ended(ctx); err != nil {
		return 0, err
	}
	if err := check(s); err != nil {
		return 0, err
	}
	var id fleet.RunID
	err := q.do(func() error {
		name := runName{s.Experiment, s.Graph}
		if r, ok := q.atWork[name]; ok {
			id = r.id
			return nil
		}
		id = fleet.RunID(len(q.runs) + 1)
		r := &run{
			id: id, name: name, by: s.By, failFast: s.FailFast, begun: q.now,
			nodes: make([]*node, 0, len(s.Nodes)),
		}
		q.runs[id], q.atWork[name] = r, r
		q.bound(s.Limits)
		for i := range s.Nodes {
			q.join(r, &s, &s.Nodes[i])
		}
		q.change(r)
		return nil
	})
	return id, err
}

// check reports what is wrong with a submission.
func check(s fleet.Submission) error {
	seen := make(map[cache.Key]struct{}, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		for _, need := range n.Needs {
			if _, ok := seen[need]; !ok {
				return fmt.Errorf("submit %s: it needs %s, which does not stand before it", n.Address, need)
			}
		}
		if _, twice := seen[n.Key]; twice {
			return fmt.Errorf("submit %s: its key %s is there already", n.Address, n.Key)
		}
		seen[n.Key] = struct{}{}
	}
	for name, most := range s.Limits {
		if most < 1 {
			return fmt.Errorf("submit: limit %q admits %d nodes at a time; it must be at least 1", name, most)
		}
	}
	return nil
}

// bound sets limits.
func (q *Queue) bound(limits map[string]int) {
	for name, most := range limits {
		if l, ok := q.limits[name]; ok {
			l.most = most
			continue
		}
		q.limits[name] = &limit{most: most}
	}
}

// join makes a node of a submission part of a run: as it stands, or queued.
func (q *Queue) join(r *run, s *fleet.Submission, def *fleet.Node) {
	n, there := q.nodes[def.Key]
	if !there {
		n = q.add(def)
	}
	fresh := !there || n.free(s.Planned)
	r.nodes = append(r.nodes, n)
	n.runs = append(n.runs, r)
	n.wanted++
	r.counts[n.state]++
	switch {
	case fresh:
		q.redefine(n, s, def)
		q.begin(n, def.Made, s.Planned)
	case n.state.ended():
		q.tellEnd(r, n, def.Made)
	}
}

// free reports whether a submission may say what becomes of a node that is there: it
// ended before the plan, or nobody wants it.
func (n *node) free(planned time.Time) bool {
	switch {
	case n.state.ended():
		return !n.ended.After(planned)
	case n.state == stateClaimed:
		return false
	}
	return n.wanted == 0
}

// add makes a node that nothing is known of.
func (q *Queue) add(def *fleet.Node) *node {
	n := &node{Node: *def, needs: make([]*node, len(def.Needs))}
	for i, k := range def.Needs {
		n.needs[i] = q.nodes[k]
		n.needs[i].readers = append(n.needs[i].readers, n)
	}
	q.nodes[def.Key] = n
	return n
}

// redefine lets a submission say anew what a node is.
func (q *Queue) redefine(n *node, s *fleet.Submission, def *fleet.Node) {
	q.retract(n)
	n.Node, n.bundle = *def, s.Bundle
	n.Priority = min(max(n.Priority, 1), 4)
	n.attempts, n.deaths = max(s.Attempts, 1), max(s.Deaths, 1)
	n.failures, n.died, n.lost, n.remade, n.stale, n.returned = 0, 0, 0, false, nil, ""
}

// begin queues a node whose definition is new, or finds it done.
func (q *Queue) begin(n *node, made *engine.Made, planned time.Time) {
	switch {
	case made != nil && n.state == stateDone:
		n.made, n.ended = *made, planned
	case made != nil:
		q.finish(n, *made)
		n.ended = planned
	case n.state == stateDone:
		q.undo(n)
		n.remade = false
	default:
		q.enqueue(n, q.now)
	}
}

// tellEnd tells a new run of a node that had ended when it began.
func (q *Queue) tellEnd(r *run, n *node, known *engine.Made) {
	switch {
	case n.state == stateFailed:
		q.tellOne(r, n, fleet.Notice{Type: engine.EventErrored, State: engine.StateFailed, Failure: n.failure})
	case n.state == stateBlocked:
		q.tellOne(r, n, blockedBy(n.root))
	case known == nil || known.Key != n.made.Key || !slices.Equal(known.Outputs, n.made.Outputs):
		q.tellOne(r, n, fleet.Notice{Type: engine.EventComplete, Completion: engine.Elsewhere, Key: n.made.Key, Outputs: n.made.Outputs})
	}
}
