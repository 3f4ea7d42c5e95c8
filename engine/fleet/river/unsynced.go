package river

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// unsynced makes each query a transaction in one trip to the server, which answers before
// that is on its disk. It is for fetches of jobs and nothing else. A job that was fetched
// is claimed next, and the claim is waited for, and with it all that was written before;
// a server that crashes in between has a job that is available again, whose node one of
// two claims, as it does when a job was given back. Claims themselves, ends of claims and
// notices are waited for: the number of a claim or of a notice that was told of and then
// forgotten would be given to another.
type unsynced struct {
	pgx.Tx // nil: only Query is there
	pool   *pgxpool.Pool
}

// Conn returns nil: there is none but while a query runs.
func (*unsynced) Conn() *pgx.Conn { return nil }

// Query queries.
func (u *unsynced) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	batch := &pgx.Batch{}
	batch.Queue("select set_config('synchronous_commit', 'off', true)")
	batch.Queue(sql, args...)
	results := u.pool.SendBatch(ctx, batch)
	_, err := results.Exec()
	if err != nil {
		return nil, errors.Join(err, results.Close())
	}
	rows, err := results.Query()
	if err != nil {
		return nil, errors.Join(err, results.Close())
	}
	return &unsyncedRows{Rows: rows, results: results}, nil
}

// unsyncedRows end the transaction when they end.
type unsyncedRows struct {
	pgx.Rows
	results pgx.BatchResults
	err     error
	closed  bool
}

// Next is as [pgx.Rows] says.
func (r *unsyncedRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

// Close is as [pgx.Rows] says.
func (r *unsyncedRows) Close() {
	if r.closed {
		return
	}
	r.closed = true
	r.Rows.Close()
	r.err = errors.Join(r.Rows.Err(), r.results.Close())
}

// Err is as [pgx.Rows] says.
func (r *unsyncedRows) Err() error {
	if r.closed {
		return r.err
	}
	return r.Rows.Err()
}
