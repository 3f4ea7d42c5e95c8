package engine

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"syscall"
	"time"

	"raglab/cache"
)

// execute runs a job in its goroutine: under the lease of its key, unless the
// result turns up in the cache first.
func (r *runner) execute(j *job) {
	if j.verify {
		r.runTask(r.ctx, j, r.Store)
		return
	}
	lease, err := r.Store.Acquire(r.ctx, j.key, cache.LeaseRequest{Timeout: -1})
	var locked *cache.LockedError
	if errors.As(err, &locked) {
		j.holder = &locked.Holder
		return
	}
	if err != nil {
		j.err = fmt.Errorf("lease result: %w", err)
		return
	}
	defer func() {
		if err := lease.Release(); err != nil && j.err == nil {
			r.Log.Warn("release lease", "stage", j.stage.Address, "error", err)
		}
	}()
	if !r.forced(j.stage) {
		record, miss, err := cache.Lookup(r.ctx, r.Store, j.key)
		if err != nil {
			j.err = fmt.Errorf("look up result: %w", err)
			return
		}
		if miss.Reason == cache.Hit {
			j.blobs, j.completion = record.Outputs, Elsewhere
			return
		}
	}
	r.runTask(lease.Context(), j, r.Store)
}

// runTask runs the stage's function and stores what it made.
func (r *runner) runTask(ctx context.Context, j *job, b blobs) {
	started := r.Now()
	t := newTask(ctx, j.stage, j.work, j.in, b, r.Log)
	t.Attempt, t.Fresh = j.attempt, j.verify
	t.progress = r.progress(j)
	defer t.discard()
	if !j.verify {
		r.events <- Event{Type: EventStart, Time: started, Stage: j.stage, Key: j.key, Reason: r.plan.Stages[j.stage.index].Reason, Attempt: j.attempt}
	}
	cpu := processCPU()
	if j.err = guarded(ctx, j.stage.Kind.Run, t); j.err != nil {
		if ctx.Err() != nil {
			j.err = context.Cause(ctx)
		}
		return
	}
	j.warnings = t.warnings
	if j.blobs, j.err = t.commit(); j.err != nil {
		return
	}
	j.wall, j.completion = r.Now().Sub(started), Executed
	if j.cost.CPU >= r.Capacity.CPU {
		j.cpu = processCPU() - cpu
	}
	if j.verify {
		j.different = r.compare(ctx, j)
		return
	}
	if j.stage.Check != nil {
		if err := j.stage.Check(); err != nil {
			j.warnings = append(j.warnings, err.Error()+"; the result is used now but not kept")
			j.unkept = true
			return
		}
	}
	j.err = r.record(ctx, j, t, started)
}

// guarded turns a panic of a stage's function into its failure, so that one
// broken kind does not take the others' work with it.
func guarded(ctx context.Context, run func(context.Context, *Task) error, t *Task) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return run(ctx, t)
}

// progress returns a function that passes on at most ten reports a second.
func (r *runner) progress(j *job) func(done, total int64, unit string) {
	var last time.Time
	return func(done, total int64, unit string) {
		now := r.Now()
		if done < total && now.Sub(last) < 100*time.Millisecond {
			return
		}
		last = now
		r.events <- Event{Type: EventProgress, Time: now, Stage: j.stage, Key: j.key, Done: done, Total: total, Unit: unit}
	}
}

// provenance is who made a result.
type provenance struct {
	Started time.Time         `json:"started"`
	WallMS  float64           `json:"wall_ms"`
	CPUMS   float64           `json:"cpu_ms,omitempty"`
	Attempt int               `json:"attempt"`
	By      map[string]string `json:"by"`
}

// record writes the action record, last of all.
func (r *runner) record(ctx context.Context, j *job, t *Task, started time.Time) error {
	manifest, err := json.Marshal(manifestOf(j.stage, j.fields, digestsOf(j.in)))
	if err != nil {
		return fmt.Errorf("encode manifest: %w", err)
	}
	measured, err := json.Marshal(t.measured)
	if err != nil {
		return fmt.Errorf("encode measurements: %w", err)
	}
	by, err := json.Marshal(provenance{started, ms(j.wall), ms(j.cpu), j.attempt, r.Provenance})
	if err != nil {
		return fmt.Errorf("encode provenance: %w", err)
	}
	rec := &cache.Record{Key: j.key, Outputs: j.blobs, Manifest: manifest, Measurements: measured, Provenance: by}
	if r.forced(j.stage) {
		if err := r.Store.Delete(ctx, j.key); err != nil {
			return fmt.Errorf("replace result: %w", err)
		}
	}
	kept, err := r.Store.Put(ctx, rec)
	if err != nil {
		return fmt.Errorf("store result: %w", err)
	}
	j.blobs = kept.Outputs
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// processCPU is the user and system time this process has spent.
func processCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// backoff is how long to wait before an attempt.
func (r *runner) backoff(attempt int) time.Duration {
	if r.Backoff != nil {
		return r.Backoff(attempt)
	}
	base := 500 * time.Millisecond << min(attempt-2, 6)
	return base/2 + rand.N(base)
}

// maybeVerify queues a cached result to be made again, when its key falls into
// the share that is to be verified: the same keys for the same share.
func (r *runner) maybeVerify(ps *PlannedStage) {
	at := float64(binary.BigEndian.Uint32(ps.Key[:])) / (math.MaxUint32 + 1)
	if at >= r.Verify || ps.Stage.Blocked != "" {
		return
	}
	j, err := r.prepare(ps.Stage)
	if err != nil {
		r.Log.Warn("verify", "stage", ps.Stage.Address, "error", err)
		return
	}
	j.verify = true
	r.enqueue(j)
}

// verified reports what verification found.
func (r *runner) verified(j *job) {
	r.out.Verified++
	err := j.different
	if j.err != nil {
		err = fmt.Errorf("make again: %w", j.err)
	}
	r.Events(Event{Type: EventVerified, Time: r.Now(), Stage: j.stage, Key: j.key, Wall: j.wall, Err: err})
	if err != nil {
		r.out.Different = append(r.out.Different, Failure{j.stage, err})
	}
}

// compare holds a result made again against the one in the cache.
func (r *runner) compare(ctx context.Context, j *job) error {
	for i, again := range j.blobs {
		old, ok := findOutput(r.plan.Stages[j.stage.index].Outputs, again.Name)
		if !ok {
			return fmt.Errorf("the cached result has no output %q", again.Name)
		}
		if old.Digest == j.blobs[i].Digest {
			continue
		}
		if j.stage.Kind.Same == nil {
			return fmt.Errorf("output %s is %s in the cache and %s made again", again.Name, old.Digest.Short(), again.Digest.Short())
		}
		if err := r.compareTolerant(ctx, j.stage.Kind, old, again); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) compareTolerant(ctx context.Context, kind *Kind, old, again cache.Blob) error {
	a, err := r.Store.Open(ctx, old.Digest)
	if err != nil {
		return err
	}
	defer func(c io.Closer) { _ = c.Close() }(a)
	b, err := r.Store.Open(ctx, again.Digest)
	if err != nil {
		return err
	}
	defer func(c io.Closer) { _ = c.Close() }(b)
	if err := kind.Same(old.Name, a, b); err != nil {
		return fmt.Errorf("output %s: %w", old.Name, err)
	}
	return nil
}
