package river

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"raglab/engine/fleet"
	"raglab/internal/pg"
)

// lockKey is the advisory lock of something of a schema's queue. Those of package pg
// are the first digits of content keys, and must not be met.
func lockKey(what ...string) int64 {
	sum := sha256.Sum256([]byte("raglab fleet\x00" + strings.Join(what, "\x00")))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// sql puts the schema into a statement, and the channels.
func (q *Queue) sql(text string) string {
	if known, ok := q.texts.Load(text); ok {
		return known.(string)
	}
	out := strings.NewReplacer("{s}", q.schema, "{channel}", "'"+q.channel+"'", "{news}", "'"+q.newsChannel+"'",
		"{most}", strconv.Itoa(q.o.spreadMost)).Replace(text)
	q.texts.Store(text, out)
	return out
}

// tx is a transaction that changes the queue.
//
// The first thing that each does is to take the writers' lock, together with others:
// who follows a run knows by it which of the transactions under way may bring notices.
// The second is the structure's lock. What moves one node on, and counts down those
// that wait for it, takes it together with others; what adds nodes, makes nodes wait
// again or ends runs takes it alone, so that no node misses the end of what it waits
// for. Rows are locked in the order of ids within one statement.
type tx struct {
	pgx.Tx
	q     *Queue
	now   time.Time // of the server
	told  pgx.Batch
	wakes map[string]struct{}
	limit bool // places in limits may have become free, or are asked for
	// spreads says that how a node ended is to be spread further: see spreadMost.
	spreads bool
}

// change runs f in a transaction. It is tried again when others were in the way, and
// when the server could not be reached, as long as ctx lasts; so f must see when it has
// been done already.
func (q *Queue) change(ctx context.Context, op string, alone bool, f func(*tx) error) error {
	return q.patiently(ctx, op, func() error { return q.once(ctx, q.pool, alone, f) })
}

// patience is how long a server that cannot be reached is waited for: one that was killed
// may take a minute to recover.
const patience = 2 * time.Minute

// patiently tries until it is done, or fails in a way that does not pass.
func (q *Queue) patiently(ctx context.Context, op string, try func() error) error {
	deadline := time.Now().Add(patience)
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := try()
		if err == nil {
			return nil
		}
		wrapped := q.o.DB.Explain(ctx, op, err)
		if !pg.IsTransient(wrapped) || time.Now().After(deadline) || q.life.Err() != nil {
			return wrapped
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// idleMost is how long the server waits for the next statement of a transaction. What a
// transaction has locked, all wait for: a machine that is cut off within one must not
// keep it for the hours after which a system gives a connection up.
const idleMost = 10 * time.Second

// begin is the statements that begin a transaction.
var begin = fmt.Sprintf("begin; set local idle_in_transaction_session_timeout = %d; ", idleMost.Milliseconds())

// beginner is a pool or a connection.
type beginner interface {
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// once runs f in a transaction.
func (q *Queue) once(ctx context.Context, on beginner, alone bool, f func(*tx) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	options := pgx.TxOptions{BeginQuery: begin + q.locks}
	if alone {
		options.BeginQuery = begin + q.locksAlone
	}
	var t *tx
	err := pgx.BeginTxFunc(ctx, on, options, func(inner pgx.Tx) error {
		t = &tx{Tx: inner, q: q, wakes: map[string]struct{}{}}
		err := t.readTime(ctx, alone)
		if err == nil {
			err = f(t)
		}
		if err == nil && t.limit {
			err = t.admit(ctx)
		}
		if err == nil {
			err = t.flush(ctx)
		}
		return err
	})
	if err == nil && t.spreads {
		q.spreads.signal()
	}
	return err
}

// setLocks writes down the statements that take the locks of a transaction.
func (q *Queue) setLocks() {
	const text = "select pg_advisory_xact_lock_shared(%d), pg_advisory_xact_lock%s(%d)"
	q.locks = fmt.Sprintf(text, q.writers, "_shared", q.structure)
	q.locksAlone = fmt.Sprintf(text, q.writers, "", q.structure)
}

// readTime finds out the server's time, which is asked for where times are compared.
func (t *tx) readTime(ctx context.Context, exactly bool) error {
	if s := t.q.session; s != nil && !exactly {
		t.now = s.now()
		return nil
	}
	return t.QueryRow(ctx, "select clock_timestamp()").Scan(&t.now)
}

// flush sends the notices, and wakes those who wait for what has changed.
func (t *tx) flush(ctx context.Context) error {
	if t.told.Len() > 0 {
		t.told.Queue("select pg_notify($1, '')", t.q.newsChannel)
	}
	for w := range t.wakes {
		t.told.Queue("select pg_notify($1, $2)", t.q.channel, w)
	}
	if t.told.Len() == 0 {
		return nil
	}
	return t.SendBatch(ctx, &t.told).Close()
}

// wake tells all processes that there are, or will be after a delay, jobs of a class.
func (t *tx) wake(class fleet.Class, after time.Duration) {
	t.wakes["c:"+string(class)+":"+strconv.FormatInt(max(0, after.Milliseconds()), 10)] = struct{}{}
}

// wakeHolders lets the processes look whether their claims stand.
func (t *tx) wakeHolders() { t.wakes["lost"] = struct{}{} }

// heard takes what another process, or this one, has told.
func (q *Queue) heard(channel, payload string) {
	switch {
	case channel == q.newsChannel:
		q.news.signal()
	case channel != q.channel:
		// River's own: its scheduler has made jobs available.
		var told struct{ Queue string }
		if err := json.Unmarshal([]byte(payload), &told); err == nil {
			q.desk.wake(fleet.Class(told.Queue))
		}
	case payload == "lost":
		go q.checkHeld(q.life)
	case strings.HasPrefix(payload, "c:"):
		class, after, _ := strings.Cut(strings.TrimPrefix(payload, "c:"), ":")
		ms, err := strconv.ParseInt(after, 10, 64)
		if err != nil || ms == 0 {
			q.desk.wake(fleet.Class(class))
			return
		}
		q.desk.later(fleet.Class(class), time.Duration(ms)*time.Millisecond)
	}
}

// wakeAll is for what may have been told while nobody listened.
func (q *Queue) wakeAll() {
	q.desk.wake("")
	q.news.signal()
	go q.checkHeld(q.life)
}
