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
