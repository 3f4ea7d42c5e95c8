package river

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// watch is how often somebody looks for workers that are gone.
const watch = time.Second

// cleanEvery is how often what is old is removed.
const cleanEvery = 10 * time.Minute

// supervise looks for workers that are gone, as long as the process takes part; who
// neither works nor follows leaves it to others.
func (q *Queue) supervise(ctx context.Context) {
	tick := time.NewTicker(watch)
	defer tick.Stop()
	var cleaned time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if q.id == 0 && q.followers.Load() == 0 {
			continue
		}
		err := q.superviseOnce(ctx)
		if err == nil && time.Since(cleaned) > cleanEvery {
			cleaned = time.Now()
			err = q.clean(ctx)
		}
		if err != nil && ctx.Err() == nil {
			q.o.Log.Warn("look after the workers", "error", q.o.DB.Explain(ctx, "look after the workers", err))
		}
	}
}

// superviseMost bounds how long one process looks. After [idleMost] another may beside it,
// with which nothing is wrong.
const superviseMost = time.Minute

// superviseOnce queues again what workers had that are gone, unless another process
// does so just now.
func (q *Queue) superviseOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, superviseMost, errors.New("the server did not answer"))
	defer cancel()
	conn, err := q.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{BeginQuery: begin}, func(guard pgx.Tx) error {
		var mine bool
		if err := guard.QueryRow(ctx, "select pg_try_advisory_xact_lock($1)", q.supervisor).Scan(&mine); err != nil || !mine {
			return err
		}
		return q.rescueAll(ctx)
	})
}

func (q *Queue) rescueAll(ctx context.Context) error {
	gone, err := q.gone(ctx)
	if err != nil {
		return err
	}
	for _, id := range gone {
		if err := q.rescue(ctx, id); err != nil {
			return err
		}
	}
	if err := q.rescueSilent(ctx); err != nil {
		return err
	}
	if err := q.adopt(ctx); err != nil {
		return err
	}
	if err := q.lookForSpreads(ctx); err != nil {
		return err
	}
	return q.endRuns(ctx)
}

// gone marks the workers whose locks nobody holds, and returns those of whom that has
// been so for long enough that one that only lost its session would be back.
func (q *Queue) gone(ctx context.Context) ([]int64, error) {
	_, err := q.pool.Exec(ctx, q.sql(`
		with locked as materialized (select (classid::bigint << 32 | objid::bigint) as id from pg_locks
				where locktype = 'advisory' and granted and objsubid = 1
					and database = (select oid from pg_database where datname = current_database()))
		update {s}.fleet_worker w set missing = case when exists (select from locked l where l.id = w.id) then null else clock_timestamp() end
		where (missing is null) <> exists (select from locked l where l.id = w.id)`))
	if err != nil {
		return nil, err
	}
	rows, err := q.pool.Query(ctx, q.sql(`
		select id from {s}.fleet_worker where missing < clock_timestamp() - $1::bigint * interval '1 microsecond' order by id`),
		q.o.Patience.Microseconds())
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// rescue queues again what a worker had that is gone. Its lock is taken for as long:
// a worker that is back has it, and is left alone.
func (q *Queue) rescue(ctx context.Context, id int64) error {
	return q.once(ctx, q.pool, true, func(t *tx) error {
		var free bool
		if err := t.QueryRow(ctx, "select pg_try_advisory_xact_lock($1)", id).Scan(&free); err != nil || !free {
			return err
		}
		var name string
		err := t.QueryRow(ctx, t.q.sql(`select coalesce(max(name), '') from {s}.fleet_worker where id = $1`), id).Scan(&name)
		if err != nil || name == "" {
			return err
		}
		n, err := t.buryClaims(ctx, `owner = $1`, id)
		if err != nil {
			return err
		}
		q.o.Log.Warn("a worker is gone", "worker", name, "claims", n)
		_, err = t.Exec(ctx, t.q.sql(`delete from {s}.fleet_worker where id = $1`), id)
		return err
	})
}

// buryClaims ends the claims for which a condition with one argument holds, as those
// of a worker that is gone.
func (t *tx) buryClaims(ctx context.Context, where string, arg any) (int, error) {
	rows, err := t.Query(ctx, t.q.sql(`select token from {s}.fleet_claim where `+where+` order by token`), arg)
	if err != nil {
		return 0, err
	}
	tokens, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	for _, token := range tokens {
		var c *claimed
		if err == nil {
			c, err = t.claimOf(ctx, token)
		}
		if err == nil {
			err = t.die(ctx, c)
		}
	}
	if err == nil && len(tokens) > 0 {
		// A late word of the worker's own is no success.
		_, err = t.Exec(ctx, t.q.sql(`update {s}.fleet_node set last_token = null where last_token = any($1)`), tokens)
		t.wakeHolders()
	}
	return len(tokens), err
}

// orphans is SQL for the jobs that River has given to somebody who has not claimed
// their nodes, and for whom a condition holds.
const orphans = `from {s}.river_job j join {s}.fleet_node n on n.key = decode(j.args->>'key', 'hex')
	where j.state = 'running' and not exists (select from {s}.fleet_claim c where c.node = n.id and n.job = j.id) and `

// ofNobody is the condition that it was given to a process that is not registered.
const ofNobody = `not exists (select from {s}.fleet_worker w
	where 'raglab-' || to_hex(w.id) = j.attempted_by[array_upper(j.attempted_by, 1)])`

// requeueFetched makes orphans available again.
func (t *tx) requeueFetched(ctx context.Context, where string, args ...any) error {
	rows, err := t.Query(ctx, t.q.sql(`select j.id, n.key, n.class, n.priority, n.failures + n.died `+orphans+where), args...)
	if err != nil {
		return err
	}
	left, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*node, error) {
		var n node
		var key []byte
		err := row.Scan(&n.job, &key, &n.class, &n.priority, &n.failures)
		if err == nil {
			n.key, err = keyOf(key)
		}
		return &n, err
	})
	for _, n := range left {
		if err == nil {
			err = t.retry(ctx, n, t.now, "")
		}
	}
	return err
}

// adopt makes the jobs available again that nobody registered has.
func (q *Queue) adopt(ctx context.Context) error {
	var any bool
	err := q.pool.QueryRow(ctx, q.sql(`select exists (select `+orphans+ofNobody+`)`)).Scan(&any)
	if err != nil || !any {
		return err
	}
	return q.once(ctx, q.pool, true, func(t *tx) error { return t.requeueFetched(ctx, ofNobody) })
}

// rescueSilent ends claims that living workers have not renewed for long. The sessions of
// such workers are ended too: one that hangs keeps its leases else, and nobody could make
// what it had. One that does not hang finds its session again.
func (q *Queue) rescueSilent(ctx context.Context) error {
	const where = `renewed < clock_timestamp() - $1::bigint * interval '1 microsecond'`
	rows, err := q.pool.Query(ctx, q.sql(`select distinct owner from {s}.fleet_claim where `+where), q.o.Silence.Microseconds())
	if err != nil {
		return err
	}
	owners, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(owners) == 0 {
		return err
	}
	err = q.once(ctx, q.pool, true, func(t *tx) error {
		_, err := t.buryClaims(ctx, where, q.o.Silence.Microseconds())
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range owners {
		if _, err := q.pool.Exec(ctx, "select pg_terminate_backend(l.pid) from pg_locks l where "+holds("l"), id); err != nil {
			q.o.Log.Warn("end the session of a worker that hangs", "error", q.o.DB.Explain(ctx, "end a session", err))
		}
	}
	return nil
}

// clean removes runs that ended long ago, what belongs to them alone, and their
// notices.
func (q *Queue) clean(ctx context.Context) error {
	return q.once(ctx, q.pool, true, func(t *tx) error {
		tag, err := t.Exec(ctx, t.q.sql(`delete from {s}.fleet_run where ended < $1`), t.now.Add(-q.o.Keep))
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		err = t.all(ctx,
			statement{`delete from {s}.fleet_member m where not exists (select from {s}.fleet_run r where r.id = m.run)`, nil},
			statement{`create temp table fleet_old on commit drop as
				select n.id from {s}.fleet_node n where not exists (select from {s}.fleet_member m where m.node = n.id)
					and not exists (select from {s}.fleet_claim c where c.node = n.id)`, nil},
			statement{`delete from {s}.fleet_notice c using fleet_old o where c.node = o.id`, nil},
			statement{`delete from {s}.fleet_spread m using fleet_old o where m.node = o.id`, nil},
			statement{`delete from {s}.fleet_edge e using fleet_old o where e.node = o.id`, nil},
			statement{`delete from {s}.fleet_node n using fleet_old o where n.id = o.id`, nil},
			statement{`delete from {s}.fleet_notice c where c.id < (select coalesce(min(first_notice), 0) from {s}.fleet_run)`, nil},
		)
		if err != nil {
			return fmt.Errorf("remove old runs: %w", err)
		}
		return nil
	})
}
