package river

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
)

// state is where a node stands.
type state string

const (
	stateIdle    state = "idle" // no run that goes on wants it
	stateWaiting state = "waiting"
	stateReady   state = "ready"
	stateClaimed state = "claimed"
	stateDone    state = "done"
	stateFailed  state = "failed"
	stateBlocked state = "blocked"
)

// node is a row of fleet_node, as far as what ends a claim needs it.
type node struct {
	id               int64
	key              cache.Key
	address, kind    string
	class            fleet.Class
	priority         int
	limits           []string
	attempts, deaths int
	state            state
	failures, died   int
	lost             int
	remade           bool
	stale            *int64
	returned         string
	made             engine.Made
	root             *int64
	job              int64
}

const nodeColumns = `n.id, n.key, n.address, n.kind, n.class, n.priority, n.limits, n.attempts, n.deaths, n.state,
	n.failures, n.died, n.lost, n.remade, n.stale, n.returned, n.made_key, n.outputs, n.root, coalesce(n.job, 0)`

func scanNode(row pgx.CollectableRow) (*node, error) {
	var n node
	var key, made, outputs []byte
	err := row.Scan(&n.id, &key, &n.address, &n.kind, &n.class, &n.priority, &n.limits, &n.attempts, &n.deaths, &n.state,
		&n.failures, &n.died, &n.lost, &n.remade, &n.stale, &n.returned, &made, &outputs, &n.root, &n.job)
	if err != nil {
		return nil, err
	}
	if n.key, err = keyOf(key); err != nil {
		return nil, err
	}
	n.made, err = decodeMade(made, outputs)
	return &n, err
}

// decodeMade reads a result; of one that is not there, the zero value.
func decodeMade(key, outputs []byte) (m engine.Made, err error) {
	if key == nil {
		return m, nil
	}
	if m.Key, err = keyOf(key); err == nil {
		err = json.Unmarshal(outputs, &m.Outputs)
	}
	return m, err
}

// node locks and reads a node.
func (t *tx) node(ctx context.Context, id int64) (*node, error) {
	rows, err := t.Query(ctx, t.q.sql(`select `+nodeColumns+` from {s}.fleet_node n where id = $1 for update`), id)
	if err != nil {
		return nil, err
	}
	return pgx.CollectExactlyOneRow(rows, scanNode)
}

// nodeOf locks and reads a node by its key.
func (t *tx) nodeOf(ctx context.Context, key cache.Key) (*node, error) {
	rows, err := t.Query(ctx, t.q.sql(`select `+nodeColumns+` from {s}.fleet_node n where key = $1 for update`), key[:])
	if err != nil {
		return nil, err
	}
	n, err := pgx.CollectExactlyOneRow(rows, scanNode)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return n, err
}

// wantedBy is SQL for whether a run that goes on wants the node of a row.
const wantedBy = `exists (select from {s}.fleet_member m join {s}.fleet_run r on r.id = m.run
	where m.node = n.id and r.ended is null and not r.stopped)`

// enqueue puts a node whose claims have ended, or whose result is to be made again,
// where it belongs: it waits for needs, is blocked by one, is ready from a time on, or
// is wanted by nobody. Text is why the attempt failed, empty when none is counted. The
// structure's lock is held alone.
func (t *tx) enqueue(ctx context.Context, n *node, at time.Time, text string) error {
	var wanted bool
	var waits int
	var root *int64
	err := t.QueryRow(ctx, t.q.sql(`
		select `+wantedBy+`,
			(select count(*) from {s}.fleet_edge e join {s}.fleet_node d on d.id = e.need where e.node = n.id and `+unmet+`),
			(select coalesce(d.root, d.id) from {s}.fleet_edge e join {s}.fleet_node d on d.id = e.need
				where e.node = n.id and d.state in ('failed', 'blocked') order by d.id limit 1)
		from {s}.fleet_node n where id = $1`), n.id).Scan(&wanted, &waits, &root)
	if err != nil {
		return err
	}
	t.limit = t.limit || len(n.limits) > 0
	switch {
	case root != nil:
		if err := t.block(ctx, n, *root); err != nil {
			return err
		}
	case !wanted:
		n.state = stateIdle
	case waits > 0:
		n.state = stateWaiting
	default:
		n.state = stateReady
	}
	if n.state != stateBlocked {
		_, err = t.Exec(ctx, t.q.sql(`
			update {s}.fleet_node set state = $2, waits = $3, since = $4, slotted = false, stale = null, ended = null, root = null, failure = null,
				failures = $5, died = $6, returned = $7
			where id = $1`), n.id, string(n.state), waits, at, n.failures, n.died, n.returned)
		if err != nil {
			return err
		}
	}
	switch {
	case n.state == stateReady && (n.job != 0 || len(n.limits) == 0):
		return t.retry(ctx, n, at, text)
	case n.job != 0 && text != "":
		_, err = t.setJob(ctx, cancelled(n.job, t.now, t.errorRow(n.failures+n.died, text)))
		return err
	case n.job != 0:
		return t.complete(ctx, n.job)
	}
	return nil
}

// block blocks a node, and what needs it.
func (t *tx) block(ctx context.Context, n *node, root int64) error {
	n.state = stateBlocked
	_, err := t.Exec(ctx, t.q.sql(`
		update {s}.fleet_node set state = 'blocked', root = $2, ended = $3, slotted = false, stale = null where id = $1`), n.id, root, t.now)
	if err == nil {
		_, err = t.Exec(ctx, t.q.sql(setMark), n.id, root, 0)
	}
	if err != nil {
		return err
	}
	t.tellBlocked([]int64{n.id}, root)
	return t.blockReaders(ctx, root, false)
}

// blockReaders blocks what waits for a node, and what waits for that: the first of them,
// unless all is asked for. The node has its mark.
func (t *tx) blockReaders(ctx context.Context, root int64, all bool) error {
	for {
		more, err := t.blockOn(ctx, root)
		if err != nil || !more || !all {
			return err
		}
	}
}

// undo queues a node again that was done; what was to read it waits for it anew.
func (t *tx) undo(ctx context.Context, n *node, reason engine.Reason) error {
	_, err := t.Exec(ctx, t.q.sql(`
		with untold as (delete from {s}.fleet_spread where node = $1)
		update {s}.fleet_node set state = 'waiting', failures = 0, died = 0, remade = true, lost = $2, reason = $3, wall = null, job = null
		where id = $1`),
		n.id, n.lost, mustJSON(reason))
	if err != nil {
		return err
	}
	n.state, n.failures, n.died, n.remade, n.job = stateWaiting, 0, 0, true, 0
	if err := t.rewait(ctx, []int64{n.id}); err != nil {
		return err
	}
	return t.enqueue(ctx, n, t.now, "")
}

// rewait lets what waits for nodes that were done, or is ready, wait for them anew.
func (t *tx) rewait(ctx context.Context, undone []int64) error {
	tag, err := t.Exec(ctx, t.q.sql(`
		update {s}.fleet_node n set state = 'waiting', slotted = false,
			waits = (select count(*) from {s}.fleet_edge e join {s}.fleet_node d on d.id = e.need where e.node = n.id and `+unmet+`)
		where n.id in (select e.node from {s}.fleet_edge e where e.need = any($1)) and n.state in ('waiting', 'ready')`), undone)
	t.limit = t.limit || tag.RowsAffected() > 0
	return err
}

// fail fails a node and blocks what needs it.
func (t *tx) fail(ctx context.Context, n *node, f fleet.Failure, told fleet.Notice) error {
	f = redacted(f)
	_, err := t.Exec(ctx, t.q.sql(`
		with gone as (delete from {s}.fleet_claim where node = $1)
		update {s}.fleet_node set state = 'failed', failure = $2, root = null, ended = $3, failures = $4, died = $5, lost = $6,
			slotted = false, stale = null where id = $1`), n.id, mustJSON(f), t.now, n.failures, n.died, n.lost)
	if err == nil {
		_, err = t.Exec(ctx, t.q.sql(setMark), n.id, n.id, 0)
	}
	if err != nil {
		return err
	}
	t.limit = t.limit || len(n.limits) > 0
	told.Type, told.State, told.Failure, told.PaidUSD = engine.EventErrored, engine.StateFailed, &f, f.PaidUSD
	t.tell(n.id, told)
	t.wakeHolders()
	if n.job != 0 {
		if err := t.discard(ctx, n, n.address+": "+f.Text); err != nil {
			return err
		}
	}
	runs, err := t.toStop(ctx, n, f.Class == fleet.StoreFailure)
	if err != nil {
		return err
	}
	// What is to be blocked must not be taken for what nobody wants.
	err = t.blockReaders(ctx, n.id, len(runs) > 0)
	for _, run := range runs {
		if err == nil {
			err = t.stop(ctx, run)
		}
	}
	return err
}

// toStop are the runs of a node that has failed which begin nothing after that: all of
// them when the store failed.
func (t *tx) toStop(ctx context.Context, n *node, all bool) ([]int64, error) {
	rows, err := t.Query(ctx, t.q.sql(`
		select r.id from {s}.fleet_run r join {s}.fleet_member m on m.run = r.id
		where m.node = $1 and r.ended is null and not r.stopped and (r.fail_fast or $2) order by r.id`), n.id, all)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}
