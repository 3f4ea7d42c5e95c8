package river

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"raglab/engine/fleet"
)

// backUp claims a slow node a second time for a caller for whom nothing is ready; nil
// when there is none. One caller of a process looks at a time.
func (q *Queue) backUp(ctx context.Context, c *caller) *fleet.Claim {
	if q.o.Backups.Off || !q.session.standing() || !q.backing.TryLock() {
		return nil
	}
	defer q.backing.Unlock()
	if !q.desk.idle(c) {
		return nil
	}
	asking, cancel := answered(ctx)
	defer cancel()
	claim, err := q.backUpOne(asking, c.offer)
	if err != nil && ctx.Err() == nil {
		q.o.Log.Warn("look for a slow stage", "error", q.o.DB.Explain(ctx, "look for a slow stage", err))
	}
	if claim == nil {
		q.desk.unbind(c)
		return nil
	}
	q.hold(claim)
	return claim
}

// suspect is a claimed node that may be picked.
type suspect struct {
	running fleet.Running
	id      int64
}

func (q *Queue) backUpOne(ctx context.Context, o fleet.Offer) (*fleet.Claim, error) {
	suspects, err := q.suspects(ctx, o)
	if err != nil || len(suspects) == 0 {
		return nil, err
	}
	running := make([]fleet.Running, len(suspects))
	for i, s := range suspects {
		running[i] = s.running
	}
	walls, err := q.walls(ctx, running)
	if err != nil {
		return nil, err
	}
	i, ok := q.o.Backups.Pick(q.session.now(), running, walls.Usual)
	if !ok {
		return nil, nil
	}
	var claim *fleet.Claim
	err = q.once(ctx, q.pool, false, func(t *tx) (err error) {
		claim, err = t.takeAgain(ctx, suspects[i], o.Worker)
		return err
	})
	return claim, err
}

// suspects are the claimed nodes of the offer's classes that others than its worker
// have, in the order of their claims.
func (q *Queue) suspects(ctx context.Context, o fleet.Offer) ([]suspect, error) {
	classes := make([]string, len(o.Classes))
	for i, c := range o.Classes {
		classes[i] = string(c)
	}
	rows, err := q.pool.Query(ctx, q.sql(`
		select n.id, n.key, n.kind, c.since, c.done, c.total
		from {s}.fleet_claim c join {s}.fleet_node n on n.id = c.node
		where n.state = 'claimed' and n.class = any($1) and not n.single and n.limits = '{}' and not c.again
			and not (c.owner = $2 and c.worker = $3) and `+wantedBy+`
			and not exists (select from {s}.fleet_claim o where o.node = c.node and o.again)
		order by c.token`), classes, q.id, o.Worker)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (suspect, error) {
		s := suspect{running: fleet.Running{Node: &fleet.Node{}}}
		var key []byte
		err := row.Scan(&s.id, &key, &s.running.Kind, &s.running.Since, &s.running.Done, &s.running.Total)
		if err == nil {
			s.running.Key, err = keyOf(key)
		}
		return s, err
	})
}

// wallsAsked is of how many of the latest runs of a kind the usual time is taken.
const wallsAsked = 127

// walls are the latest wall times of the kinds that run.
func (q *Queue) walls(ctx context.Context, running []fleet.Running) (*fleet.Walls, error) {
	kinds := map[string]struct{}{}
	var list []string
	for _, r := range running {
		if _, ok := kinds[r.Kind]; !ok {
			kinds[r.Kind] = struct{}{}
			list = append(list, r.Kind)
		}
	}
	rows, err := q.pool.Query(ctx, q.sql(`
		select k, l.wall from unnest($1::text[]) k, lateral (
			select wall from {s}.fleet_node n where n.kind = k and n.wall is not null order by n.ended desc limit $2) l`), list, wallsAsked)
	if err != nil {
		return nil, err
	}
	walls := &fleet.Walls{}
	var kind string
	var ns int64
	_, err = pgx.ForEachRow(rows, []any{&kind, &ns}, func() error {
		walls.Add(kind, time.Duration(ns))
		return nil
	})
	return walls, err
}

// takeAgain claims a claimed node a second time, unless that has happened meanwhile.
func (t *tx) takeAgain(ctx context.Context, s suspect, name string) (*fleet.Claim, error) {
	n, err := t.node(ctx, s.id)
	if err != nil || n.state != stateClaimed {
		return nil, err
	}
	batch := &pgx.Batch{}
	batch.Queue(t.q.sql(`
		with c as (insert into {s}.fleet_claim (node, owner, worker, attempt, again)
				select n.id, $2, $3, n.failures + n.died + 1, true from {s}.fleet_node n where n.id = $1 and exists (select from {s}.fleet_worker w where w.id = $2)
				on conflict (node, again) do nothing returning token)
		select `+claimColumns+`, c.token from {s}.fleet_node n, c where n.id = $1`), s.id, t.q.id, name)
	t.q.queueNeeds(batch, n.key)
	claim, err := readClaim(t.SendBatch(ctx, batch), n.key, 0)
	if claim != nil {
		claim.Again = true
	}
	return claim, err
}
