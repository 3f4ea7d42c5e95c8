package river

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
)

// Submit is as [fleet.Queue] says. The nodes are copied to the server first and joined
// to the graph there, by few statements however many they are: time is linear in nodes
// and needs. Of two submissions that bound one limit, the latter counts.
func (q *Queue) Submit(ctx context.Context, s fleet.Submission) (fleet.RunID, error) {
	places, err := check(s)
	if err != nil {
		return 0, err
	}
	var id int64
	err = q.patiently(ctx, "submit "+s.Experiment, func() (err error) {
		id, err = q.submit(ctx, s, places)
		return err
	})
	return fleet.RunID(id), err
}

func (q *Queue) submit(ctx context.Context, s fleet.Submission, places map[cache.Key]int32) (id int64, err error) {
	conn, err := q.pool.Acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Release()
	if id, err = q.attach(ctx, conn, s); err != nil || id != 0 {
		return id, err
	}
	if err := copyIn(ctx, conn, s, places); err != nil {
		return 0, err
	}
	planned := time.Since(s.Planned) // clocks differ; how long ago it was does not
	err = q.once(ctx, conn, true, func(t *tx) error {
		j := &join{tx: t, s: s, planned: t.now.Add(-planned)}
		id, err = j.run(ctx)
		return err
	})
	if err == nil {
		_, err = conn.Exec(ctx, "truncate fleet_in_node, fleet_in_edge")
	}
	return id, err
}

// check reports what is wrong with a submission, and tells the place of each key.
func check(s fleet.Submission) (map[cache.Key]int32, error) {
	places := make(map[cache.Key]int32, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		for _, need := range n.Needs {
			if _, ok := places[need]; !ok {
				return nil, fmt.Errorf("submit %s: it needs %s, which does not stand before it", n.Address, need)
			}
		}
		if _, twice := places[n.Key]; twice {
			return nil, fmt.Errorf("submit %s: its key %s is there already", n.Address, n.Key)
		}
		places[n.Key] = int32(i)
	}
	for name, most := range s.Limits {
		if most < 1 {
			return nil, fmt.Errorf("submit: limit %q admits %d nodes at a time; it must be at least 1", name, most)
		}
	}
	return places, nil
}

// attach finds the run that is at work on the same, before anything is copied.
func (q *Queue) attach(ctx context.Context, conn *pgxpool.Conn, s fleet.Submission) (id int64, err error) {
	err = conn.QueryRow(ctx, q.sql(atWork), s.Experiment, s.Graph[:]).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

// atWork is SQL for the run of an experiment and a graph that goes on.
const atWork = `select r.id from {s}.fleet_run r
	where r.experiment = $1 and r.graph = $2 and r.ended is null and not r.stopped and not (` + over + `) order by r.id limit 1`

// incoming are the tables of a session that a submission is copied to. st is where a
// node stands once it is joined, was where it stood, fresh that the submission says what
// becomes of it.
const incoming = `
	create temp table if not exists fleet_in_node (
		pos integer not null, key bytea not null, address text not null, kind text not null, version text not null,
		class text not null, priority smallint not null, limits text[] not null, single boolean not null,
		reason jsonb, made_key bytea, outputs jsonb,
		id bigint, was text, fresh boolean, st text, waits integer not null default 0, root bigint);
	create temp table if not exists fleet_in_edge (node integer not null, need integer not null);
	truncate fleet_in_node, fleet_in_edge`

// copyIn copies a submission to the session's own tables.
func copyIn(ctx context.Context, conn *pgxpool.Conn, s fleet.Submission, places map[cache.Key]int32) error {
	if _, err := conn.Exec(ctx, incoming, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	columns := []string{"pos", "key", "address", "kind", "version", "class", "priority", "limits", "single", "reason", "made_key", "outputs"}
	_, err := conn.CopyFrom(ctx, pgx.Identifier{"fleet_in_node"}, columns, pgx.CopyFromSlice(len(s.Nodes), func(i int) ([]any, error) {
		return nodeRow(int32(i), &s.Nodes[i]), nil
	}))
	if err != nil {
		return err
	}
	if _, err := conn.CopyFrom(ctx, pgx.Identifier{"fleet_in_edge"}, []string{"node", "need"}, edges(s.Nodes, places)); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "analyze fleet_in_node; analyze fleet_in_edge", pgx.QueryExecModeSimpleProtocol)
	return err
}

func nodeRow(pos int32, n *fleet.Node) []any {
	limits := n.Limits
	if limits == nil {
		limits = []string{}
	}
	var reason, made, outputs []byte
	if n.Reason.Kind != engine.ReasonNone {
		reason = mustJSON(n.Reason)
	}
	if n.Made != nil {
		made, outputs = n.Made.Key[:], encodeOutputs(n.Made.Outputs)
	}
	return []any{
		pos, n.Key[:], n.Address, n.Kind, n.Version, string(n.Class), int16(min(max(n.Priority, 1), 4)), limits, n.Single,
		reason, made, outputs,
	}
}

func encodeOutputs(outputs []cache.Blob) []byte {
	if outputs == nil {
		outputs = []cache.Blob{}
	}
	return mustJSON(outputs)
}

// edges are the needs of the nodes, by places.
func edges(nodes []fleet.Node, places map[cache.Key]int32) pgx.CopyFromSource {
	at, need := 0, 0
	return pgx.CopyFromFunc(func() ([]any, error) {
		for at < len(nodes) && need == len(nodes[at].Needs) {
			at, need = at+1, 0
		}
		if at == len(nodes) {
			return nil, nil
		}
		row := []any{int32(at), places[nodes[at].Needs[need]]}
		need++
		return row, nil
	})
}
