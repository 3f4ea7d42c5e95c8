package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"raglab/cache"
)

// execution is what running one stage needs, wherever the stage comes from. Its
// methods may be called from several goroutines, each with a job of its own.
type execution struct {
	*Local
	ctx  context.Context
	emit func(Event)
}

// execute runs a job in its goroutine: under the lease of its key, unless the
// result turns up in the cache first.
func (r *execution) execute(j *job) {
	if j.verify {
		r.runTask(r.ctx, j)
		return
	}
	lease, err := r.Store.Acquire(r.ctx, j.key, cache.LeaseRequest{Timeout: -1})
	if errors.As(err, &j.locked) {
		return
	}
	if err != nil {
		j.err = storeError(r.ctx, "lease result", err)
		return
	}
	defer func() {
		if err := lease.Release(); err != nil {
			r.Log.Warn("release lease", "stage", j.stage.Address, "error", err)
		}
	}()
	switch {
	case r.fromCache(j):
	case j.stage.Blocked != "":
		j.err = errors.New(j.stage.Blocked)
	default:
		r.runTask(lease.Context(), j)
	}
}

// StoreError is a failure of the cache to take what a stage made: a full disk, a
// folder that cannot be written. Every other stage would meet it too, so that
// nothing more is begun after it.
type StoreError struct{ Err error }

func (e *StoreError) Error() string { return e.Err.Error() }
func (e *StoreError) Unwrap() error { return e.Err }

// storeError says what was being done when the store failed, or was told to
// stop.
func storeError(ctx context.Context, doing string, err error) error {
	err = fmt.Errorf("%s: %w", doing, err)
	if ctx.Err() != nil || errors.Is(err, cache.ErrUnavailable) {
		return err
	}
	return &StoreError{err}
}

// runTask runs the stage's function and stores what it made.
func (r *execution) runTask(ctx context.Context, j *job) {
	started := r.Now()
	t := newTask(ctx, j.stage, j.work, j.in, r.Store, r.Log)
	t.Key, t.Attempt, t.Fresh = j.key, j.attempt, j.verify
	var end func()
	t.progress, end = r.progress(j)
	defer t.discard()
	defer end()
	defer func() { j.paid = t.paid() }() // for a run that failed, too
	if !j.verify {
		r.emit(Event{Type: EventStart, Time: started, Stage: j.stage, Key: j.key, Reason: j.reason, Attempt: j.attempt})
	}
	cpu := processCPU()
	if j.err = guarded(func() error { return r.runKind(ctx, j, t) }); j.err != nil {
		r.diagnose(ctx, j)
		return
	}
	j.warnings = t.warned()
	if j.blobs, j.err = t.commit(); j.err != nil {
		r.diagnose(ctx, j)
		return
	}
	j.wall, j.completion = r.Now().Sub(started), Executed
	if j.cost.CPU >= r.capacity().CPU {
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
	// All outputs are in the store: what the stage has finished is kept, even
	// when the apply was told to stop meanwhile.
	j.err = r.record(context.WithoutCancel(ctx), j, t, started)
}

// runKind calls the stage's function, under the lease of its key. A stage that is
// forced to run must not find what it left outside the cache the last time.
func (r *execution) runKind(ctx context.Context, j *job, t *Task) error {
	if in := j.stage.Residence; in != nil && j.forced {
		if err := in.Remove(ctx, j.key); err != nil {
			return fmt.Errorf("remove the table that is to be made again: %w", err)
		}
	}
	return j.stage.Kind.Run(ctx, t)
}

// diagnose looks at why a task failed: it was told to stop, its lease was taken
// away, or an input is lost.
func (r *execution) diagnose(ctx context.Context, j *job) {
	var lost *LostInputError
	switch {
	case r.ctx.Err() != nil:
		j.err = context.Cause(r.ctx)
	case ctx.Err() != nil:
		j.err = Transient(context.Cause(ctx))
	case errors.As(j.err, &lost):
		if j.lost = r.inputsLost(ctx, j, lost); len(j.lost) == 0 {
			// It came back: another process made it again.
			j.err = Transient(j.err)
		}
	case !IsTransient(j.err):
		// A decoder may have stumbled over damage before the end of an input,
		// where it would have been told from its digest.
		j.lost = r.inputsLost(ctx, j, nil)
	}
}

// progress returns a function that passes on at most ten reports a second, from
// any goroutine, and one after which it passes on none.
func (r *execution) progress(j *job) (report func(done, total int64, unit string), end func()) {
	var mu sync.Mutex
	var last time.Time
	var ended bool
	report = func(done, total int64, unit string) {
		mu.Lock()
		defer mu.Unlock()
		now := r.Now()
		if ended || done < total && now.Sub(last) < 100*time.Millisecond {
			return
		}
		last = now
		r.emit(Event{Type: EventProgress, Time: now, Stage: j.stage, Key: j.key, Done: done, Total: total, Unit: unit})
	}
	end = func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
	}
	return report, end
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
func (r *execution) record(ctx context.Context, j *job, t *Task, started time.Time) error {
	manifest, err := json.Marshal(manifestOf(j.stage, j.fields, j.in))
	if err != nil {
		return fmt.Errorf("encode manifest: %w", err)
	}
	measured, err := t.measurements()
	if err != nil {
		return fmt.Errorf("encode measurements: %w", err)
	}
	by, err := json.Marshal(provenance{started, ms(j.wall), ms(j.cpu), j.attempt, r.Provenance})
	if err != nil {
		return fmt.Errorf("encode provenance: %w", err)
	}
	rec := &cache.Record{Key: j.key, Outputs: j.blobs, Manifest: manifest, Measurements: measured, Provenance: by}
	// What is known of a table that is no more must not stay with the new one.
	remade := j.stage.Residence != nil && !t.found
	if remade || j.forced && !t.found {
		if err := r.Store.Delete(ctx, j.key); err != nil {
			return storeError(ctx, "replace result", err)
		}
	}
	kept, err := r.Store.Put(ctx, rec)
	var missing *cache.OutputMissingError
	switch {
	case errors.As(err, &missing):
		// Somebody emptied the cache just now.
		return Transient(fmt.Errorf("store result: %w", err))
	case err != nil:
		return storeError(ctx, "store result", err)
	}
	j.blobs = kept.Outputs
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
