package river

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"raglab/engine/fleet"
)

// driver is River's own for pgx with two things changed, which River has no options
// for.
//
// A producer's fetch waits until somebody wants to claim, and takes no more than are
// wanted: what River hands to Work is otherwise kept from other processes while nobody
// here can begin it.
//
// And nothing but the transactions of this package ends a job. River's completer tells
// the server, some time after Work has returned, that a job is completed if it is
// running, whoever runs it by then: a job that failed here at once and runs elsewhere
// again would be completed by it, and so would one that was rescued from a worker that
// had only lost its connection.
type driver struct {
	*riverpgxv5.Driver
	pool    *pgxpool.Pool
	desk    *desk
	fetched *fetched
}

// GetExecutor returns what River's services use.
func (d *driver) GetExecutor() riverdriver.Executor {
	return &executor{
		Executor: d.Driver.GetExecutor(), fetch: d.Driver.UnwrapExecutor(&unsynced{pool: d.pool}), desk: d.desk, fetched: d.fetched,
	}
}

// UnwrapExecutor returns what River's functions use in a transaction of ours.
func (d *driver) UnwrapExecutor(tx pgx.Tx) riverdriver.ExecutorTx {
	return &executorTx{d.Driver.UnwrapExecutor(tx)}
}

// UnwrapTx is the way back.
func (d *driver) UnwrapTx(tx riverdriver.ExecutorTx) pgx.Tx {
	if wrapped, ok := tx.(*executorTx); ok {
		tx = wrapped.ExecutorTx
	}
	return d.Driver.UnwrapTx(tx)
}

type executor struct {
	riverdriver.Executor
	fetch   riverdriver.Executor
	desk    *desk
	fetched *fetched
}

// JobGetAvailable returns jobs for those who wait for one, after a while none.
func (e *executor) JobGetAvailable(ctx context.Context, p *riverdriver.JobGetAvailableParams) (*riverdriver.JobGetAvailableResult, error) {
	class := fleet.Class(p.Queue)
	n := e.desk.reserve(class, p.MaxToLock)
	if n == 0 {
		return &riverdriver.JobGetAvailableResult{}, nil
	}
	ask := *p
	ask.MaxToLock = n
	// River waits for the answer for as long as it takes.
	ctx, cancel := answered(ctx)
	defer cancel()
	e.fetched.begin()
	got, err := e.fetch.JobGetAvailable(ctx, &ask)
	e.fetched.end(got, err)
	if err != nil {
		e.desk.settle(class, 0, n, true)
		return nil, err
	}
	e.desk.settle(class, len(got.Jobs), n, false)
	return got, nil
}

// JobSetStateIfRunningMany does nothing: see driver.
func (*executor) JobSetStateIfRunningMany(context.Context, *riverdriver.JobSetStateIfRunningManyParams) ([]*rivertype.JobRow, error) {
	return nil, nil
}

type executorTx struct{ riverdriver.ExecutorTx }

// NotifyMany does nothing: the transactions of this package tell of their jobs on a
// channel of its own, and River's would be left out by its limiter.
func (*executorTx) NotifyMany(context.Context, *riverdriver.NotifyManyParams) error { return nil }
