package river

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"raglab/engine/fleet"
)

// newsMost bounds how many notices are returned at a time.
const newsMost = 4096

// bell lets many wait for something new.
type bell struct {
	mu sync.Mutex
	ch chan struct{}
}

func newBell() *bell { return &bell{ch: make(chan struct{})} }

// wait returns what is closed at the next signal.
func (b *bell) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ch
}

func (b *bell) signal() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.ch)
	b.ch = make(chan struct{})
}

const (
	// followPoll is how often a follower looks although it was told of nothing.
	followPoll = time.Second
	// followPending is how soon it looks again while a transaction is under way whose
	// notices would stand before some that are there.
	followPending = 15 * time.Millisecond
	// followPause is between two looks: where much happens, one sees many notices.
	followPause = 20 * time.Millisecond
)

// Follow is as [fleet.Queue] says.
func (q *Queue) Follow(ctx context.Context, run fleet.RunID, after fleet.Cursor) (fleet.News, error) {
	q.followers.Add(1)
	defer q.followers.Add(-1)
	if err := q.listen(ctx); err != nil {
		return fleet.News{}, err
	}
	if err := q.session.follow(ctx); err != nil {
		return fleet.News{}, err
	}
	for {
		q.pauseLooking(ctx)
		rung := q.news.wait()
		var news fleet.News
		var pending bool
		err := q.patiently(ctx, fmt.Sprintf("follow run %d", run), func() (err error) {
			news, pending, err = q.look(ctx, run, after)
			return err
		})
		if err != nil {
			return fleet.News{}, err
		}
		if len(news.Notices) > 0 || news.Ended {
			return news, nil
		}
		wait := followPoll
		if pending {
			wait = followPending
		}
		timer := time.NewTimer(wait)
		select {
		case <-rung:
		case <-timer.C:
		case <-ctx.Done():
		case <-q.life.Done():
			timer.Stop()
			return fleet.News{}, errClosed
		}
		timer.Stop()
		if ctx.Err() != nil {
			return fleet.News{}, context.Cause(ctx)
		}
	}
}

// pauseLooking waits until it is time for the next look.
func (q *Queue) pauseLooking(ctx context.Context) {
	q.mu.Lock()
	wait := followPause - time.Since(q.looked)
	q.looked = time.Now().Add(max(wait, 0))
	q.mu.Unlock()
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// look reads what is new of a run. When nothing is, it is asked whether it has ended,
// and then once more: for what was told until then.
func (q *Queue) look(ctx context.Context, run fleet.RunID, after fleet.Cursor) (news fleet.News, pending bool, err error) {
	news, pending, err = q.lookOnce(ctx, run, after)
	if err != nil || news.Ended || pending || len(news.Notices) > 0 {
		return news, pending, err
	}
	var ended bool
	err = q.pool.QueryRow(ctx, q.sql(`select `+over+` from {s}.fleet_run r where r.id = $1`), int64(run)).Scan(&ended)
	if err != nil || !ended {
		return news, false, err
	}
	news, pending, err = q.lookOnce(ctx, run, after)
	news.Ended = news.Ended || !pending && len(news.Notices) < newsMost
	return news, pending, err
}

// lookOnce reads what is new of a run. Ended is of what was written down, before that.
func (q *Queue) lookOnce(ctx context.Context, run fleet.RunID, after fleet.Cursor) (news fleet.News, pending bool, err error) {
	var first int64
	var last *int64
	var ended bool
	err = q.pool.QueryRow(ctx, q.sql(`select r.first_notice, r.last_notice, r.held, r.ended is not null from {s}.fleet_run r where r.id = $1`), int64(run)).
		Scan(&first, &last, &news.Held, &ended)
	if errors.Is(err, pgx.ErrNoRows) {
		return news, false, fmt.Errorf("the queue has no run %d", run)
	}
	if err != nil {
		return news, false, err
	}
	news.Cursor = after
	news.Notices, pending, err = q.notices(ctx, run, after, first, last)
	if n := len(news.Notices); n > 0 {
		news.Cursor = news.Notices[n-1].Cursor
	}
	news.Ended = ended && !pending && len(news.Notices) < newsMost
	return news, pending, err
}

// horizon is SQL for the first transaction of which it is not certain that all its
// notices are to be seen. Notices are ordered by transaction, so none at or after it may
// be read. The oldest transaction under way would do, but on a server where an index is
// built for an hour nobody would hear of anything for that hour: those that do not hold
// the writers' lock, which each writer takes before it is given its number, are left
// out.
//
// The order matters. The statement's snapshot comes first; then the locks are looked
// at, once, for at a second look a writer may have gone; then it is seen whether the
// transaction is still under way, for one that ends is no longer so before it lets go
// of its locks one by one. A transaction that ended meanwhile, or whose number is not
// among the locks yet, counts.
const horizon = `
	with locks as materialized (
		select locktype, transactionid::text::bigint as xid, virtualtransaction as owner,
			objsubid = 1 and (classid::bigint << 32 | objid::bigint) = $5::bigint as writer
		from pg_locks where granted and (locktype = 'transactionid' and mode = 'ExclusiveLock' or locktype = 'advisory')),
	h as materialized (
		select coalesce((select min(x::text::bigint) from pg_snapshot_xip(s) x
			where case when exists (select from locks l where l.locktype = 'transactionid' and l.xid = x::text::bigint % 4294967296
					and not exists (select from locks w where w.owner = l.owner and w.locktype = 'advisory' and w.writer))
				then pg_xact_status(x) <> 'in progress' else true end),
			pg_snapshot_xmax(s)::text::bigint) as tx
		from pg_current_snapshot() s)`

// notices reads a run's notices after a cursor, and reports whether there are some that
// cannot be told yet.
func (q *Queue) notices(ctx context.Context, run fleet.RunID, after fleet.Cursor, first int64, last *int64) ([]fleet.Notice, bool, error) {
	rows, err := q.pool.Query(ctx, q.sql(horizon+`
		select c.tx::text, c.id, (select d.key from {s}.fleet_node d where d.id = c.node), c.body, c.tx >= h.tx::text::xid8
		from h, {s}.fleet_notice c
		where (c.tx, c.id) > ($2::text::xid8, $3::bigint) and c.id > $4 and c.id <= coalesce($6::bigint, 9223372036854775807)
			and (c.run = $1 or c.run is null and exists (select from {s}.fleet_member m where m.run = $1 and m.node = c.node))
		order by c.tx, c.id limit $7`), int64(run), strconv.FormatInt(after.Tx, 10), after.ID, first, q.writers, last, newsMost)
	if err != nil {
		return nil, false, err
	}
	var list []fleet.Notice
	pending := false
	var number string
	var id int64
	var key, text []byte
	var early bool
	_, err = pgx.ForEachRow(rows, []any{&number, &id, &key, &text, &early}, func() error {
		if pending = pending || early; pending {
			return nil
		}
		n, err := decodeNotice(text)
		if err != nil {
			return err
		}
		if n.Node, err = keyOf(key); err != nil {
			return err
		}
		n.Cursor.ID = id
		n.Cursor.Tx, err = strconv.ParseInt(number, 10, 64)
		list = append(list, n)
		return err
	})
	return list, pending, err
}
