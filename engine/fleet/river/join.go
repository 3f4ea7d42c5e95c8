package river

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"raglab/engine"
	"raglab/engine/fleet"
)

// join makes the submission that was copied to the session's tables part of the graph.
type join struct {
	*tx
	s       fleet.Submission
	planned time.Time // by the server's clock
}

// run returns the run: the one at work on the same, or a new one.
func (j *join) run(ctx context.Context) (id int64, err error) {
	err = j.QueryRow(ctx, j.q.sql(atWork), j.s.Experiment, j.s.Graph[:]).Scan(&id)
	if !errors.Is(err, pgx.ErrNoRows) {
		return id, err
	}
	err = j.QueryRow(ctx, j.q.sql(`
		insert into {s}.fleet_run (experiment, graph, submitted_by, fail_fast, begun, first_notice)
		values ($1, $2, $3, $4, $5, nextval('{s}.fleet_notice_id')) returning id`),
		j.s.Experiment, j.s.Graph[:], j.s.By, j.s.FailFast, j.now).Scan(&id)
	if err != nil {
		return 0, err
	}
	for _, step := range []func(context.Context, int64) error{
		j.bound, j.recognise, j.settle, j.write, j.undoReaders, j.tellEnds, j.begin,
	} {
		if err := step(ctx, id); err != nil {
			return 0, err
		}
	}
	return id, nil
}

// bound sets the limits.
func (j *join) bound(ctx context.Context, _ int64) error {
	batch := &pgx.Batch{}
	for name, most := range j.s.Limits {
		batch.Queue(j.q.sql(`
			insert into {s}.fleet_slot (name, size) values ($1, $2) on conflict (name) do update set size = excluded.size`), name, most)
	}
	j.limit = j.limit || batch.Len() > 0
	return j.SendBatch(ctx, batch).Close()
}

// recognise finds the nodes that are there already and tells which of them, with those
// that are not, the submission may say about: they ended before the plan was made, or
// nobody wants them.
func (j *join) recognise(ctx context.Context, _ int64) error {
	// The ids of the new ones are a block of the sequence: the structure's lock keeps
	// others from it.
	var last int64
	err := j.QueryRow(ctx, `select setval(pg_get_serial_sequence($1, 'id'), nextval(pg_get_serial_sequence($1, 'id')) + $2)`,
		j.q.sql("{s}.fleet_node"), len(j.s.Nodes)).Scan(&last)
	if err != nil {
		return err
	}
	return j.all(ctx,
		statement{`update fleet_in_node i set id = coalesce(f.id, $2::bigint + i.pos), was = f.state, fresh = f.free,
				st = case when not f.free then f.state when i.made_key is null then 'waiting' else 'done' end
			from (select d.pos, n.id, n.state,
					n.id is null or n.state = 'idle' or n.state in ('done', 'failed', 'blocked') and n.ended <= $1 as free
				from fleet_in_node d left join {s}.fleet_node n on n.key = d.key) f
			where f.pos = i.pos`, []any{j.planned, last - int64(len(j.s.Nodes))}},
		// Where nodes stand was unknown when the table was copied: without this the
		// server takes them to be one, and the joins that follow are quadratic.
		statement{`analyze fleet_in_node`, nil},
	)
}

// settle finds where the nodes stand that the submission says about: blocked by what
// failed after the plan was made, or waiting, for as many needs as are not done.
func (j *join) settle(ctx context.Context, _ int64) error {
	var failed bool
	err := j.QueryRow(ctx, `select exists (select from fleet_in_node where st in ('failed', 'blocked'))`).Scan(&failed)
	if err != nil {
		return err
	}
	if failed {
		_, err = j.Exec(ctx, j.q.sql(`
			with recursive b (pos, root) as (
				select i.pos, coalesce(n.root, n.id)
					from fleet_in_edge e join fleet_in_node d on d.pos = e.need join {s}.fleet_node n on n.id = d.id
					join fleet_in_node i on i.pos = e.node
					where d.st in ('failed', 'blocked') and i.fresh and i.st = 'waiting'
				union
				select i.pos, b.root from b join fleet_in_edge e on e.need = b.pos join fleet_in_node i on i.pos = e.node
					where i.fresh and i.st = 'waiting')
			update fleet_in_node i set st = 'blocked', root = r.root
			from (select pos, min(root) as root from b group by pos) r where r.pos = i.pos`))
		if err != nil {
			return err
		}
	}
	unmet, err := j.unmet(ctx)
	if err != nil {
		return err
	}
	return j.all(ctx,
		statement{`update fleet_in_node i set waits = w.n
			from (` + unmet + `) w
			where w.node = i.pos and i.fresh and i.st = 'waiting'`, nil},
		statement{`update fleet_in_node set st = 'ready' where fresh and st = 'waiting' and waits = 0`, nil},
	)
}

// unmet is SQL for how many needs each node waits for: those that are not done, or of
// which it is to be told still.
func (j *join) unmet(ctx context.Context) (string, error) {
	const notDone = `select e.node, count(*) as n from fleet_in_edge e join fleet_in_node d on d.pos = e.need where d.st <> 'done' group by e.node`
	var spreads bool
	err := j.QueryRow(ctx, j.q.sql(`select exists (select from {s}.fleet_spread)`)).Scan(&spreads)
	if err != nil || !spreads {
		return notDone, err
	}
	return `select e.node, count(*) as n from fleet_in_edge e join fleet_in_node d on d.pos = e.need
		join fleet_in_node i on i.pos = e.node left join {s}.fleet_spread m on m.node = d.id and m.root is null and m.last < i.id
		where d.st <> 'done' or m.node is not null group by e.node`, nil
}

// write writes the nodes, their needs, and that they are the run's.
func (j *join) write(ctx context.Context, run int64) error {
	args := []any{j.s.Bundle[:], max(j.s.Attempts, 1), max(j.s.Deaths, 1), j.now, j.planned}
	ended := `case i.st when 'done' then $5::timestamptz when 'blocked' then $4::timestamptz end`
	return j.all(ctx,
		// Those that need what is made again wait for it anew.
		statement{`delete from {s}.fleet_spread m using fleet_in_node i where m.node = i.id and i.fresh and not (i.st = 'done' and i.was = 'done')`, nil},
		statement{`update {s}.fleet_node n set address = i.address, kind = i.kind, version = i.version, class = i.class, priority = i.priority,
				limits = i.limits, single = i.single, bundle = $1, reason = i.reason, attempts = $2, deaths = $3, state = i.st, waits = i.waits,
				since = $4, slotted = false, failures = 0, died = 0, lost = 0, stale = null, returned = '', failure = null, root = i.root,
				ended = ` + ended + `, remade = false, wall = null, job = null,
				made_key = coalesce(i.made_key, n.made_key), outputs = coalesce(i.outputs, n.outputs)
			from fleet_in_node i where n.id = i.id and i.fresh and i.was is not null`, args},
		statement{`insert into {s}.fleet_node (id, key, address, kind, version, class, priority, limits, single, bundle, reason, attempts, deaths,
				state, waits, since, ended, root, made_key, outputs)
			select id, key, address, kind, version, class, priority, limits, single, $1::bytea, reason, $2::integer, $3::integer, st, waits, $4::timestamptz, ` + ended + `, root, made_key, outputs
			from fleet_in_node i where was is null order by pos`, args},
		statement{`insert into {s}.fleet_edge (need, node)
			select d.id, i.id from fleet_in_node i join fleet_in_edge e on e.node = i.pos join fleet_in_node d on d.pos = e.need
			where i.was is null order by 1, 2`, nil},
		statement{`insert into {s}.fleet_member (run, node) select $1, id from fleet_in_node order by id`, []any{run}},
	)
}

// undoReaders lets what reads the nodes that were done, and are made again, wait for
// them anew.
func (j *join) undoReaders(ctx context.Context, _ int64) error {
	rows, err := j.Query(ctx, `select id from fleet_in_node where fresh and was = 'done' and made_key is null`)
	if err != nil {
		return err
	}
	undone, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(undone) == 0 {
		return err
	}
	return j.rewait(ctx, undone)
}

// tellEnds tells the new run of the nodes that had ended after the plan was made, and
// those that wait for such that failed.
func (j *join) tellEnds(ctx context.Context, run int64) error {
	rows, err := j.Query(ctx, j.q.sql(`
		select n.id, n.state, n.made_key, n.outputs, n.failure, coalesce(r.address, '')
		from fleet_in_node i join {s}.fleet_node n on n.id = i.id left join {s}.fleet_node r on r.id = n.root
		where not i.fresh and n.state in ('done', 'failed', 'blocked')
			and (n.state <> 'done' or i.made_key is distinct from n.made_key or i.outputs is distinct from n.outputs)
		order by i.pos`))
	if err != nil {
		return err
	}
	var id int64
	var at state
	var made, outputs, failure []byte
	var root string
	_, err = pgx.ForEachRow(rows, []any{&id, &at, &made, &outputs, &failure, &root}, func() error {
		n, err := endNotice(at, made, outputs, failure, root)
		if err == nil {
			j.tellRun(&run, id, n)
		}
		return err
	})
	if err != nil {
		return err
	}
	return j.tellNewlyBlocked(ctx)
}

// endNotice tells how a node had ended.
func endNotice(at state, made, outputs, failure []byte, root string) (fleet.Notice, error) {
	switch at {
	case stateFailed:
		f := &fleet.Failure{}
		err := json.Unmarshal(failure, f)
		return fleet.Notice{Type: engine.EventErrored, State: engine.StateFailed, Failure: f}, err
	case stateBlocked:
		return fleet.Notice{Type: engine.EventBlocked, State: engine.StateBlocked, Message: root}, nil
	}
	m, err := decodeMade(made, outputs)
	return fleet.Notice{Type: engine.EventComplete, Completion: engine.Elsewhere, Key: m.Key, Outputs: m.Outputs}, err
}

func (j *join) tellNewlyBlocked(ctx context.Context) error {
	rows, err := j.Query(ctx, `select root, array_agg(id) from fleet_in_node where fresh and st = 'blocked' group by root order by root`)
	if err != nil {
		return err
	}
	var root int64
	var ids []int64
	_, err = pgx.ForEachRow(rows, []any{&root, &ids}, func() error {
		j.tellBlocked(ids, root)
		return nil
	})
	return err
}

// begin inserts the jobs of what is ready; what counts in limits is left to admit.
func (j *join) begin(ctx context.Context, _ int64) error {
	if err := j.QueryRow(ctx, `select exists (select from fleet_in_node where fresh and st = 'ready' and limits <> '{}') or $1`, j.limit).
		Scan(&j.limit); err != nil {
		return err
	}
	rows, err := j.Query(ctx, j.q.sql(`
		with u as materialized (select key, class, priority from fleet_in_node where fresh and st = 'ready' and limits = '{}'),
			j as (`+insertJobs+` from u order by key `+unlessThere+`)
		select distinct class from u`))
	if err != nil {
		return err
	}
	classes, err := pgx.CollectRows(rows, pgx.RowTo[fleet.Class])
	for _, class := range classes {
		j.wake(class, 0)
	}
	return err
}

// statement is SQL with its arguments.
type statement struct {
	sql  string
	args []any
}

// all runs statements one after the other.
func (t *tx) all(ctx context.Context, list ...statement) error {
	for _, s := range list {
		if _, err := t.Exec(ctx, t.q.sql(s.sql), s.args...); err != nil {
			return err
		}
	}
	return nil
}
