package memory

import (
	"context"
	"fmt"
	"time"

	"raglab/engine"
	"raglab/engine/fleet"
)

// Renew is as [fleet.Queue] says. Claims do not lapse by themselves; see [Queue.Kill].
func (q *Queue) Renew(ctx context.Context, c *fleet.Claim) error {
	if err := ended(ctx); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	_, err := q.claimed(c)
	return err
}

// Finish is as [fleet.Queue] says.
func (q *Queue) Finish(ctx context.Context, c *fleet.Claim, r fleet.Result) error {
	return q.end(ctx, c, func(got *claim) error {
		n := got.node
		told := got.notice(fleet.Notice{
			Type: engine.EventComplete, Key: r.Key, Completion: r.Completion, Outputs: r.Outputs,
			Wall: r.Wall, CPU: r.CPU, PaidUSD: r.PaidUSD, Unkept: r.Unkept,
		})
		q.dropClaims(n)
		if r.Completion == engine.Executed {
			q.walls.Add(n.Kind, r.Wall)
		}
		q.tell(n, told)
		q.finish(n, r.Made)
		if need := n.stale; need != nil {
			n.stale = nil
			q.outdated(n, need)
		}
		return nil
	})
}

// Fail is as [fleet.Queue] says.
func (q *Queue) Fail(ctx context.Context, c *fleet.Claim, f fleet.Failure) error {
	return q.endAlone(ctx, c, func(got *claim) {
		n := got.node
		n.failures++
		if !f.MayPass || n.failures >= n.attempts {
			q.fail(n, f, got.notice(fleet.Notice{}))
			return
		}
		q.tell(n, got.notice(fleet.Notice{Type: engine.EventRetry, Message: f.Text, Failure: &f, PaidUSD: f.PaidUSD}))
		q.enqueue(n, q.now.Add(f.After))
	})
}

// Lose is as [fleet.Queue] says.
func (q *Queue) Lose(ctx context.Context, c *fleet.Claim, losses []fleet.Loss) error {
	for _, l := range losses {
		if _, ok := c.From[l.Key]; !ok {
			return fmt.Errorf("lose %s: it is no need of %s", l.Key, c.Address)
		}
	}
	return q.endAlone(ctx, c, func(got *claim) {
		n := got.node
		q.setState(n, stateWaiting)
		for _, l := range losses {
			q.tell(n, got.notice(fleet.Notice{Type: engine.EventWarning, Message: l.Text}))
		}
		for _, l := range losses {
			q.remake(q.nodes[l.Key], l)
		}
		// A need that failed has blocked it.
		if n.state == stateWaiting {
			q.enqueue(n, q.now)
		}
	})
}

// remake queues a node again whose result is gone; another reader may have found it
// before.
func (q *Queue) remake(n *node, l fleet.Loss) {
	if n.state != stateDone {
		return
	}
	n.lost++
	if n.lost > fleet.LostLimit {
		q.fail(n, fleet.Failure{
			Text:  fmt.Sprintf("its result was lost %d times in one apply: what is written does not stay", n.lost),
			Class: fleet.StageFailure,
		}, fleet.Notice{Key: n.made.Key})
		return
	}
	n.Reason = l.Reason
	q.undo(n)
}

// Return is as [fleet.Queue] says. A reason that was not given before is told as
// waiting.
func (q *Queue) Return(ctx context.Context, c *fleet.Claim, why string, after time.Duration) error {
	return q.endAlone(ctx, c, func(got *claim) {
		n := got.node
		if why != n.returned {
			n.returned = why
			q.tell(n, got.notice(fleet.Notice{Type: engine.EventWaiting, Message: why}))
		}
		q.enqueue(n, q.now.Add(after))
	})
}

// Tell is as [fleet.Queue] says.
func (q *Queue) Tell(ctx context.Context, c *fleet.Claim, n fleet.Notice) error {
	if err := ended(ctx); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.now = q.clock.Now()
	got, err := q.claimed(c)
	if err != nil {
		return err
	}
	if n.Type == engine.EventProgress {
		got.done, got.total, got.unit = n.Done, n.Total, n.Unit
	}
	q.tell(got.node, got.notice(n))
	return nil
}

// Kill says that a worker is dead: what it had claimed is ready again, or has failed
// when too many workers died of it. What it waits for it still gets.
func (q *Queue) Kill(worker string) {
	_ = q.do(func() error {
		var lost []*claim
		for _, c := range q.claims {
			if c.worker == worker {
				lost = append(lost, c)
			}
		}
		inOrder(lost)
		for _, c := range lost {
			q.die(c)
		}
		if w, ok := q.workers[worker]; ok && w.waiting == 0 {
			delete(q.workers, worker)
		}
		return nil
	})
}

func (q *Queue) die(c *claim) {
	n := c.node
	q.drop(c)
	if len(n.claims) > 0 {
		return
	}
	n.stale = nil
	n.died++
	text := fmt.Sprintf("its worker %s is gone", c.worker)
	if n.died < n.deaths {
		q.tell(n, c.notice(fleet.Notice{Type: engine.EventRetry, Message: text}))
		q.enqueue(n, q.now)
		return
	}
	q.fail(n, fleet.Failure{
		Text: fmt.Sprintf("%s: %d workers were lost while they made it", text, n.died), Class: fleet.StageFailure,
	}, c.notice(fleet.Notice{}))
}

// end ends a claim that stands.
func (q *Queue) end(ctx context.Context, c *fleet.Claim, f func(*claim) error) error {
	if err := ended(ctx); err != nil {
		return err
	}
	return q.do(func() error {
		got, err := q.claimed(c)
		if err != nil {
			return err
		}
		return f(got)
	})
}

// endAlone ends a claim without a result. While another claim of the node stands,
// nothing else happens.
func (q *Queue) endAlone(ctx context.Context, c *fleet.Claim, f func(*claim)) error {
	return q.end(ctx, c, func(got *claim) error {
		q.drop(got)
		if len(got.node.claims) > 0 {
			return nil
		}
		got.node.stale = nil
		f(got)
		return nil
	})
}
