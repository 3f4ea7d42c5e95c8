package river

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
)

// admitAtOnce is how many nodes that count in limits are looked at in one go.
const admitAtOnce = 256

// admit gives free places in limits to nodes that are ready and lack theirs, in the
// order in which they are to be begun, and inserts their jobs: what counts in a limit
// gets to River with its places only, so that no worker claims in vain. The rows of the
// limits are the semaphores; one transaction at a time has them.
func (t *tx) admit(ctx context.Context) error {
	free, err := t.free(ctx)
	if err != nil || len(free) == 0 {
		return err
	}
	for {
		var full []string
		for name, n := range free {
			if n <= 0 {
				full = append(full, name)
			}
		}
		candidates, err := t.candidates(ctx, full)
		if err != nil {
			return err
		}
		var ids []int64
		var jobs []opening
		for _, c := range candidates {
			if slices.ContainsFunc(c.limits, func(name string) bool { n, ok := free[name]; return ok && n <= 0 }) {
				continue
			}
			for _, name := range c.limits {
				if _, ok := free[name]; ok {
					free[name]--
				}
			}
			ids, jobs = append(ids, c.id), append(jobs, c.opening)
		}
		if len(ids) == 0 {
			return nil
		}
		if _, err := t.Exec(ctx, t.q.sql(`update {s}.fleet_node set slotted = true where id = any($1)`), ids); err != nil {
			return err
		}
		if err := t.insert(ctx, jobs); err != nil {
			return err
		}
	}
}

// free locks the limits and tells how many places each has left.
func (t *tx) free(ctx context.Context) (map[string]int, error) {
	free := map[string]int{}
	if !t.q.limited.Load() {
		var any bool
		if err := t.QueryRow(ctx, t.q.sql(`select exists (select from {s}.fleet_slot)`)).Scan(&any); err != nil || !any {
			return nil, err
		}
		t.q.limited.Store(true)
	}
	rows, err := t.Query(ctx, t.q.sql(`select name, size from {s}.fleet_slot order by name for update`))
	if err != nil {
		return nil, err
	}
	var name string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&name, &n}, func() error { free[name] = n; return nil }); err != nil {
		return nil, err
	}
	rows, err = t.Query(ctx, t.q.sql(`select l, count(*) from {s}.fleet_node, unnest(limits) l where slotted group by l`))
	if err != nil {
		return nil, err
	}
	_, err = pgx.ForEachRow(rows, []any{&name, &n}, func() error {
		if _, ok := free[name]; ok {
			free[name] -= n
		}
		return nil
	})
	return free, err
}

// candidate is a node that wants its places.
type candidate struct {
	opening
	id     int64
	limits []string
}

func (t *tx) candidates(ctx context.Context, full []string) ([]candidate, error) {
	if full == nil {
		full = []string{}
	}
	rows, err := t.Query(ctx, t.q.sql(`
		select id, key, class, priority, limits from {s}.fleet_node
		where queued <= clock_timestamp() and not limits && $1
		order by priority, queued, key limit $2`), full, admitAtOnce)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c candidate, err error) {
		var key []byte
		if err = row.Scan(&c.id, &key, &c.class, &c.priority, &c.limits); err == nil {
			c.key, err = keyOf(key)
		}
		return c, err
	})
}
