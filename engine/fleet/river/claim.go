package river

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
)

// worker is River's for all jobs of the queue.
type worker struct {
	river.WorkerDefaults[stage]
	q *Queue
}

// Work claims the node of a job for the caller that the job was fetched for, and
// returns when that claim has ended. What becomes of the job is decided by the
// transaction that ends the claim: see driver.
func (w *worker) Work(ctx context.Context, job *river.Job[stage]) error {
	w.q.serve(ctx, job)
	return nil
}

// held is a claim of this process.
type held struct {
	claim *fleet.Claim
	ended chan struct{} // closed when the claim has ended or is lost
	lost  chan struct{} // closed when it is lost

	bound   *time.Timer // of a second claim, of which River knows nothing
	renewed time.Time   // guarded by the queue's mu
}

func (q *Queue) serve(ctx context.Context, job *river.Job[stage]) {
	c := q.desk.boundTo(fleet.Class(job.Queue))
	claim, err := q.take(ctx, job, c.offer.Worker)
	if err != nil {
		q.o.Log.Error("claim a stage", "error", err)
	}
	// When the claim failed, the job is found to be nobody's: see reclaim.
	q.driver.fetched.done(job.ID, err)
	if claim == nil {
		q.desk.unbind(c)
		return
	}
	h := q.hold(claim)
	if !q.desk.deliver(c, claim) {
		q.giveBack(claim)
	}
	select {
	case <-h.ended:
	case <-ctx.Done():
		q.overdue(ctx, claim)
		<-h.ended
	}
}

// overdue ends a claim that took longer than River allows, or that River was stopped
// under. Its holder is told first.
func (q *Queue) overdue(ctx context.Context, c *fleet.Claim) {
	h := q.forget(c.Token)
	if h == nil {
		return
	}
	close(h.lost)
	defer close(h.ended)
	ctx = context.WithoutCancel(ctx)
	if q.life.Err() == nil && !q.closing.Load() {
		f := fleet.Failure{
			Text:  fmt.Sprintf("it ran for more than %s, the bound of one claim of a stage", q.o.JobTimeout),
			Class: fleet.StageFailure,
		}
		if err := q.Fail(ctx, c, f); err != nil && !errors.Is(err, fleet.ErrClaimLost) {
			q.o.Log.Error("end a claim", "error", err)
			q.abandon(c)
		}
	}
}

// giveBack returns a claim that nobody took.
func (q *Queue) giveBack(c *fleet.Claim) {
	if err := q.Return(context.WithoutCancel(q.life), c, "", 0); err != nil && !errors.Is(err, fleet.ErrClaimLost) {
		q.o.Log.Error("give a stage back", "error", err)
		q.lose(c.Token)
		q.abandon(c)
	}
}

// hold remembers a claim.
func (q *Queue) hold(c *fleet.Claim) *held {
	h := &held{claim: c, ended: make(chan struct{}), lost: make(chan struct{}), renewed: time.Now()}
	if c.Again {
		h.bound = time.AfterFunc(q.o.JobTimeout, func() { q.overdue(q.life, c) })
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held[c.Token] = h
	return h
}

// forget takes a claim off those of this process; nil when it is none of them.
func (q *Queue) forget(token int64) *held {
	q.mu.Lock()
	defer q.mu.Unlock()
	h := q.held[token]
	delete(q.held, token)
	if h != nil && h.bound != nil {
		h.bound.Stop()
	}
	return h
}

// release forgets a claim that has ended.
func (q *Queue) release(token int64) {
	if h := q.forget(token); h != nil {
		close(h.ended)
	}
}

// lose forgets a claim that was lost, and lets its holder know.
func (q *Queue) lose(token int64) {
	if h := q.forget(token); h != nil {
		close(h.lost)
		close(h.ended)
	}
}

// loseAll is lose for all claims; they may stand.
func (q *Queue) loseAll() {
	for _, c := range q.claims() {
		q.lose(c.Token)
		q.abandon(c)
	}
}

func (q *Queue) tokens() []int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	tokens := make([]int64, 0, len(q.held))
	for t := range q.held {
		tokens = append(tokens, t)
	}
	return tokens
}

// checkHeld finds out which of the claims were taken away.
func (q *Queue) checkHeld(ctx context.Context) {
	ctx, cancel := answered(ctx)
	defer cancel()
	tokens := q.tokens()
	if len(tokens) == 0 {
		return
	}
	rows, err := q.pool.Query(ctx, q.sql(`
		select t from unnest($1::bigint[]) t where not exists (select from {s}.fleet_claim c where c.token = t)`), tokens)
	if err == nil {
		tokens, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	}
	if err != nil {
		return // Renew finds out
	}
	for _, t := range tokens {
		q.lose(t)
	}
}

// Lost returns a channel that is closed when a claim of this process is known to be
// lost: somebody else finished the node, its run was stopped, or the process lost its
// session with the server for too long. It is nil for a claim that has ended.
func (q *Queue) Lost(c *fleet.Claim) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if h, ok := q.held[c.Token]; ok {
		return h.lost
	}
	return nil
}

// Claim is as [fleet.Queue] says. The offer's worker is a name within this process;
// empty is that of the [Options].
func (q *Queue) Claim(ctx context.Context, o fleet.Offer) (*fleet.Claim, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if o.Worker == "" {
		o.Worker = q.o.Name
	}
	for _, class := range o.Classes {
		if q.o.Slots[class] == 0 {
			return nil, fmt.Errorf("claim a stage: this process has no slots for class %s", class)
		}
	}
	c := q.desk.join(o)
	look := time.NewTicker(q.o.Look)
	defer look.Stop()
	for {
		select {
		case claim := <-c.got:
			return claim, nil
		case <-look.C:
			if claim := q.backUp(ctx, c); claim != nil {
				return claim, nil
			}
			continue
		case <-ctx.Done():
		case <-q.life.Done():
		}
		break
	}
	if !q.desk.leave(c) {
		return <-c.got, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, errClosed
}

// take claims the node of a job that River gave this process. Nil is for a job whose
// node is not to be begun any more; it is ended then.
func (q *Queue) take(ctx context.Context, job *river.Job[stage], name string) (*fleet.Claim, error) {
	// Nearly always it is there to be claimed: one trip to the server, a transaction of
	// its own.
	batch := &pgx.Batch{}
	batch.Queue(q.locks)
	q.queueTake(batch, job.Args.Key, job.ID, name)
	claim, err := readClaim(q.pool.SendBatch(ctx, batch), job.Args.Key, 1)
	if claim != nil && err == nil {
		return claim, nil
	}
	err = q.change(ctx, "claim a stage", false, func(t *tx) (err error) {
		claim, err = t.resume(ctx, job)
		if claim == nil && err == nil {
			batch := &pgx.Batch{}
			q.queueTake(batch, job.Args.Key, job.ID, name)
			claim, err = readClaim(t.SendBatch(ctx, batch), job.Args.Key, 0)
		}
		if claim == nil && err == nil {
			err = t.dismiss(ctx, job)
		}
		return err
	})
	return claim, err
}

// claimColumns are what a claim tells of its node.
const claimColumns = `n.id, n.address, n.kind, n.version, n.class, n.limits, n.priority, n.single, n.bundle, n.reason, n.failures + n.died + 1`

// queueTake asks to claim a node that is ready and has its places in limits, and for
// what it reads.
func (q *Queue) queueTake(batch *pgx.Batch, key cache.Key, job int64, name string) {
	batch.Queue(q.sql(`
		with n as (update {s}.fleet_node n set state = 'claimed', job = $2, stale = null
				where key = $1 and state = 'ready' and (slotted or limits = '{}')
					and exists (select from {s}.fleet_worker w where w.id = $3) returning `+claimColumns+` as attempt),
			c as (insert into {s}.fleet_claim (node, owner, worker, attempt) select id, $3, $4, attempt from n returning token)
		select n.*, c.token from n, c`), key[:], job, q.id, name)
	q.queueNeeds(batch, key)
}

// resume finds the claim that an earlier try has made, whose answer was lost.
func (t *tx) resume(ctx context.Context, job *river.Job[stage]) (*fleet.Claim, error) {
	batch := &pgx.Batch{}
	key := job.Args.Key
	batch.Queue(t.q.sql(`
		select `+claimColumns+`, c.token from {s}.fleet_node n join {s}.fleet_claim c on c.node = n.id
		where n.key = $1 and n.state = 'claimed' and n.job = $2 and c.owner = $3 and not c.again and c.token <> all($4)`),
		key[:], job.ID, t.q.id, t.q.tokens())
	t.q.queueNeeds(batch, key)
	return readClaim(t.SendBatch(ctx, batch), key, 0)
}

// queueNeeds asks for the results that a node reads.
func (q *Queue) queueNeeds(batch *pgx.Batch, key cache.Key) {
	batch.Queue(q.sql(`
		select d.key, d.made_key, d.outputs from {s}.fleet_node n join {s}.fleet_edge e on e.node = n.id join {s}.fleet_node d on d.id = e.need
		where n.key = $1 order by d.id`), key[:])
}

// readClaim reads a claim and the results that it needs, after some answers that say
// nothing; nil when there is none.
func readClaim(results pgx.BatchResults, key cache.Key, skip int) (*fleet.Claim, error) {
	for range skip {
		if _, err := results.Exec(); err != nil {
			return nil, errors.Join(err, results.Close())
		}
	}
	claim, err := scanClaim(results.QueryRow(), key)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, results.Close()
	}
	if err == nil {
		err = scanNeeds(results, claim)
	}
	if err = errors.Join(err, results.Close()); err != nil {
		return nil, err
	}
	return claim, nil
}

func scanClaim(row pgx.Row, key cache.Key) (*fleet.Claim, error) {
	c := &fleet.Claim{Node: fleet.Node{Key: key}, From: map[cache.Key]engine.Made{}}
	var id int64
	var bundle, reason []byte
	err := row.Scan(&id, &c.Address, &c.Kind, &c.Version, &c.Class, &c.Limits, &c.Priority, &c.Single, &bundle, &reason, &c.Attempt, &c.Token)
	if err != nil {
		return nil, err
	}
	copy(c.Bundle[:], bundle)
	if len(c.Limits) == 0 {
		c.Limits = nil
	}
	if reason != nil {
		err = json.Unmarshal(reason, &c.Reason)
	}
	return c, err
}

func scanNeeds(results pgx.BatchResults, c *fleet.Claim) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	var need, made, outputs []byte
	_, err = pgx.ForEachRow(rows, []any{&need, &made, &outputs}, func() error {
		key, err := keyOf(need)
		if err != nil {
			return err
		}
		c.Needs = append(c.Needs, key)
		c.From[key], err = decodeMade(made, outputs)
		return err
	})
	return err
}

// dismiss ends a job whose node was not to be claimed: it is ended, waits again, or is
// wanted by nobody. One that lacks its places in limits is ready and gets another job
// with them.
func (t *tx) dismiss(ctx context.Context, job *river.Job[stage]) error {
	n, err := t.nodeOf(ctx, job.Args.Key)
	switch {
	case err != nil:
		return err
	case n != nil && n.state == stateClaimed && n.job == job.ID:
		return nil // the job is that claim's
	case n != nil && n.state == stateReady:
		t.limit = true
	}
	if n == nil || n.state != stateReady || len(n.limits) > 0 {
		return t.complete(ctx, job.ID)
	}
	// It has become ready since it was looked at.
	return t.retry(ctx, &node{job: job.ID, key: n.key, class: n.class, priority: n.priority, failures: n.failures, died: n.died}, t.now, "")
}
