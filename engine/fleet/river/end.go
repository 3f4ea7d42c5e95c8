package river

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"raglab/cache"
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

// end ends a claim by a transaction that f is part of, and lets River's worker go on.
func (q *Queue) end(ctx context.Context, op string, c *fleet.Claim, alone bool, f func(*tx) error) error {
	tries := 0
	err := q.change(ctx, op+" "+c.Address, alone, func(t *tx) error {
		tries++
		return f(t)
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

// errAlone asks for the transaction again with the structure's lock held alone.
var errAlone = errors.New("the structure changes")

// Finish is as [fleet.Queue] says.
func (q *Queue) Finish(ctx context.Context, c *fleet.Claim, r fleet.Result) error {
	if r.Outputs == nil {
		r.Outputs = []cache.Blob{}
	}
	err := q.end(ctx, "finish", c, false, func(t *tx) error { return t.finish(ctx, c, r, false) })
	if errors.Is(err, errAlone) {
		err = q.end(ctx, "finish", c, true, func(t *tx) error { return t.finish(ctx, c, r, true) })
	}
	return err
}

// finish makes a claim's node done, and what waited for it alone ready.
func (t *tx) finish(ctx context.Context, c *fleet.Claim, r fleet.Result, alone bool) error {
	var wall *int64
	if r.Completion == engine.Executed {
		ns := int64(r.Wall)
		wall = &ns
	}
	batch := &pgx.Batch{}
	batch.Queue(t.q.sql(`
		with o as (select n.id, n.made_key, n.outputs, n.remade, n.stale, c.worker, c.attempt
				from {s}.fleet_node n join {s}.fleet_claim c on c.node = n.id
				where n.key = $1 and c.token = $2 and n.state = 'claimed' for update),
			gone as (delete from {s}.fleet_claim c using o where c.node = o.id returning c.token)
		update {s}.fleet_node n set state = 'done', made_key = $3, outputs = $4, wall = $5, ended = clock_timestamp(), last_token = $2,
			slotted = false, remade = false, stale = null, failure = null, root = null
		from o where n.id = o.id
		returning n.id, coalesce(n.job, 0), n.limits <> '{}', o.worker, o.attempt, o.stale,
			o.remade and o.outputs is distinct from n.outputs, (select count(*) from gone) > 1`),
		c.Key[:], c.Token, r.Key[:], mustJSON(r.Outputs), wall)
	batch.Queue(t.q.sql(`
		select r.id from {s}.fleet_node n join {s}.fleet_edge e on e.need = n.id join {s}.fleet_node r on r.id = e.node
		where n.key = $1 and r.state = 'waiting' order by r.id for update of r`), c.Key[:])
	// Not from what the statement before has read: this one sees what others have
	// changed while that one waited.
	batch.Queue(t.q.sql(`
		update {s}.fleet_node r set waits = r.waits - 1,
			state = case when r.waits = 1 then 'ready' else r.state end, since = case when r.waits = 1 then now() else r.since end
		from {s}.fleet_node n join {s}.fleet_edge e on e.need = n.id
		where n.key = $1 and r.id = e.node and r.state = 'waiting'
		returning r.key, r.class, r.priority, r.waits = 0, r.limits <> '{}'`), c.Key[:])
	done, ready, err := t.readFinish(ctx, batch)
	switch {
	case err != nil:
		return err
	case done == nil:
		if _, err := t.stands(ctx, c); err != nil {
			return err
		}
		return fmt.Errorf("finish %s: its claim stands, but it is not claimed", c.Address)
	case !alone && (done.stale != nil || done.differs):
		return errAlone
	}
	t.tell(done.id, fleet.Notice{
		Type: engine.EventComplete, Key: r.Key, Completion: r.Completion, Outputs: r.Outputs, Worker: done.worker, Attempt: done.attempt,
		Wall: r.Wall, CPU: r.CPU, PaidUSD: r.PaidUSD, Unkept: r.Unkept,
	})
	t.limit = t.limit || done.limited
	if done.others {
		t.wakeHolders()
	}
	if done.differs {
		if err := t.outdateReaders(ctx, done.id, c.Address); err != nil {
			return err
		}
	}
	if done.stale != nil {
		if err := t.outdate(ctx, done.id, *done.stale); err != nil {
			return err
		}
	}
	if len(ready) > 0 {
		if err := t.insert(ctx, ready); err != nil {
			return err
		}
	}
	return t.complete(ctx, done.job)
}

// finished is what a node was when it was finished.
type finished struct {
	id, job                  int64
	limited, differs, others bool
	worker                   string
	attempt                  int
	stale                    *int64
}

// readFinish reads what finish has asked for: nil when the claim does not stand.
func (t *tx) readFinish(ctx context.Context, batch *pgx.Batch) (*finished, []opening, error) {
	results := t.SendBatch(ctx, batch)
	var d finished
	err := results.QueryRow().Scan(&d.id, &d.job, &d.limited, &d.worker, &d.attempt, &d.stale, &d.differs, &d.others)
	if err != nil {
		closed := results.Close()
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, nil, closed
		}
		return nil, nil, err
	}
	var ready []opening
	_, err = results.Exec()
	if err == nil {
		ready, err = t.readReady(results)
	}
	return &d, ready, errors.Join(err, results.Close())
}

// readReady reads the nodes that have become ready; those with limits are left to
// admit.
func (t *tx) readReady(results pgx.BatchResults) ([]opening, error) {
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	var ready []opening
	var key []byte
	var o opening
	var isReady, limited bool
	_, err = pgx.ForEachRow(rows, []any{&key, &o.class, &o.priority, &isReady, &limited}, func() (err error) {
		switch {
		case isReady && limited:
			t.limit = true
		case isReady:
			o.key, err = keyOf(key)
			ready = append(ready, o)
		}
		return err
	})
	sortOpenings(ready)
	return ready, err
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
	return q.end(ctx, op, c, true, func(t *tx) error {
		got, err := t.stands(ctx, c)
		if err != nil {
			return err
		}
		if err := t.drop(ctx, got); err != nil || got.others {
			return err
		}
		return f(t, got)
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
	err := q.once(ctx, q.pool, false, func(t *tx) error {
		var node int64
		err := t.QueryRow(ctx, t.q.sql(`
			update {s}.fleet_claim set done = case when $2 then $3 else done end, total = case when $2 then $4 else total end,
				unit = case when $2 then $5 else unit end
			where token = $1 returning node, worker, attempt`),
			c.Token, n.Type == engine.EventProgress, n.Done, n.Total, n.Unit).Scan(&node, &n.Worker, &n.Attempt)
		if errors.Is(err, pgx.ErrNoRows) {
			return fleet.ErrClaimLost
		}
		if err == nil {
			t.tell(node, n)
		}
		return err
	})
	if errors.Is(err, fleet.ErrClaimLost) {
		q.lose(c.Token)
		return fleet.ErrClaimLost
	}
	return q.o.DB.Explain(ctx, "tell of "+c.Address, err)
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
