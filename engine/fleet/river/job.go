package river

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"

	"raglab/cache"
	"raglab/engine/fleet"
	"raglab/internal/pg"
)

// stage are the arguments of River's job for a node: its plan key, and nothing else.
type stage struct {
	Key cache.Key `json:"key"`
}

// Kind names the job.
func (stage) Kind() string { return "raglab_stage" }

// NextRetry is when a job may be fetched again that River itself has rescued: at once.
// Its default grows with the errors of the job, to hours.
func (*worker) NextRetry(*river.Job[stage]) time.Time { return time.Now() }

// unfinished are the states in which a job keeps another of its key away. Completed is
// not among them: a node may be made again.
var unfinished = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
	rivertype.JobStateRunning, rivertype.JobStateScheduled,
}

// mostAttempts is what River is told: how often a node is tried is this package's to
// know, which counts failures and deaths of workers apart.
const mostAttempts = 1000

// opening is a job to be inserted.
type opening struct {
	key      cache.Key
	class    fleet.Class
	priority int
	at       time.Time // zero is at once
}

// insertJobs and unlessThere are SQL that inserts the jobs of many nodes, of which there
// are key, class and priority, as insert does and River would: the arguments, what they
// are unique by, and the states in which they are, one bit each.
var insertJobs = `insert into {s}.river_job (args, kind, max_attempts, priority, queue, unique_key, unique_states)
	select jsonb_build_object('key', encode(key, 'hex')), '` + stage{}.Kind() + `', ` + strconv.Itoa(mostAttempts) + `, priority, class,
		sha256(convert_to('&kind=` + stage{}.Kind() + `&args={"key":"' || encode(key, 'hex') || '"}', 'UTF8')), B'11110001'`

const unlessThere = `on conflict (unique_key) where unique_key is not null and unique_states is not null
	and {s}.river_job_state_in_bitmask(unique_states, state) do nothing`

// insertBatch is how many jobs are inserted by one statement.
const insertBatch = 5000

// insert inserts jobs, in the order given among those of one priority. One that is
// there already, for it was made obsolete and has not been met yet, serves again: River's
// fast way to insert would fail of it.
func (t *tx) insert(ctx context.Context, jobs []opening) error {
	for len(jobs) > 0 {
		n := min(len(jobs), insertBatch)
		params := make([]river.InsertManyParams, n)
		for i, j := range jobs[:n] {
			params[i] = river.InsertManyParams{Args: stage{j.key}, InsertOpts: &river.InsertOpts{
				MaxAttempts: mostAttempts, Priority: j.priority, Queue: string(j.class), ScheduledAt: j.at,
				UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: unfinished},
			}}
			t.wake(j.class, j.at.Sub(t.now))
		}
		if _, err := t.q.client.InsertManyTx(ctx, t.Tx, params); err != nil {
			return err
		}
		jobs = jobs[n:]
	}
	return nil
}

// setJob changes a job that is running, and reports whether there was one.
func (t *tx) setJob(ctx context.Context, p *riverdriver.JobSetStateIfRunningParams) (bool, error) {
	rows, err := t.q.driver.UnwrapExecutor(t.Tx).JobSetStateIfRunningMany(ctx, &riverdriver.JobSetStateIfRunningManyParams{
		ID: []int64{p.ID}, Attempt: []*int{p.Attempt}, ErrData: [][]byte{p.ErrData}, FinalizedAt: []*time.Time{p.FinalizedAt},
		MetadataDoMerge: []bool{false}, MetadataUpdates: [][]byte{nil}, ScheduledAt: []*time.Time{p.ScheduledAt},
		Schema: t.q.o.DB.Schema(), State: []rivertype.JobState{p.State},
	})
	return len(rows) == 1 && rows[0].State == p.State, err
}

// errorRow is what River keeps of an attempt that failed.
func (t *tx) errorRow(attempt int, text string) []byte {
	return mustJSON(rivertype.AttemptError{At: t.now.UTC(), Attempt: attempt, Error: pg.Redact(text)})
}

// schedulerInterval is how often River's leader makes jobs available that were to be
// tried later; for less than that they are so at once, with a time in the future.
const schedulerInterval = 5 * time.Second

// retry makes the running job of a node one that is tried again at a time, with the
// text of the failure that ended this attempt, or, when that is empty, without counting
// it.
func (t *tx) retry(ctx context.Context, n *node, at time.Time, text string) error {
	later := at.Sub(t.now) > schedulerInterval
	// A time that has come, whatever this machine's clock says.
	if !at.After(t.now) {
		at = t.now.Add(-time.Second)
	}
	var p *riverdriver.JobSetStateIfRunningParams
	switch row := t.errorRow(n.failures+n.died, text); {
	case text != "" && later:
		p = riverdriver.JobSetStateErrorRetryable(n.job, at, row, nil)
	case text != "":
		p = riverdriver.JobSetStateErrorAvailable(n.job, at, row, nil)
	case later:
		p = riverdriver.JobSetStateSnoozed(n.job, at, n.failures+n.died, nil)
	default:
		p = riverdriver.JobSetStateSnoozedAvailable(n.job, at, n.failures+n.died, nil)
	}
	t.wake(n.class, at.Sub(t.now))
	ok, err := t.setJob(ctx, p)
	if err == nil && !ok {
		err = t.insert(ctx, []opening{{key: n.key, class: n.class, priority: n.priority, at: at}})
	}
	return err
}

// complete ends the running job of a node that needs none any more.
func (t *tx) complete(ctx context.Context, job int64) error {
	_, err := t.setJob(ctx, riverdriver.JobSetStateCompleted(job, t.now, nil))
	return err
}

// discard ends the running job of a node that has failed.
func (t *tx) discard(ctx context.Context, n *node, text string) error {
	_, err := t.setJob(ctx, riverdriver.JobSetStateDiscarded(n.job, t.now, t.errorRow(n.failures+n.died, text), nil))
	return err
}

// keyOf reads a key column.
func keyOf(b []byte) (k cache.Key, err error) {
	if len(b) != len(k) {
		return k, fmt.Errorf("the queue has a key of %d bytes: %s", len(b), hex.EncodeToString(b))
	}
	copy(k[:], b)
	return k, nil
}

// cancelled ends the running job of a node that nobody wants any more.
func cancelled(job int64, at time.Time, errorRow []byte) *riverdriver.JobSetStateIfRunningParams {
	return riverdriver.JobSetStateCancelled(job, at, errorRow, nil)
}
