package river

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"raglab/internal/pg"
)

const (
	// beat is how often a session is asked whether it stands.
	beat = time.Second
	// cutAfter is after how long a connection that says nothing counts as cut; the two
	// systems find that out, not a program that may be short of time.
	cutAfter = 4 * time.Second
	// mute is how long a server may take for an answer to a beat.
	mute = 10 * time.Second
)

var errSessionLost = errors.New("the session of the worker with Postgres was lost")

// session is a connection of its own: it listens for what the queue tells, and of a
// worker it holds the advisory lock of its id, for as long as the process lives. It
// is made again when it is lost.
type session struct {
	q *Queue
	// id is a worker's, 0 for who only listens.
	id int64

	requests chan *request
	mu       sync.Mutex
	kick     context.CancelCauseFunc // ends the wait for notifications
	conn     *pg.Session             // the reference keeps the connection, and with it the lock
	backend  int32                   // the server's process of the last connection that had the lock
	lost     time.Time               // since when there is none; zero while there is

	// hold, when a test has set it, keeps the session from being made again.
	hold func() bool

	following atomic.Bool  // it listens for news
	skew      atomic.Int64 // of the server's clock against this one's, in nanoseconds
	done      chan struct{}
}

// request is something to be done on the session's connection.
type request struct {
	f   func(context.Context, *pgx.Conn) error
	err chan error
}

var errKicked = errors.New("there is something to do on the session")

// open makes the session for the first time and keeps it until ctx ends.
func (q *Queue) openSession(ctx context.Context, id int64) (*session, error) {
	s := &session{q: q, id: id, requests: make(chan *request, 16), done: make(chan struct{})}
	if _, err := s.connect(ctx); err != nil {
		return nil, err
	}
	go s.run(q.life)
	return s, nil
}

// connect makes the connection, takes the lock and registers, in this order and on one
// connection, and reports whether the worker was known already.
func (s *session) connect(ctx context.Context) (known bool, err error) {
	conn, err := s.q.o.DB.OpenWatched(ctx, cutAfter)
	if err != nil {
		return false, err
	}
	known, err = s.prepare(ctx, conn.Conn)
	if err != nil {
		conn.Conn.Close(context.WithoutCancel(ctx))
		return false, s.q.o.DB.Explain(ctx, "take part in the queue", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn, s.lost = conn, time.Time{}
	return known, nil
}

func (s *session) prepare(ctx context.Context, conn *pgx.Conn) (known bool, err error) {
	if s.id != 0 {
		if err := s.lock(ctx, conn); err != nil {
			return false, err
		}
		if known, err = s.register(ctx, conn); err != nil {
			return false, err
		}
	}
	channels := []string{s.q.channel, s.q.o.DB.Schema() + ".river_insert"}
	if s.following.Load() {
		channels = append(channels, s.q.newsChannel)
	}
	for _, channel := range channels {
		if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{channel}.Sanitize()); err != nil {
			return false, err
		}
	}
	return known, s.ask(ctx, conn)
}

// lock takes the lock of the worker's id. An earlier session of this process may stand
// on the server's side, which has not noticed that it was cut: it is ended.
func (s *session) lock(ctx context.Context, conn *pgx.Conn) error {
	for range 50 {
		var got bool
		var backend int32
		err := conn.QueryRow(ctx, "select pg_try_advisory_lock($1), pg_backend_pid()", s.id).Scan(&got, &backend)
		if err != nil {
			return err
		}
		if got {
			s.backend = backend
			return nil
		}
		_, err = conn.Exec(ctx, "select pg_terminate_backend(pid) from pg_locks l where "+holds("l")+" and pid = $2", s.id, s.backend)
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return errors.New("an earlier session of this process holds its lock and does not end")
}

// holds is SQL for a row of pg_locks that is the advisory lock of the key $1.
func holds(l string) string {
	return fmt.Sprintf(`%[1]s.locktype = 'advisory' and %[1]s.granted and %[1]s.objsubid = 1
		and %[1]s.database = (select oid from pg_database where datname = current_database())
		and (%[1]s.classid::bigint << 32 | %[1]s.objid::bigint) = $1::bigint`, l)
}

func (s *session) register(ctx context.Context, conn *pgx.Conn) (known bool, err error) {
	o := s.q.o
	err = conn.QueryRow(ctx, s.q.sql(`
		insert into {s}.fleet_worker as w (id, name, host, version, pid, classes) values ($1, $2, $3, $4, $5, $6)
		on conflict (id) do update set missing = null returning xmax <> 0`),
		s.id, o.Name, o.host(), o.Version, os.Getpid(), s.q.classes()).Scan(&known)
	return known, err
}

// ask is the beat: it asks the server for the time.
func (s *session) ask(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := answered(ctx)
	defer cancel()
	began := time.Now()
	var at time.Time
	if err := conn.QueryRow(ctx, "select clock_timestamp()").Scan(&at); err != nil {
		return err
	}
	took := time.Since(began)
	s.skew.Store(int64(at.Sub(began.Add(took / 2))))
	return nil
}

// answered is for what a server answers at once: should the network have fallen silent,
// the connection is given up.
func answered(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, mute, errors.New("the server did not answer"))
}

// run keeps the session until ctx ends.
func (s *session) run(ctx context.Context) {
	defer close(s.done)
	for {
		err := s.serve(ctx)
		s.drop()
		if ctx.Err() != nil {
			return
		}
		s.q.o.Log.Warn("the session with Postgres was lost", "error", s.q.o.DB.Explain(ctx, "listen", err))
		if !s.reconnect(ctx) {
			return
		}
		s.q.wakeAll()
	}
}

// drop closes what is left of a connection.
func (s *session) drop() {
	s.mu.Lock()
	conn := s.conn
	s.conn, s.lost = nil, time.Now()
	s.mu.Unlock()
	s.q.desk.pause(true)
	if conn != nil {
		ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, errSessionLost)
		defer cancel()
		_ = conn.Conn.Close(ctx) // it is lost
	}
}

// reconnect makes the session again. What the worker had is lost when others have
// found its lock missing meanwhile, or when it takes too long to find out.
func (s *session) reconnect(ctx context.Context) bool {
	// An attempt to connect may take longer than that.
	defer time.AfterFunc(s.q.o.Patience+cutAfter, s.q.loseAll).Stop()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		known, err := false, errSessionLost
		if s.hold == nil || !s.hold() {
			known, err = s.connect(ctx)
		}
		if err == nil {
			if !known {
				s.q.loseAll()
			}
			s.q.desk.pause(false)
			return true
		}
		if time.Since(s.lostSince()) > s.q.o.Patience+cutAfter {
			s.q.loseAll()
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
}

func (s *session) lostSince() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// standing reports whether the session stands, as far as is known.
func (s *session) standing() bool { return s.lostSince().IsZero() }

// serve waits for notifications and does what is asked for, until the connection or
// ctx ends.
func (s *session) serve(ctx context.Context) error {
	conn := s.conn.Conn
	asked := time.Now()
	for {
		wait, cancel := context.WithDeadlineCause(ctx, asked.Add(beat), errKicked)
		wait, kick := context.WithCancelCause(wait)
		s.mu.Lock()
		s.kick = kick
		s.mu.Unlock()
		s.serveRequests(ctx, conn)
		n, err := conn.WaitForNotification(wait)
		cancel()
		kick(nil)
		switch {
		case err == nil:
			s.q.heard(n.Channel, n.Payload)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case wait.Err() == nil || conn.IsClosed():
			return err
		}
		if time.Since(asked) >= beat {
			if err := s.ask(ctx, conn); err != nil {
				return err
			}
			asked = time.Now()
		}
	}
}

func (s *session) serveRequests(ctx context.Context, conn *pgx.Conn) {
	for {
		select {
		case r := <-s.requests:
			r.err <- r.f(ctx, conn)
		default:
			return
		}
	}
}

// do does something on the session's connection.
func (s *session) do(ctx context.Context, f func(context.Context, *pgx.Conn) error) error {
	r := &request{f: f, err: make(chan error, 1)}
	select {
	case s.requests <- r:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.done:
		return errSessionLost
	}
	s.mu.Lock()
	kick := s.kick
	s.mu.Unlock()
	if kick != nil {
		kick(errKicked)
	}
	select {
	case err := <-r.err:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.done:
		return errSessionLost
	}
}

// follow listens for news from now on.
func (s *session) follow(ctx context.Context) error {
	if s.following.Swap(true) {
		return nil
	}
	err := s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "listen "+pgx.Identifier{s.q.newsChannel}.Sanitize())
		return err
	})
	if ctx.Err() == nil {
		return nil // the session listens for them once it is back
	}
	return err
}

// now is the server's time, nearly.
func (s *session) now() time.Time { return time.Now().Add(time.Duration(s.skew.Load())) }
