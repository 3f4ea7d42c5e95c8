package river

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"raglab/engine/fleet"
)

// Queue is a process's part in the queue of a schema on Postgres: a [fleet.Queue], and a
// [fleet.Leaser]. It is safe for concurrent use.
type Queue struct {
	o      Options
	pool   *pgxpool.Pool
	schema string // quoted
	// channel is where the queue's transactions tell workers what has changed, and
	// newsChannel where they tell followers that there is something new.
	channel, newsChannel string
	locks, locksAlone    string // statements
	// Advisory locks: see tx, and superviseOnce.
	writers, structure, supervisor int64

	id      int64 // of the worker, 0 for who claims nothing
	driver  *driver
	client  *river.Client[pgx.Tx]
	desk    *desk
	news    *bell
	spreads *bell    // there is something to spread: see spreadMost
	texts   sync.Map // of statements
	session *session // nil until there is something to listen to

	life      context.Context // ends when the queue is closed
	leave     context.CancelCauseFunc
	closing   atomic.Bool
	started   bool
	followers atomic.Int32
	limited   atomic.Bool // there are limits
	backing   sync.Mutex
	services  sync.WaitGroup

	opening sync.Mutex // of the session
	mu      sync.Mutex
	held    map[int64]*held // by token
	looked  time.Time       // when a follower looked last
	rang    time.Time       // when followers were told last of a notice
	rings   bool            // they will be
	// abandoned are claims that were given up here and may stand at the server.
	abandoned map[int64]*fleet.Claim
	leases    map[int64]struct{}
}

var (
	_ fleet.Queue  = (*Queue)(nil)
	_ fleet.Leaser = (*Queue)(nil)
)

var errClosed = errors.New("this process has left the queue")

// Open takes part in the queue of the server's schema, making River's tables there if
// they are missing. With slots the process is a worker, known by its session: it takes
// part in River's maintenance too, for which it knows all kinds of jobs that there are.
// A [*VersionError] says that the tables are another raglab's, a [*pg.PoolerError] that
// there is a transaction pooler in between. The queue must be closed.
func Open(ctx context.Context, o Options) (*Queue, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, o); err != nil {
		return nil, err
	}
	schema := o.DB.Schema()
	q := &Queue{
		o: o, pool: o.DB.Pool(), schema: pgx.Identifier{schema}.Sanitize(), channel: schema + ".fleet", newsChannel: schema + ".fleet_news",
		writers: lockKey("writers", schema), structure: lockKey("structure", schema), supervisor: lockKey("supervisor", schema),
		news: newBell(), spreads: newBell(), held: map[int64]*held{}, leases: map[int64]struct{}{}, abandoned: map[int64]*fleet.Claim{},
	}
	q.setLocks()
	q.life, q.leave = context.WithCancelCause(context.WithoutCancel(ctx))
	q.desk = newDesk(slices.Collect(maps.Keys(o.Slots)))
	q.driver = &driver{Driver: riverpgxv5.New(q.pool), pool: q.pool, desk: q.desk, fetched: newFetched()}
	if len(o.Slots) > 0 {
		q.id = newID()
	}
	if err := q.start(ctx); err != nil {
		q.leave(errClosed)
		return nil, err
	}
	return q, nil
}

// newID is a worker's, and the key of its advisory lock.
func newID() int64 {
	var b [8]byte
	rand.Read(b[:])
	return int64(binary.BigEndian.Uint64(b[:])>>2) + 1
}

// clientID is the name that River knows a worker by.
func clientID(id int64) string { return "raglab-" + strconv.FormatInt(id, 16) }

func (q *Queue) classes() []string {
	var list []string
	for c := range q.o.Slots {
		list = append(list, string(c))
	}
	slices.Sort(list)
	return list
}

// start makes River's client, and of a worker the session; then River begins to fetch.
func (q *Queue) start(ctx context.Context) (err error) {
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, &worker{q: q}); err != nil {
		return fmt.Errorf("prepare River: %w", err)
	}
	config := &river.Config{
		Schema: q.o.DB.Schema(), Workers: workers, Logger: logger(q.o.Log),
		JobTimeout: q.o.JobTimeout, RescueStuckJobsAfter: q.o.RescueStuckJobsAfter, MaxAttempts: mostAttempts,
		// The desk decides when there is something to fetch: see driver.
		FetchCooldown: time.Millisecond, FetchPollInterval: 2 * time.Millisecond, PollOnly: true,
		CompletedJobRetentionPeriod: time.Hour, CancelledJobRetentionPeriod: time.Hour, DiscardedJobRetentionPeriod: q.o.Keep,
	}
	if q.id != 0 {
		config.ID = clientID(q.id)
		config.Queues = map[string]river.QueueConfig{}
		for class, n := range q.o.Slots {
			config.Queues[string(class)] = river.QueueConfig{MaxWorkers: n}
		}
	}
	if q.client, err = river.NewClient[pgx.Tx](q.driver, config); err != nil {
		return fmt.Errorf("prepare River: %w", err)
	}
	if q.id != 0 {
		if err := q.listen(ctx); err != nil {
			return err
		}
		if err := q.client.Start(q.life); err != nil {
			return q.o.DB.Explain(ctx, "start River", err)
		}
		q.started = true
		q.services.Go(func() { q.poll(q.life) })
	}
	q.services.Go(func() { q.supervise(q.life) })
	q.services.Go(func() { q.spreadOn(q.life) })
	return nil
}

// listen makes the session if there is none.
func (q *Queue) listen(ctx context.Context) (err error) {
	q.opening.Lock()
	defer q.opening.Unlock()
	if q.session == nil {
		q.session, err = q.openSession(ctx, q.id)
	}
	return err
}

// poll lets the producers look now and then, should a notification be lost, and sees
// after what this process has and does not know of, or had.
func (q *Queue) poll(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			q.desk.wake("")
			q.loseSilent()
			q.reclaim(ctx)
			q.giveUp(ctx)
		}
	}
}

// Name is the worker's.
func (q *Queue) Name() string { return q.o.Name }

// Close leaves the queue: what the process has claimed is ready again, for others. It
// waits for the server until ctx ends; what could not be given back by then is found to
// be nobody's within seconds. Closing twice is no error.
func (q *Queue) Close(ctx context.Context) error {
	if q.closing.Swap(true) {
		return nil
	}
	q.desk.close()
	var errs []error
	for _, c := range q.claims() {
		if err := q.Return(ctx, c, "", 0); err != nil && !errors.Is(err, fleet.ErrClaimLost) {
			errs = append(errs, err)
		}
	}
	q.loseAll()
	if q.started {
		errs = append(errs, q.client.StopAndCancel(ctx))
	}
	if q.id != 0 {
		_, err := q.pool.Exec(ctx, q.sql(`
			delete from {s}.fleet_worker w where id = $1 and not exists (select from {s}.fleet_claim c where c.owner = w.id)`), q.id)
		errs = append(errs, q.o.DB.Explain(ctx, "leave the queue", err))
	}
	q.leave(errClosed)
	q.services.Wait()
	if q.session != nil {
		<-q.session.done
	}
	return errors.Join(errs...)
}

func (q *Queue) claims() []*fleet.Claim {
	q.mu.Lock()
	defer q.mu.Unlock()
	var list []*fleet.Claim
	for _, h := range q.held {
		list = append(list, h.claim)
	}
	return list
}
