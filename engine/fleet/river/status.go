package river

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"raglab/engine/fleet"
)

// Status is as [fleet.Queue] says.
func (q *Queue) Status(ctx context.Context, since time.Time) (fleet.Status, error) {
	var s fleet.Status
	err := q.endRuns(ctx)
	if err == nil {
		s.Runs, err = q.runStatus(ctx, since)
	}
	if err == nil {
		s.Workers, err = q.workerStatus(ctx)
	}
	return s, q.o.DB.Explain(ctx, "look at the queue", err)
}

// standing is SQL for how many nodes of the run of a row r stand where. What rests
// where it is counts as what it would be.
const standing = `select case when n.state <> 'idle' then n.state when n.waits = 0 then 'ready' else 'waiting' end as state, count(*) as n
	from {s}.fleet_member own join {s}.fleet_node n on n.id = own.node where own.run = r.id group by 1`

func (q *Queue) runStatus(ctx context.Context, since time.Time) ([]fleet.RunStatus, error) {
	rows, err := q.pool.Query(ctx, q.sql(`
		select r.id, r.experiment, r.submitted_by, r.begun, r.ended, r.held, r.stopped,
			coalesce(r.counts, (select coalesce(jsonb_object_agg(c.state, c.n), '{}') from (
				`+standing+`) c))
		from {s}.fleet_run r where r.ended is null or r.ended >= $1 order by r.id`), since)
	if err != nil {
		return nil, err
	}
	runs, err := pgx.CollectRows(rows, scanRun)
	if err != nil {
		return nil, err
	}
	for i := range runs {
		if !runs[i].Ended.IsZero() {
			continue
		}
		if runs[i].Running, err = q.running(ctx, runs[i].ID); err != nil {
			return nil, err
		}
		if runs[i].Classes, err = q.classesOf(ctx, runs[i].ID); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

func scanRun(row pgx.CollectableRow) (fleet.RunStatus, error) {
	var r fleet.RunStatus
	var ended *time.Time
	var held, stopped bool
	var text []byte
	var id int64
	if err := row.Scan(&id, &r.Experiment, &r.By, &r.Begun, &ended, &held, &stopped, &text); err != nil {
		return r, err
	}
	counts := map[state]int{}
	if err := json.Unmarshal(text, &counts); err != nil {
		return r, err
	}
	r.ID = fleet.RunID(id)
	r.Waiting, r.Ready, r.Claimed = counts[stateWaiting], counts[stateReady], counts[stateClaimed]
	r.Done, r.Failed, r.Blocked = counts[stateDone], counts[stateFailed], counts[stateBlocked]
	if ended != nil {
		r.Ended = *ended
	}
	switch {
	case held:
		r.State = fleet.RunHeld
	case ended == nil && !stopped:
		r.State = fleet.RunWorking
	case r.Failed+r.Blocked > 0 || stopped:
		r.State = fleet.RunFailed
	default:
		r.State = fleet.RunDone
	}
	return r, nil
}

func (q *Queue) running(ctx context.Context, run fleet.RunID) ([]fleet.RunningNode, error) {
	rows, err := q.pool.Query(ctx, q.sql(`
		select n.address, c.worker, c.since, c.attempt, c.done, c.total, c.unit
		from {s}.fleet_claim c join {s}.fleet_member own on own.node = c.node and own.run = $1 join {s}.fleet_node n on n.id = c.node
		order by c.token`), int64(run))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r fleet.RunningNode, err error) {
		return r, row.Scan(&r.Address, &r.Worker, &r.Since, &r.Attempt, &r.Done, &r.Total, &r.Unit)
	})
}

// classesOf are those of a run's nodes that wait or are ready.
func (q *Queue) classesOf(ctx context.Context, run fleet.RunID) ([]fleet.Class, error) {
	rows, err := q.pool.Query(ctx, q.sql(`
		select distinct n.class from {s}.fleet_member own join {s}.fleet_node n on n.id = own.node
		where own.run = $1 and n.state in ('waiting', 'ready') order by n.class`), int64(run))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[fleet.Class])
}

// workerStatus tells of the processes that claim; one whose lock is missing is gone
// and not among them.
func (q *Queue) workerStatus(ctx context.Context) ([]fleet.WorkerStatus, error) {
	rows, err := q.pool.Query(ctx, q.sql(`
		select w.name, w.host, w.version, w.pid, w.since, w.classes, (select count(*) from {s}.fleet_claim c where c.owner = w.id)
		from {s}.fleet_worker w where w.missing is null order by w.name, w.id`))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (w fleet.WorkerStatus, err error) {
		var classes []string
		err = row.Scan(&w.Name, &w.Host, &w.Version, &w.PID, &w.Since, &classes, &w.Claims)
		for _, c := range classes {
			w.Classes = append(w.Classes, fleet.Class(c))
		}
		return w, err
	})
}
