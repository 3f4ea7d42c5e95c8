package river

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
)

// Finish is as [fleet.Queue] says. Of a node that more than spreadMost others need, some
// of them become ready later: see spread.
func (q *Queue) Finish(ctx context.Context, c *fleet.Claim, r fleet.Result) error {
	if r.Outputs == nil {
		r.Outputs = []cache.Blob{}
	}
	return q.end(ctx, "finish", c, func() error {
		if done, err := q.finishAtOnce(ctx, c, r); done || err != nil {
			return err
		}
		err := q.once(ctx, q.pool, false, func(t *tx) error { return t.finish(ctx, c, r, false) })
		if errors.Is(err, errAlone) {
			err = q.once(ctx, q.pool, true, func(t *tx) error { return t.finish(ctx, c, r, true) })
		}
		return err
	})
}

// errAlone asks for the transaction again with the structure's lock held alone.
var errAlone = errors.New("the structure changes")

// finishing makes a claim's node done, ends its job, tells of it, and releases what waits
// for it, up to spreadMost. $6 says that the structure's lock is held alone: without it
// nothing happens to a node whose readers are to be made again. $7 says that somebody
// sees to the limits: without it nothing happens where there are some.
//
// One statement, for a trip to the server and the client's part in it cost more than the
// work. What others have changed of the readers since the statement began it sees where
// it locks them, in the order of their ids.
var finishing = `
	with o as (
			select n.id, n.remade, n.stale, n.outputs, c.worker, c.attempt
			from {s}.fleet_node n join {s}.fleet_claim c on c.node = n.id
			where n.key = $1 and c.token = $2 and n.state = 'claimed'
				and ($6 or n.stale is null and not (n.remade and n.outputs is distinct from $4::jsonb))
				and ($7 or not exists (select from {s}.fleet_slot))
			for update),
		gone as (delete from {s}.fleet_claim c using o where c.node = o.id returning c.token),
		d as (update {s}.fleet_node n set state = 'done', made_key = $3, outputs = $4::jsonb, wall = $5, ended = clock_timestamp(), last_token = $2,
				slotted = false, remade = false, stale = null, failure = null, root = null
			from o where n.id = o.id
			returning n.id, coalesce(n.job, 0) as job, n.limits <> '{}' as limited, n.reason, o.worker, o.attempt, o.stale,
				o.remade and o.outputs is distinct from n.outputs as differs),
		more as (insert into {s}.fleet_spread (node, last)
			select d.id, x.node from d, lateral (
				select e.node from {s}.fleet_edge e where e.need = d.id order by e.node limit 1 offset {most} - 1) x
			on conflict (node) do update set root = null, last = excluded.last returning node),
		ended as (update {s}.river_job j set state = 'completed', finalized_at = clock_timestamp()
			from d where j.id = d.job and j.state = 'running'),
		told as (insert into {s}.fleet_notice (node, body)
			select id, $8::jsonb || jsonb_build_object('worker', worker, 'attempt', attempt)
				|| case when reason is null then '{}' else jsonb_build_object('reason', reason) end from d),
		e as materialized (
			select x.node from d, unnest(array(
				select e.node from {s}.fleet_edge e where e.need = d.id order by e.node limit {most})) x (node)),
		` + releasing + `
	select d.id, d.limited or ` + releasedLimited + `, d.stale, d.differs, exists (select from more),
		pg_notify({news}, '')::text, ` + releasedWakes + `,
		(select pg_notify({channel}, 'lost')::text where (select count(*) > 1 from gone))
	from d`

// releasing is SQL that goes on with the nodes e that need one which is done: those that
// wait wait for one less, and of those that are ready the jobs are inserted. The planner
// is not to know how many they are: it would read all nodes for them.
var releasing = `r as materialized (
			select n.id from e join {s}.fleet_node n on n.id = e.node where n.state = 'waiting' order by n.id for update of n),
		u as (update {s}.fleet_node n set waits = n.waits - 1,
				state = case when n.waits = 1 then 'ready' else n.state end, since = case when n.waits = 1 then now() else n.since end
			from r where n.id = r.id and n.state = 'waiting'
			returning n.key, n.class, n.priority, n.waits = 0 as ready, n.limits <> '{}' as limited),
		j as (` + insertJobs + ` from u where ready and not limited order by key ` + unlessThere + `)`

// What has come of releasing: whether nodes are ready that lack their places in limits,
// and that workers are told of the others.
const (
	releasedLimited = `exists (select from u where ready and limited)`
	releasedWakes   = `(select count(pg_notify({channel}, 'c:' || class || ':0')::text) from (select distinct class from u where ready and not limited) w)`
)

// finishArgs are those of finishing.
func (q *Queue) finishArgs(c *fleet.Claim, r fleet.Result, alone, limits bool, told fleet.Notice) []any {
	var wall *int64
	if r.Completion == engine.Executed {
		ns := int64(r.Wall)
		wall = &ns
	}
	return []any{c.Key[:], c.Token, r.Key[:], mustJSON(r.Outputs), wall, alone, limits, encodeNotice(told)}
}

// completed is the notice of a result.
func completed(r fleet.Result) fleet.Notice {
	return fleet.Notice{
		Type: engine.EventComplete, Key: r.Key, Completion: r.Completion, Outputs: r.Outputs,
		Wall: r.Wall, CPU: r.CPU, PaidUSD: r.PaidUSD, Unkept: r.Unkept,
	}
}

// finishAtOnce finishes a claim in one trip to the server, which is a transaction. False
// is for what that is not enough for, and for a claim that does not stand.
func (q *Queue) finishAtOnce(ctx context.Context, c *fleet.Claim, r fleet.Result) (bool, error) {
	if q.session == nil || q.limited.Load() {
		return false, nil
	}
	told := completed(r)
	told.Time = q.session.now()
	batch := &pgx.Batch{}
	batch.Queue(q.locks)
	batch.Queue(q.sql(finishing), q.finishArgs(c, r, false, false, told)...)
	results := q.pool.SendBatch(ctx, batch)
	_, err := results.Exec()
	var d *finished
	if err == nil {
		d, err = scanFinished(results.QueryRow())
	}
	if err = errors.Join(err, results.Close()); err != nil || d == nil {
		return false, err
	}
	if d.spreads {
		q.spreads.signal()
	}
	return true, nil
}

// finish makes a claim's node done, and what waited for it alone ready.
func (t *tx) finish(ctx context.Context, c *fleet.Claim, r fleet.Result, alone bool) error {
	told := completed(r)
	told.Time = t.now
	d, err := scanFinished(t.QueryRow(ctx, t.q.sql(finishing), t.q.finishArgs(c, r, alone, true, told)...))
	switch {
	case err != nil:
		return err
	case d == nil:
		if _, err := t.stands(ctx, c); err != nil {
			return err
		}
		if !alone {
			return errAlone
		}
		return fmt.Errorf("finish %s: its claim stands, but it is not claimed", c.Address)
	}
	t.limit = t.limit || d.limited
	t.spreads = t.spreads || d.spreads
	if d.differs {
		if err := t.outdateReaders(ctx, d.id, c.Address); err != nil {
			return err
		}
	}
	if d.stale != nil {
		return t.outdate(ctx, d.id, *d.stale)
	}
	return nil
}

// finished is what a node was when it was finished.
type finished struct {
	id                        int64
	limited, differs, spreads bool
	stale                     *int64
}

// scanFinished reads what finishing returns: nil when nothing happened.
func scanFinished(row pgx.Row) (*finished, error) {
	var d finished
	err := row.Scan(&d.id, &d.limited, &d.stale, &d.differs, &d.spreads, nil, nil, nil)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &d, err
}
