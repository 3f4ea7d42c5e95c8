package river

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"raglab/engine"
	"raglab/engine/fleet"
)

// Renew is as [fleet.Queue] says.
func (q *Queue) Renew(ctx context.Context, c *fleet.Claim) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if q.Lost(c) == nil {
		return fleet.ErrClaimLost
	}
	var stands bool
	err := q.pool.QueryRow(ctx, q.sql(`
		with late as (update {s}.fleet_claim set renewed = clock_timestamp()
			where token = $1 and renewed < clock_timestamp() - $2::bigint * interval '1 microsecond')
		select exists (select from {s}.fleet_claim where token = $1)`), c.Token, (q.o.Silence / 10).Microseconds()).Scan(&stands)
	switch {
	case err != nil:
		return q.o.DB.Explain(ctx, "renew the claim on "+c.Address, err)
	case !stands:
		q.lose(c.Token)
		return fleet.ErrClaimLost
	}
	q.noteRenewed(c.Token)
	return nil
}

// claimed is a claim that stands, with its node; both are locked.
type claimed struct {
	node    *node
	token   int64
	worker  string
	attempt int
	others  bool // another claim of the node stands
}

func (c *claimed) notice(n fleet.Notice) fleet.Notice {
	n.Worker, n.Attempt = c.worker, c.attempt
	return n
}

// errAlready says that an earlier try of a transaction has succeeded.
var errAlready = errors.New("it was done already")

// stands locks a claim that stands, and its node.
func (t *tx) stands(ctx context.Context, c *fleet.Claim) (*claimed, error) {
	n, err := t.nodeOf(ctx, c.Key)
	if err != nil {
		return nil, err
	}
	if n == nil {
		return nil, fleet.ErrClaimLost
	}
	got := &claimed{node: n, token: c.Token}
	err = t.QueryRow(ctx, t.q.sql(`
		select worker, attempt, (select count(*) > 1 from {s}.fleet_claim where node = $2) from {s}.fleet_claim where token = $1 and node = $2`),
		c.Token, n.id).Scan(&got.worker, &got.attempt, &got.others)
	if !errors.Is(err, pgx.ErrNoRows) {
		return got, err
	}
	var last *int64
	if err := t.QueryRow(ctx, t.q.sql(`select last_token from {s}.fleet_node where id = $1`), n.id).Scan(&last); err != nil {
		return nil, err
	}
	if last != nil && *last == c.Token {
		return nil, errAlready
	}
	return nil, fleet.ErrClaimLost
}

// end ends a claim by a transaction that is tried, and lets River's worker go on.
func (q *Queue) end(ctx context.Context, op string, c *fleet.Claim, try func() error) error {
	tries := 0
	err := q.patiently(ctx, op+" "+c.Address, func() error {
		tries++
		return try()
	})
	switch {
	case errors.Is(err, errAlready) && tries > 1:
		// The answer to an earlier try was lost on the way.
	case errors.Is(err, errAlready), errors.Is(err, fleet.ErrClaimLost):
		q.lose(c.Token)
		return fleet.ErrClaimLost
	case err != nil:
		return err
	}
	q.release(c.Token)
	return nil
}

// Fail is as [fleet.Queue] says.
func (q *Queue) Fail(ctx context.Context, c *fleet.Claim, f fleet.Failure) error {
	f = redacted(f)
	return q.endAlone(ctx, "fail", c, func(t *tx, got *claimed) error {
		n := got.node
		n.failures++
		if !f.MayPass || n.failures >= n.attempts {
			return t.fail(ctx, n, f, got.notice(fleet.Notice{}))
		}
		t.tell(n.id, got.notice(fleet.Notice{Type: engine.EventRetry, Message: f.Text, Failure: &f, PaidUSD: f.PaidUSD}))
		return t.enqueue(ctx, n, t.now.Add(f.After), f.Text)
	})
}

// Lose is as [fleet.Queue] says.
func (q *Queue) Lose(ctx context.Context, c *fleet.Claim, losses []fleet.Loss) error {
	for _, l := range losses {
		if _, ok := c.From[l.Key]; !ok {
			return fmt.Errorf("lose %s: it is no need of %s", l.Key, c.Address)
		}
	}
	return q.endAlone(ctx, "give up", c, func(t *tx, got *claimed) error {
		n := got.node
		if _, err := t.Exec(ctx, t.q.sql(`update {s}.fleet_node set state = 'waiting', waits = 1, slotted = false where id = $1`), n.id); err != nil {
			return err
		}
		for _, l := range losses {
			t.tell(n.id, got.notice(fleet.Notice{Type: engine.EventWarning, Message: l.Text}))
		}
		for _, l := range losses {
			if err := t.remake(ctx, l); err != nil {
				return err
			}
		}
		// A need that failed has blocked it.
		var s state
		err := t.QueryRow(ctx, t.q.sql(`select state from {s}.fleet_node where id = $1`), n.id).Scan(&s)
		if err != nil || s != stateWaiting {
			return errors.Join(err, t.complete(ctx, n.job))
		}
		return t.enqueue(ctx, n, t.now, "")
	})
}

// remake queues a node again whose result is gone; another reader may have found it
// before.
func (t *tx) remake(ctx context.Context, l fleet.Loss) error {
	n, err := t.nodeOf(ctx, l.Key)
	if err != nil || n == nil || n.state != stateDone {
		return err
	}
	n.lost++
	n.job = 0
	if n.lost > fleet.LostLimit {
		return t.fail(ctx, n, fleet.Failure{
			Text:  fmt.Sprintf("its result was lost %d times in one apply: what is written does not stay", n.lost),
			Class: fleet.StageFailure,
		}, fleet.Notice{Key: n.made.Key})
	}
	return t.undo(ctx, n, l.Reason)
}

// outdateReaders queues those again that have read a need which was lost and came out
// different: what they came to must not stand beside what others make of the new one.
func (t *tx) outdateReaders(ctx context.Context, id int64, address string) error {
	_, err := t.Exec(ctx, t.q.sql(`
		update {s}.fleet_node r set stale = $1 from {s}.fleet_edge e where e.need = $1 and r.id = e.node and r.state = 'claimed'`), id)
	if err != nil {
		return err
	}
	rows, err := t.Query(ctx, t.q.sql(`
		select n.id from {s}.fleet_node n join {s}.fleet_edge e on e.node = n.id where e.need = $1 and n.state = 'done' and `+wantedBy+` order by n.id`), id)
	if err != nil {
		return err
	}
	readers, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	for _, r := range readers {
		if err == nil {
			err = t.outdate(ctx, r, id)
		}
	}
	return err
}

// outdate queues a node again that has read a need which came out different since.
func (t *tx) outdate(ctx context.Context, id, need int64) error {
	n, err := t.node(ctx, id)
	if err != nil || n.state != stateDone {
		return err
	}
	var wanted bool
	var address string
	err = t.QueryRow(ctx, t.q.sql(`select `+wantedBy+`, (select address from {s}.fleet_node where id = $2) from {s}.fleet_node n where id = $1`),
		id, need).Scan(&wanted, &address)
	if err != nil || !wanted {
		return err
	}
	n.job = 0
	return t.undo(ctx, n, engine.Reason{Kind: engine.ReasonDerived, Field: address})
}

// Return is as [fleet.Queue] says. A reason that was not given before is told as
// waiting.
func (q *Queue) Return(ctx context.Context, c *fleet.Claim, why string, after time.Duration) error {
	return q.endAlone(ctx, "return", c, func(t *tx, got *claimed) error {
		n := got.node
		if why != "" && why != n.returned {
			n.returned = why
			t.tell(n.id, got.notice(fleet.Notice{Type: engine.EventWaiting, Message: why}))
		}
		return t.enqueue(ctx, n, t.now.Add(after), "")
	})
}

// endAlone ends a claim without a result, with the structure's lock held alone. While
// another claim of the node stands, nothing else happens.
func (q *Queue) endAlone(ctx context.Context, op string, c *fleet.Claim, f func(*tx, *claimed) error) error {
	return q.end(ctx, op, c, func() error {
		return q.once(ctx, q.pool, true, func(t *tx) error {
			got, err := t.stands(ctx, c)
			if err != nil {
				return err
			}
			if err := t.drop(ctx, got); err != nil || got.others {
				return err
			}
			return f(t, got)
		})
	})
}

// drop removes a claim. One of two leaves the other to be the first.
func (t *tx) drop(ctx context.Context, c *claimed) error {
	_, err := t.Exec(ctx, t.q.sql(`delete from {s}.fleet_claim where token = $1`), c.token)
	if err == nil {
		_, err = t.Exec(ctx, t.q.sql(`update {s}.fleet_claim set again = false where node = $1`), c.node.id)
	}
	if err == nil {
		_, err = t.Exec(ctx, t.q.sql(`update {s}.fleet_node set last_token = $2 where id = $1`), c.node.id, c.token)
	}
	return err
}

// Tell is as [fleet.Queue] says.
func (q *Queue) Tell(ctx context.Context, c *fleet.Claim, n fleet.Notice) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if n.Time.IsZero() && q.session != nil {
		n.Time = q.session.now()
	}
	n.Worker, n.Attempt = "", 0 // the claim's
	batch := &pgx.Batch{}
	batch.Queue(q.locks)
	batch.Queue(q.sql(`
		with c as (update {s}.fleet_claim set done = case when $2 then $3 else done end, total = case when $2 then $4 else total end,
					unit = case when $2 then $5 else unit end
				where token = $1 returning node, worker, attempt),
			told as (insert into {s}.fleet_notice (node, body)
				select n.id, case when n.reason is null then '{}' else jsonb_build_object('reason', n.reason) end
					|| $6::jsonb || jsonb_build_object('worker', c.worker, 'attempt', c.attempt)
				from c join {s}.fleet_node n on n.id = c.node)
		select case when $7 then pg_notify({news}, '')::text end from c`),
		c.Token, n.Type == engine.EventProgress, n.Done, n.Total, n.Unit, encodeNotice(n), q.mayRing())
	results := q.pool.SendBatch(ctx, batch)
	_, err := results.Exec()
	if err == nil {
		err = results.QueryRow().Scan(nil)
	}
	closed := results.Close()
	if errors.Is(err, pgx.ErrNoRows) && closed == nil {
		q.lose(c.Token)
		return fleet.ErrClaimLost
	}
	return q.o.DB.Explain(ctx, "tell of "+c.Address, errors.Join(err, closed))
}

// ringPause is between two calls of a process's that there are notices of claims: each
// wakes all who listen to the server, of whatever.
const ringPause = 100 * time.Millisecond

// mayRing reports whether followers may be told at once that there is something new. They
// are told a little later when not.
func (q *Queue) mayRing() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.rang) >= ringPause {
		q.rang = time.Now()
		return true
	}
	if !q.rings {
		q.rings = true
		time.AfterFunc(ringPause, q.ring)
	}
	return false
}

func (q *Queue) ring() {
	q.mu.Lock()
	q.rings, q.rang = false, time.Now()
	q.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(q.life, followPoll, errors.New("followers look by themselves by now"))
	defer cancel()
	_, _ = q.pool.Exec(ctx, "select pg_notify($1, '')", q.newsChannel) // they do, should it fail
}

// die ends a claim whose worker is gone.
func (t *tx) die(ctx context.Context, c *claimed) error {
	if err := t.drop(ctx, c); err != nil || c.others {
		return err
	}
	n := c.node
	n.died++
	text := fmt.Sprintf("its worker %s is gone", c.worker)
	if n.died < n.deaths {
		t.tell(n.id, c.notice(fleet.Notice{Type: engine.EventRetry, Message: text}))
		return t.enqueue(ctx, n, t.now, text)
	}
	return t.fail(ctx, n, fleet.Failure{
		Text: fmt.Sprintf("%s: %d workers were lost while they made it", text, n.died), Class: fleet.StageFailure,
	}, c.notice(fleet.Notice{}))
}
