package river

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"raglab/engine"
	"raglab/engine/fleet"
)

// Hold is as [fleet.Queue] says.
func (q *Queue) Hold(ctx context.Context, id fleet.RunID, stop bool) error {
	return q.change(ctx, fmt.Sprintf("hold run %d", id), true, func(t *tx) error {
		over, err := t.endIfOver(ctx, int64(id))
		if err != nil || over {
			return err
		}
		if err := t.stop(ctx, int64(id)); err != nil {
			return err
		}
		if _, err := t.Exec(ctx, t.q.sql(`update {s}.fleet_run set held = true where id = $1`), int64(id)); err != nil {
			return err
		}
		if stop {
			err = t.interrupt(ctx, int64(id))
		}
		return err
	})
}

// stop lets a run begin nothing more: what only it wants rests where it is. Jobs of
// those are met by who claims next, and ended then.
func (t *tx) stop(ctx context.Context, run int64) error {
	tag, err := t.Exec(ctx, t.q.sql(`update {s}.fleet_run set stopped = true where id = $1 and not stopped`), run)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	tag, err = t.Exec(ctx, t.q.sql(`
		update {s}.fleet_node n set state = 'idle', slotted = false
		from {s}.fleet_member own where own.run = $1 and n.id = own.node and n.state in ('waiting', 'ready') and not `+wantedBy), run)
	t.limit = t.limit || tag.RowsAffected() > 0
	return err
}

// interrupt takes back what is claimed for stopped runs alone.
func (t *tx) interrupt(ctx context.Context, run int64) error {
	rows, err := t.Query(ctx, t.q.sql(`
		select c.token from {s}.fleet_claim c join {s}.fleet_member own on own.node = c.node join {s}.fleet_node n on n.id = c.node
		where own.run = $1 and not `+wantedBy+` order by c.token`), run)
	if err != nil {
		return err
	}
	tokens, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	for _, token := range tokens {
		c, err := t.claimOf(ctx, token)
		if err == nil {
			err = t.drop(ctx, c)
		}
		if err == nil && !c.others {
			t.tell(c.node.id, c.notice(fleet.Notice{Type: engine.EventErrored, State: engine.StateInterrupted}))
			err = t.enqueue(ctx, c.node, t.now, "")
		}
		if err != nil {
			return err
		}
	}
	// What was taken back must not look as if its worker had ended the claim.
	_, err = t.Exec(ctx, t.q.sql(`update {s}.fleet_node set last_token = null where last_token = any($1)`), tokens)
	t.wakeHolders()
	return err
}

// claimOf locks a claim by its token, and its node.
func (t *tx) claimOf(ctx context.Context, token int64) (*claimed, error) {
	c := &claimed{token: token}
	var id int64
	err := t.QueryRow(ctx, t.q.sql(`
		select c.node, c.worker, c.attempt, (select count(*) > 1 from {s}.fleet_claim o where o.node = c.node)
		from {s}.fleet_claim c where c.token = $1 for update`), token).Scan(&id, &c.worker, &c.attempt, &c.others)
	if err == nil {
		c.node, err = t.node(ctx, id)
	}
	return c, err
}

// over is SQL for whether nothing is done for the run of a row r any more. It goes
// through what is open, whose index is small, and stops at the first that is the run's:
// lateral and limit keep the planner, which knows nothing of tables that have just been
// filled, from reading all of the run's nodes instead.
const over = `case when r.stopped then not exists (
		select from (select n.id from {s}.fleet_node n where n.open and n.state = 'claimed') n,
			lateral (select from {s}.fleet_member own where own.run = r.id and own.node = n.id limit 1) own
		where not ` + wantedBy + `)
	else not exists (
		select from (select n.id from {s}.fleet_node n where n.open) n,
			lateral (select from {s}.fleet_member own where own.run = r.id and own.node = n.id limit 1) own) end`

// endIfOver writes down that a run has ended, if it has, and reports whether it had.
// How its nodes stand is kept: others may make them again.
func (t *tx) endIfOver(ctx context.Context, run int64) (bool, error) {
	var ended bool
	err := t.QueryRow(ctx, t.q.sql(`select r.ended is not null or `+over+` from {s}.fleet_run r where r.id = $1`), run).Scan(&ended)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, fmt.Errorf("the queue has no run %d", run)
	}
	if err != nil || !ended {
		return false, err
	}
	_, err = t.Exec(ctx, t.q.sql(`
		update {s}.fleet_run r set ended = $2, last_notice = nextval('{s}.fleet_notice_id'),
			counts = (select coalesce(jsonb_object_agg(c.state, c.n), '{}') from (
				`+standing+`) c)
		where r.id = $1 and r.ended is null`), run, t.now)
	return true, err
}

// endRuns ends the runs that have come to their end, of those that are at work.
func (q *Queue) endRuns(ctx context.Context) error {
	rows, err := q.pool.Query(ctx, q.sql(`select r.id from {s}.fleet_run r where r.ended is null and `+over), pgx.QueryExecModeExec)
	if err != nil {
		return err
	}
	runs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(runs) == 0 {
		return err
	}
	return q.once(ctx, q.pool, true, func(t *tx) error {
		for _, run := range runs {
			if _, err := t.endIfOver(ctx, run); err != nil {
				return err
			}
		}
		return nil
	})
}
