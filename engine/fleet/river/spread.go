package river

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// How a node ended is for all nodes that need it. Up to spreadMost of them are looked at
// by the transaction that ends it; a mark, a row of fleet_spread with the id of the last
// one, says that there are more. Those are looked at by transactions of their own, in the
// order of ids, each of which moves the mark: by the process in which the node ended, and
// should that be gone, by whoever looks after the workers. Until then a node that waits
// waits for one that is done, too: see unmet.

// spreadMost is how many nodes that need another one transaction looks at. Meanwhile it
// holds locks for which all who submit, fail or return a stage wait.
const spreadMost = 5000

// unmet is SQL for whether a node n waits for its need d.
const unmet = `(d.state <> 'done'
	or exists (select from {s}.fleet_spread m where m.node = d.id and m.root is null and m.last < n.id))`

// spreadOn goes on spreading what has ended, when it is told to.
func (q *Queue) spreadOn(ctx context.Context) {
	for {
		rung := q.spreads.wait()
		if err := q.spreadAll(ctx); err != nil && ctx.Err() == nil {
			q.o.Log.Warn("release what waits for a stage", "error", q.o.DB.Explain(ctx, "release what waits for a stage", err))
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return
		}
	}
}

// lookForSpreads has this process spread what nobody spreads.
func (q *Queue) lookForSpreads(ctx context.Context) error {
	var any bool
	err := q.pool.QueryRow(ctx, q.sql(`select exists (select from {s}.fleet_spread)`)).Scan(&any)
	if any {
		q.spreads.signal()
	}
	return err
}

// spreadAll spreads until nothing is left that others do not.
func (q *Queue) spreadAll(ctx context.Context) error {
	for {
		moved, err := q.spreadOnce(ctx)
		if err != nil || !moved {
			return err
		}
	}
}

// spreadOnce moves one mark, and reports whether there was one.
func (q *Queue) spreadOnce(ctx context.Context) (moved bool, err error) {
	var id int64
	var done bool
	err = q.pool.QueryRow(ctx, q.sql(`
		select coalesce(root, node), root is null from {s}.fleet_spread order by root is null, node limit 1`)).Scan(&id, &done)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	case q.o.spreadMay != nil && !q.o.spreadMay():
		return false, nil
	}
	err = q.once(ctx, q.pool, !done, func(t *tx) (err error) {
		if !done {
			_, err = t.blockOn(ctx, id)
			moved = true
			return err
		}
		moved, err = t.release(ctx, id)
		return err
	})
	return moved, err
}

// released moves the mark of a node that is done.
var released = `
	with o as (select m.node, array(
				select e.node from {s}.fleet_edge e where e.need = m.node and e.node > m.last order by e.node limit {most}) as nodes
			from {s}.fleet_spread m where m.node = $1 and m.root is null for update skip locked),
		moved as (update {s}.fleet_spread m set last = o.nodes[{most}] from o where m.node = o.node and o.nodes[{most}] is not null),
		ended as (delete from {s}.fleet_spread m using o where m.node = o.node and o.nodes[{most}] is null),
		e as materialized (select x.node from o, unnest(o.nodes) x (node)),
		` + releasing + `
	select ` + releasedLimited + `, ` + releasedWakes + ` from o`

// release makes some more ready of the nodes that wait for one that is done. False is for
// when somebody else does.
func (t *tx) release(ctx context.Context, id int64) (bool, error) {
	var limited bool
	err := t.QueryRow(ctx, t.q.sql(released), id).Scan(&limited, nil)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	t.limit = t.limit || limited
	return err == nil, err
}

// blockOn blocks some more of what needs a node that has failed, the root, or one that is
// blocked because of it, and reports whether there is more. Jobs of ready ones are met by
// who claims next, and ended then. The structure's lock is held alone.
func (t *tx) blockOn(ctx context.Context, root int64) (more bool, err error) {
	marks, partly, readers, err := t.readersOf(ctx, root)
	if err != nil || len(marks) == 0 {
		return false, err
	}
	blocked, err := t.blockNodes(ctx, root, readers)
	if err != nil {
		return false, err
	}
	t.tellBlocked(blocked, root)
	more, err = t.move(ctx, root, marks, partly, blocked)
	more = more || partly != nil
	t.spreads = t.spreads || more
	return more, err
}

// setMark is SQL that says up to where those are blocked that need a node.
const setMark = `insert into {s}.fleet_spread (node, root, last) values ($1, $2, $3)
	on conflict (node) do update set root = excluded.root, last = excluded.last`

// move takes marks away but for one that is partly done with, and marks those of some
// nodes behind which there are nodes that were not reached; it reports whether there are
// any.
func (t *tx) move(ctx context.Context, root int64, marks []int64, partly *mark, blocked []int64) (any bool, err error) {
	batch := &pgx.Batch{}
	batch.Queue(t.q.sql(`delete from {s}.fleet_spread where node = any($1)`), marks)
	if partly != nil {
		batch.Queue(t.q.sql(setMark), partly.node, root, partly.last)
	}
	batch.Queue(t.q.sql(`
		insert into {s}.fleet_spread (node, root, last) select b.id, $2, 0 from unnest($1::bigint[]) b (id)
		where exists (select from {s}.fleet_edge e join {s}.fleet_node r on r.id = e.node
			where e.need = b.id and r.state in ('waiting', 'ready'))
		on conflict (node) do update set root = excluded.root, last = 0`), blocked, root).
		Exec(func(tag pgconn.CommandTag) error { any = tag.RowsAffected() > 0; return nil })
	batch.Queue(`select set_config('enable_hashjoin', 'on', true), set_config('enable_mergejoin', 'on', true)`)
	return any, t.SendBatch(ctx, batch).Close()
}

// mark says up to where those know how a node ended that need it.
type mark struct{ node, last int64 }

// readersOf returns the next of the nodes that need marked ones of a root, and the marked
// ones; partly is the last of them when there are more than were asked for.
func (t *tx) readersOf(ctx context.Context, root int64) (marks []int64, partly *mark, readers []int64, err error) {
	batch := &pgx.Batch{}
	// For few nodes of many the planner reads all of them, level by level.
	batch.Queue(`select set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`)
	batch.Queue(t.q.sql(`
		select m.node, coalesce(x.node, m.last) from (select node, last from {s}.fleet_spread where root = $1 order by node limit {most}) m
			left join lateral unnest(array(
				select e.node from {s}.fleet_edge e where e.need = m.node and e.node > m.last order by e.node limit {most})) x (node) on true
		order by 1, 2 limit {most}`), root)
	results := t.SendBatch(ctx, batch)
	if _, err = results.Exec(); err != nil {
		return nil, nil, nil, errors.Join(err, results.Close())
	}
	rows, err := results.Query()
	var at mark
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&at.node, &at.last}, func() error {
			if len(marks) == 0 || marks[len(marks)-1] != at.node {
				marks = append(marks, at.node)
			}
			readers = append(readers, at.last)
			return nil
		})
	}
	if len(readers) == t.q.o.spreadMost {
		partly = &at
	}
	return marks, partly, readers, errors.Join(err, results.Close())
}

// blockNodes blocks nodes that wait or are ready, and what needs them, up to spreadMost.
func (t *tx) blockNodes(ctx context.Context, root int64, nodes []int64) (blocked []int64, err error) {
	rows, err := t.Query(ctx, t.q.sql(`
		with recursive b (id) as (
				select n.id from unnest($1::bigint[]) x (id) join {s}.fleet_node n on n.id = x.id where n.state in ('waiting', 'ready')
				union
				select e.node from b join {s}.fleet_edge e on e.need = b.id join {s}.fleet_node r on r.id = e.node
					where r.state in ('waiting', 'ready')),
			f as materialized (select id from b limit {most})
		update {s}.fleet_node n set state = 'blocked', root = $2, ended = $3, slotted = false
		from f where n.id = f.id returning n.id, n.limits <> '{}'`), nodes, root, t.now)
	if err != nil {
		return nil, err
	}
	var id int64
	var limited bool
	_, err = pgx.ForEachRow(rows, []any{&id, &limited}, func() error {
		blocked = append(blocked, id)
		t.limit = t.limit || limited
		return nil
	})
	return blocked, err
}
