package memory

import (
	"context"
	"slices"
	"sort"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
)

// runName is what a submission attaches by.
type runName struct {
	experiment string
	graph      cache.Digest
}

// run is a submission that is, or was, followed.
type run struct {
	id         fleet.RunID
	name       runName
	by         string
	failFast   bool
	begun, end time.Time
	nodes      []*node // nil once it has ended
	counts     [states]int
	// stopped runs begin nothing more; they end when what is claimed for them alone
	// does.
	stopped, held bool
	last          []*node
	notices       []*fleet.Notice
	more          chan struct{} // closed when there are more, or it has ended; nil while nobody waits
}

func (r *run) ended() bool { return !r.end.IsZero() }

func (r *run) state() fleet.RunState {
	switch {
	case r.held:
		return fleet.RunHeld
	case !r.ended() && !r.stopped:
		return fleet.RunWorking
	case r.counts[stateFailed]+r.counts[stateBlocked] > 0 || r.stopped:
		return fleet.RunFailed
	}
	return fleet.RunDone
}

// wake tells followers that there is something new.
func (r *run) wake() {
	if r.more != nil {
		close(r.more)
		r.more = nil
	}
}

// notice is a notice of what happens under a claim.
func (c *claim) notice(n fleet.Notice) fleet.Notice {
	n.Worker, n.Attempt = c.worker, c.attempt
	return n
}

// tell adds a notice about a node to the runs that have it.
func (q *Queue) tell(n *node, told fleet.Notice) {
	if len(n.runs) == 0 {
		return
	}
	p := q.stamp(n, told)
	for _, r := range n.runs {
		r.notices = append(r.notices, p)
		r.wake()
	}
}

// tellOne adds a notice about a node to one run.
func (q *Queue) tellOne(r *run, n *node, told fleet.Notice) {
	r.notices = append(r.notices, q.stamp(n, told))
	r.wake()
}

func (q *Queue) stamp(n *node, told fleet.Notice) *fleet.Notice {
	q.notice++
	told.Cursor = fleet.Cursor{ID: q.notice}
	told.Node = n.Key
	if told.Time.IsZero() {
		told.Time = q.now
	}
	if told.Reason.Kind == engine.ReasonNone {
		told.Reason = n.Reason
	}
	return &told
}

// newsMost bounds how many notices are returned at a time.
const newsMost = 4096

// Follow is as [fleet.Queue] says.
func (q *Queue) Follow(ctx context.Context, id fleet.RunID, after fleet.Cursor) (fleet.News, error) {
	for {
		news, more, err := q.news(id, after)
		if err != nil || more == nil {
			return news, err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fleet.News{}, context.Cause(ctx)
		}
	}
}

// news is what is new of a run; more, when nothing is, is closed when that changes.
func (q *Queue) news(id fleet.RunID, after fleet.Cursor) (news fleet.News, more <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r, err := q.run(id)
	if err != nil {
		return news, nil, err
	}
	first := sort.Search(len(r.notices), func(i int) bool { return r.notices[i].Cursor.ID > after.ID })
	last := min(len(r.notices), first+newsMost)
	if first == last && !r.ended() {
		if r.more == nil {
			r.more = make(chan struct{})
		}
		return news, r.more, nil
	}
	news = fleet.News{Cursor: after, Ended: r.ended() && last == len(r.notices), Held: r.held}
	for _, n := range r.notices[first:last] {
		news.Notices = append(news.Notices, *n)
		news.Cursor = n.Cursor
	}
	return news, nil, nil
}

// Hold is as [fleet.Queue] says.
func (q *Queue) Hold(ctx context.Context, id fleet.RunID, stop bool) error {
	if err := ended(ctx); err != nil {
		return err
	}
	return q.do(func() error {
		r, err := q.run(id)
		if err != nil || r.ended() {
			return err
		}
		r.held = true
		q.stop(r)
		if stop {
			q.interrupt(r)
		}
		return nil
	})
}

// stop lets a run begin nothing more.
func (q *Queue) stop(r *run) {
	if r.stopped {
		return
	}
	r.stopped = true
	q.forget(r)
	for _, n := range r.nodes {
		n.wanted--
		if n.wanted == 0 {
			q.retract(n)
			if n.state == stateClaimed {
				r.last = append(r.last, n)
			}
		}
	}
	q.change(r)
}

// interrupt takes back what is claimed for a stopped run alone.
func (q *Queue) interrupt(r *run) {
	for _, n := range r.last {
		if n.state != stateClaimed || n.wanted > 0 {
			continue
		}
		c := n.claims[0]
		q.dropClaims(n)
		q.tell(n, c.notice(fleet.Notice{Type: engine.EventErrored, State: engine.StateInterrupted}))
		q.enqueue(n, q.now)
	}
	q.change(r)
}

// forget keeps submissions from attaching to a run.
func (q *Queue) forget(r *run) {
	if q.atWork[r.name] == r {
		delete(q.atWork, r.name)
	}
}

// change notes that a run may have come to its end.
func (q *Queue) change(r *run) {
	if last := len(q.changed) - 1; last < 0 || q.changed[last] != r {
		q.changed = append(q.changed, r)
	}
}

// endRuns ends those runs that have come to their end.
func (q *Queue) endRuns() {
	for _, r := range q.changed {
		if !r.ended() && q.over(r) {
			q.endRun(r)
		}
	}
	clear(q.changed)
	q.changed = q.changed[:0]
}

// over reports whether nothing is done for a run any more.
func (q *Queue) over(r *run) bool {
	if !r.stopped {
		return r.counts[stateWaiting]+r.counts[stateReady]+r.counts[stateClaimed] == 0
	}
	r.last = slices.DeleteFunc(r.last, func(n *node) bool { return n.state != stateClaimed || n.wanted > 0 })
	return len(r.last) == 0
}

func (q *Queue) endRun(r *run) {
	for _, n := range r.nodes {
		n.runs = slices.DeleteFunc(n.runs, func(o *run) bool { return o == r })
		if !r.stopped {
			n.wanted--
		}
	}
	q.forget(r)
	r.end, r.nodes, r.last = q.now, nil, nil
	r.wake()
}
