package memory

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"raglab/engine/fleet"
)

// worker is what is known of one by its offers.
type worker struct {
	since           time.Time
	classes         []fleet.Class
	waiting, claims int
}

func (q *Queue) worker(o fleet.Offer) *worker {
	w, ok := q.workers[o.Worker]
	if !ok {
		w = &worker{since: q.now}
		q.workers[o.Worker] = w
	}
	w.classes = o.Classes
	return w
}

// Status is as [fleet.Queue] says.
func (q *Queue) Status(ctx context.Context, since time.Time) (fleet.Status, error) {
	if err := ended(ctx); err != nil {
		return fleet.Status{}, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var s fleet.Status
	for _, r := range q.runs {
		if !r.ended() || !r.end.Before(since) {
			s.Runs = append(s.Runs, r.status())
		}
	}
	slices.SortFunc(s.Runs, func(a, b fleet.RunStatus) int { return cmp.Compare(a.ID, b.ID) })
	host, _ := os.Hostname() // unknown is empty
	for name, w := range q.workers {
		s.Workers = append(s.Workers, fleet.WorkerStatus{
			Name: name, Host: host, PID: os.Getpid(), Since: w.since, Classes: w.classes, Claims: w.claims,
		})
	}
	slices.SortFunc(s.Workers, func(a, b fleet.WorkerStatus) int { return strings.Compare(a.Name, b.Name) })
	return s, nil
}

func (r *run) status() fleet.RunStatus {
	s := fleet.RunStatus{
		ID: r.id, Experiment: r.name.experiment, By: r.by, Begun: r.begun, Ended: r.end, State: r.state(),
		Waiting: r.counts[stateWaiting], Ready: r.counts[stateReady], Claimed: r.counts[stateClaimed],
		Done: r.counts[stateDone], Failed: r.counts[stateFailed], Blocked: r.counts[stateBlocked],
	}
	var running []*claim
	for _, n := range r.nodes {
		running = append(running, n.claims...)
		if (n.state == stateWaiting || n.state == stateReady) && !r.ended() {
			s.Classes = append(s.Classes, n.Class)
		}
	}
	slices.Sort(s.Classes)
	s.Classes = slices.Compact(s.Classes)
	inOrder(running)
	for _, c := range running {
		s.Running = append(s.Running, fleet.RunningNode{
			Address: c.node.Address, Worker: c.worker, Since: c.since, Attempt: c.attempt,
			Done: c.done, Total: c.total, Unit: c.unit,
		})
	}
	return s
}

// inOrder sorts claims by when they were made.
func inOrder(claims []*claim) {
	slices.SortFunc(claims, func(a, b *claim) int { return cmp.Compare(a.token, b.token) })
}
