package engine

import (
	"context"
	"errors"
	"slices"

	"raglab/cache"
)

// finish takes a job back from its goroutine.
func (r *runner) finish(j *job) {
	for _, w := range j.warnings {
		r.Events(Event{Type: EventWarning, Time: r.Now(), Stage: j.stage, Key: j.key, Message: w})
	}
	j.warnings = nil
	switch {
	case j.verify:
		r.verified(j)
	case j.locked != nil:
		r.wait(j)
	case j.unlocked:
		j.unlocked = false
		r.ready.add(j)
	case j.err == nil:
		r.succeed(j)
	case len(j.lost) > 0:
		delete(r.inFlight, j.key)
		// Once stopped, the next plan finds the input missing.
		if !r.stopped {
			r.rewind(j.stage, j.lost, append(j.sharers, j.stage)...)
		}
	case IsTransient(j.err) && j.attempt < r.attempts() && !r.stopped:
		r.later(j)
	default:
		r.failAll(j)
	}
}

// succeed settles a job's stage and those that share its key.
func (r *runner) succeed(j *job) {
	delete(r.inFlight, j.key)
	r.Events(Event{
		Type: EventComplete, Time: r.Now(), Stage: j.stage, Key: j.key, Completion: j.completion,
		Reason: j.reason, Wall: j.wall, CPU: j.cpu, Bytes: total(j.blobs), Attempt: j.attempt,
	})
	r.out.Wall[j.stage.index] = j.wall
	stages := append([]*Stage{j.stage}, j.sharers...)
	if j.unkept {
		r.out.Unkeep(stages...)
	}
	r.settle(j.stage, j.key, j.blobs, j.completion)
	for _, s := range j.sharers {
		r.complete(s, j.key, j.blobs, Shared)
	}
}

// complete announces a result that no run of this stage made, and settles it.
func (r *runner) complete(s *Stage, key cache.Key, blobs []cache.Blob, how Completion) {
	r.Events(Event{
		Type: EventComplete, Time: r.Now(), Stage: s, Key: key, Completion: how,
		Reason: r.reason(s), Bytes: total(blobs),
	})
	r.settle(s, key, blobs, how)
}

// settle records a result and releases what waited for it.
func (r *runner) settle(s *Stage, key cache.Key, blobs []cache.Blob, how Completion) {
	i := s.index
	r.out.State[i], r.out.Keys[i], r.out.Outputs[i], r.how[i] = StateDone, key, blobs, how
	if again, ok := r.rewound[i]; ok {
		r.moved = r.moved || !slices.Equal(blobs, r.before[i])
		delete(r.rewound, i)
		for _, reader := range again {
			r.release(reader)
		}
		return
	}
	for _, reader := range r.readers[i] {
		r.release(r.plan.Stages[reader].Stage)
	}
}

// release tells a stage that one of its inputs is done.
func (r *runner) release(s *Stage) {
	r.waiting[s.index]--
	if r.waiting[s.index] == 0 {
		r.admit(s)
	}
}

func total(blobs []cache.Blob) int64 {
	var n int64
	for _, b := range blobs {
		n += b.Size
	}
	return n
}

// failAll fails a job's stage. Those that share its key need what it did not
// give.
func (r *runner) failAll(j *job) {
	delete(r.inFlight, j.key)
	r.fail(j.stage, j.key, j.err)
	if r.out.State[j.stage.index] != StateFailed {
		return
	}
	for _, s := range j.sharers {
		r.blockOne(s, j.stage)
	}
}

// fail records a failure and blocks what needs the stage. What ends because the
// apply was told to stop has not failed.
func (r *runner) fail(s *Stage, key cache.Key, err error) {
	state := StateFailed
	if r.ctx.Err() != nil && errors.Is(err, context.Cause(r.ctx)) {
		state, err = StateInterrupted, context.Cause(r.ctx)
	}
	r.out.State[s.index] = state
	r.Events(Event{Type: EventErrored, Time: r.Now(), Stage: s, Key: key, State: state, Err: err})
	if state == StateInterrupted {
		return
	}
	r.out.Failures = append(r.out.Failures, Failure{s, err})
	r.block(s, s)
	var store *StoreError
	if r.FailFast || errors.As(err, &store) {
		r.stopped = true
	}
}

// block blocks what waits for a stage that has no result because of root.
func (r *runner) block(s, root *Stage) {
	for _, reader := range r.readers[s.index] {
		// One that waits for nothing had its input before that was lost.
		if r.waiting[reader] > 0 {
			r.blockOne(r.plan.Stages[reader].Stage, root)
		}
	}
	again := r.rewound[s.index]
	delete(r.rewound, s.index)
	for _, reader := range again {
		r.blockOne(reader, root)
	}
}

func (r *runner) blockOne(s, root *Stage) {
	if r.out.State[s.index] != StateQueued {
		return
	}
	r.out.State[s.index] = StateBlocked
	r.Events(Event{Type: EventBlocked, Time: r.Now(), Stage: s, Message: root.Address})
	r.block(s, root)
}
