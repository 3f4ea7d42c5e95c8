package river

import (
	"context"
	"errors"
	"sync/atomic"
)

// Kill ends the queue as a crash of its process would: nothing is given back, and the
// session ends.
func (q *Queue) Kill() {
	q.closing.Store(true)
	q.desk.close()
	q.leave(errors.New("killed by the test"))
	q.loseAll()
	if q.started {
		_ = q.client.StopAndCancel(context.Background()) // it has been told to end
	}
	q.services.Wait()
	<-q.session.done
}

// Cut ends the session with the server, and keeps it from coming back until it is
// mended.
func (q *Queue) Cut(ctx context.Context) (mend func(), err error) {
	var held atomic.Bool
	held.Store(true)
	q.session.hold = held.Load
	return func() { held.Store(false) }, q.Terminate(ctx)
}

// Terminate ends the server's side of the session.
func (q *Queue) Terminate(ctx context.Context) error {
	_, err := q.pool.Exec(ctx, "select pg_terminate_backend($1)", q.session.backend)
	return err
}

// ClientID is the name that River knows the process by.
func (q *Queue) ClientID() string { return clientID(q.id) }

// LockID is the advisory lock of a worker's session.
func (q *Queue) LockID() int64 { return q.id }

// SupervisorLock is the advisory lock of whoever looks after the workers, StructureLock
// that of the graph.
func (q *Queue) SupervisorLock() int64 { return q.supervisor }

// StructureLock is the advisory lock of the graph.
func (q *Queue) StructureLock() int64 { return q.structure }

// Eligible reports whether the process may become River's leader.
func (q *Queue) Eligible() bool { return q.started }

// InDoubt reports whether there may be jobs that this process was given without knowing.
func (q *Queue) InDoubt() bool {
	f := q.driver.fetched
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.doubt
}

// kind is a kind of job and nothing else.
type kind string

// Kind is as River asks for it.
func (k kind) Kind() string { return string(k) }

// Knows is nil when the process's part of River knows a kind of job, and River's own
// error when not. Nothing is inserted.
func (q *Queue) Knows(ctx context.Context, name string) error {
	tx, err := q.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }() // as is meant
	_, err = q.client.InsertTx(ctx, tx, kind(name), nil)
	return err
}
