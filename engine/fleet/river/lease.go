package river

import (
	"context"

	"github.com/jackc/pgx/v5"

	"raglab/cache"
)

// Lease is as [fleet.Leaser] says: an advisory lock of the worker's session. A session
// that is lost loses it, and what is made meanwhile is made twice at worst.
func (q *Queue) Lease(ctx context.Context, key cache.Key) (release func(), ok bool, err error) {
	if err := q.listen(ctx); err != nil {
		return nil, false, err
	}
	name := lockKey("lease", q.o.DB.Schema(), string(key[:]))
	q.mu.Lock()
	_, mine := q.leases[name]
	if !mine {
		q.leases[name] = struct{}{}
	}
	q.mu.Unlock()
	if mine {
		return nil, false, nil // a session may take a lock twice
	}
	forget := func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.leases, name)
	}
	err = q.session.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "select pg_try_advisory_lock($1)", name).Scan(&ok)
	})
	if err != nil || !ok {
		forget()
		return nil, false, q.o.DB.Explain(ctx, "lease a key", err)
	}
	return func() {
		_ = q.session.do(q.life, func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "select pg_advisory_unlock($1)", name)
			return err
		}) // it ends with the session, if not so
		forget()
	}, true, nil
}
