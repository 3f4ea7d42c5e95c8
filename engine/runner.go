package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"raglab/cache"
)

// runner is one apply. One goroutine owns it: stages run in goroutines of their
// own, of which there are as many as the capacity admits, and report on a
// channel.
type runner struct {
	*Executor
	ctx  context.Context
	plan *Plan
	out  *Outcomes
	err  error

	waiting  []int32 // inputs that are not done, by stage
	readers  [][]int32
	planned  []bool // the plan wants it
	lines    [queues][]*job
	free     Resources
	running  int
	inFlight map[cache.Key]*job
	locked   []*job
	delayed  int
	done     chan *job
	retry    chan *job
	events   chan Event
	buf      []byte
	stopped  bool
	over     chan struct{}
	// rewound lists, for a stage that is made again because its result was
	// lost, the stages that found it lost. Its other readers have been
	// released before.
	rewound map[int][]*Stage
}

// job is a stage on its way to a result.
type job struct {
	stage   *Stage
	key     cache.Key
	fields  []Field
	work    any
	in      []cache.Blob
	cost    Resources
	attempt int
	verify  bool
	told    bool // the user knows that another process has the key
	since   time.Time
	sharers []*Stage

	// What the goroutine found.
	blobs      []cache.Blob
	completion Completion
	wall, cpu  time.Duration
	holder     *cache.Holder
	warnings   []string
	unkept     bool // the result must not be used by a later apply
	different  error
	err        error
}

func newRunner(ctx context.Context, e *Executor, plan *Plan) *runner {
	n := len(plan.Stages)
	return &runner{
		Executor: e, ctx: ctx, plan: plan,
		out: &Outcomes{
			State: make([]StageState, n), Keys: make([]cache.Key, n),
			Outputs: make([][]cache.Blob, n), Wall: make([]time.Duration, n),
		},
		waiting: make([]int32, n), readers: make([][]int32, n), planned: make([]bool, n),
		free: e.Capacity, inFlight: map[cache.Key]*job{},
		done: make(chan *job), retry: make(chan *job), events: make(chan Event), over: make(chan struct{}),
		rewound: map[int][]*Stage{},
	}
}

// loop schedules until nothing is left that can run.
func (r *runner) loop() {
	r.begin()
	poll := r.Poll
	if poll == 0 {
		poll = 100 * time.Millisecond
	}
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	interrupt := r.ctx.Done()
	var budget <-chan time.Time
	if r.Budget > 0 {
		timer := time.NewTimer(r.Budget)
		defer timer.Stop()
		budget = timer.C
	}
	r.dispatch()
	for r.running > 0 || r.pending() {
		select {
		case j := <-r.done:
			r.running--
			r.free = r.free.plus(j.cost)
			r.finish(j)
		case j := <-r.retry:
			r.delayed--
			r.enqueue(j)
		case ev := <-r.events:
			r.Events(ev)
		case <-ticker.C:
			for _, j := range r.locked {
				r.enqueue(j)
			}
			r.locked = nil
		case <-budget:
			r.stopped, r.out.OverBudget = true, true
		case <-interrupt:
			interrupt = nil
			r.stopped, r.out.Interrupted = true, true
		}
		r.dispatch()
	}
	close(r.over)
}

// pending reports whether something will become runnable without a running
// stage's help.
func (r *runner) pending() bool { return !r.stopped && (r.delayed > 0 || len(r.locked) > 0) }

// begin takes over what the plan found in the cache and queues what is ready.
func (r *runner) begin() {
	for i := range r.plan.Stages {
		ps := &r.plan.Stages[i]
		if ps.Outcome == "" {
			continue
		}
		r.planned[i] = true
		r.out.State[i] = StateQueued
		if ps.Outcome == Cached {
			r.out.State[i], r.out.Keys[i], r.out.Outputs[i] = StateDone, ps.Key, ps.Outputs
			r.out.Cached++
		}
		for _, in := range ps.Stage.Inputs {
			r.readers[in.From.index] = append(r.readers[in.From.index], int32(i))
			if r.out.State[in.From.index] != StateDone {
				r.waiting[i]++
			}
		}
	}
	for i := range r.plan.Stages {
		switch {
		case r.out.State[i] == StateDone:
			r.maybeVerify(&r.plan.Stages[i])
		case r.out.State[i] == StateQueued && r.waiting[i] == 0:
			r.ready(r.plan.Stages[i].Stage)
		}
	}
}

// ready resolves a stage whose inputs are done: to a result that is there, to a
// run that is under way, or to a place in line.
func (r *runner) ready(s *Stage) {
	if r.out.State[s.index] != StateQueued {
		return
	}
	j, err := r.prepare(s)
	if err != nil {
		r.fail(s, cache.Key{}, err)
		return
	}
	if !r.forced(s) {
		record, miss, err := cache.Lookup(r.ctx, r.Store, j.key)
		if err != nil {
			r.fail(s, j.key, fmt.Errorf("look up result: %w", err))
			return
		}
		if miss.Reason == cache.Hit {
			r.complete(s, j.key, record.Outputs, Hit, 0)
			return
		}
	}
	if s.Blocked != "" {
		r.fail(s, j.key, errors.New(s.Blocked))
		return
	}
	if other, ok := r.inFlight[j.key]; ok {
		other.sharers = append(other.sharers, s)
		return
	}
	r.inFlight[j.key] = j
	r.enqueue(j)
}

func (r *runner) forced(s *Stage) bool {
	return r.plan.Stages[s.index].Reason.Kind == ReasonForced
}

// prepare names the stage's result.
func (r *runner) prepare(s *Stage) (*job, error) {
	j := &job{stage: s, attempt: 1, since: r.Now(), cost: s.Needs.atMost(r.Capacity)}
	j.in = make([]cache.Blob, len(s.Inputs))
	for i, in := range s.Inputs {
		blob, ok := findOutput(r.out.Outputs[in.From.index], in.Output)
		if !ok {
			return nil, fmt.Errorf("%s has no output %q", in.From.Address, in.Output)
		}
		j.in[i] = blob
	}
	var err error
	j.fields, j.work, err = resolve(s, func(name string) ([]byte, error) {
		for i, in := range s.Inputs {
			if in.Name == name {
				return r.Store.ReadAll(r.ctx, j.in[i].Digest)
			}
		}
		return nil, fmt.Errorf("no input %q", name)
	})
	if err != nil {
		return nil, err
	}
	j.key, r.buf = contentKey(r.buf, s, j.fields, digestsOf(j.in))
	return j, nil
}

func (r *runner) enqueue(j *job) {
	q := j.cost.queue()
	r.lines[q] = append(r.lines[q], j)
}

// dispatch starts what fits, in line order within each class.
func (r *runner) dispatch() {
	for q := range r.lines {
		for len(r.lines[q]) > 0 && !r.stopped && r.lines[q][0].cost.fits(r.free) {
			j := r.lines[q][0]
			r.lines[q] = r.lines[q][1:]
			r.free = r.free.minus(j.cost)
			r.running++
			go func() {
				r.execute(j)
				r.done <- j
			}()
		}
	}
}

// finish takes a job back from its goroutine.
func (r *runner) finish(j *job) {
	for _, w := range j.warnings {
		r.Events(Event{Type: EventWarning, Time: r.Now(), Stage: j.stage, Key: j.key, Message: w})
	}
	var lost *LostInputError
	switch {
	case j.holder != nil:
		r.wait(j)
	case j.verify:
		r.verified(j)
	case j.err == nil:
		delete(r.inFlight, j.key)
		r.Events(Event{
			Type: EventComplete, Time: r.Now(), Stage: j.stage, Key: j.key, Completion: j.completion,
			Reason: r.plan.Stages[j.stage.index].Reason, Wall: j.wall, CPU: j.cpu, Bytes: total(j.blobs), Attempt: j.attempt,
		})
		r.settle(j.stage, j.key, j.blobs, j.completion, j.wall)
		for _, s := range j.sharers {
			r.complete(s, j.key, j.blobs, Shared, 0)
		}
	case errors.As(j.err, &lost) && j.attempt < 5 && !r.stopped:
		r.rewind(j, lost)
	case IsTransient(j.err) && j.attempt < r.attempts() && !r.stopped:
		r.later(j)
	default:
		r.failAll(j, j.err)
	}
}

// failAll fails a job's stage and, without saying so again, those that share
// its key.
func (r *runner) failAll(j *job, err error) {
	delete(r.inFlight, j.key)
	r.fail(j.stage, j.key, err)
	for _, s := range j.sharers {
		r.out.State[s.index] = r.out.State[j.stage.index]
		if r.out.State[s.index] == StateFailed {
			r.block(s, j.stage)
		}
	}
}

// wait puts a job aside whose key another process holds.
func (r *runner) wait(j *job) {
	holder := *j.holder
	j.holder = nil
	if r.LockTimeout > 0 && r.Now().Sub(j.since) >= r.LockTimeout {
		r.failAll(j, &cache.LockedError{Key: j.key, Holder: holder, Waited: r.Now().Sub(j.since)})
		return
	}
	if !j.told {
		j.told = true
		r.Events(Event{Type: EventWaiting, Time: r.Now(), Stage: j.stage, Key: j.key, Holder: holder})
	}
	r.locked = append(r.locked, j)
}

func (r *runner) attempts() int {
	if r.Attempts == 0 {
		return 4
	}
	return r.Attempts
}

// later runs a job again after a while, during which it holds nothing.
func (r *runner) later(j *job) {
	delay := r.backoff(j.attempt + 1)
	r.Events(Event{
		Type: EventRetry, Time: r.Now(), Stage: j.stage, Key: j.key, Attempt: j.attempt, Err: j.err,
		Message: fmt.Sprintf("again in %s", delay.Round(time.Millisecond)),
	})
	j.attempt++
	j.err = nil
	r.delayed++
	time.AfterFunc(delay, func() {
		select {
		case r.retry <- j:
		case <-r.over:
		}
	})
}

// rewind makes a lost input again, and then the stage that found it lost.
func (r *runner) rewind(j *job, lost *LostInputError) {
	delete(r.inFlight, j.key)
	from := lost.From
	r.Events(Event{
		Type: EventWarning, Time: r.Now(), Stage: j.stage, Key: j.key,
		Message: fmt.Sprintf("input %s (%s) is lost and will be made again: %v", lost.Input, from.Address, lost.Err),
	})
	if err := r.Store.Delete(context.WithoutCancel(r.ctx), r.out.Keys[from.index]); err != nil {
		r.fail(j.stage, j.key, fmt.Errorf("forget lost result: %w", err))
		return
	}
	for _, s := range append([]*Stage{j.stage}, j.sharers...) {
		r.waiting[s.index]++
		r.rewound[from.index] = append(r.rewound[from.index], s)
	}
	if r.out.State[from.index] == StateDone {
		r.out.State[from.index] = StateQueued
		r.ready(from)
	}
}

// complete announces a result that no run of this stage made, and settles it.
func (r *runner) complete(s *Stage, key cache.Key, blobs []cache.Blob, how Completion, wall time.Duration) {
	r.Events(Event{
		Type: EventComplete, Time: r.Now(), Stage: s, Key: key, Completion: how,
		Reason: r.plan.Stages[s.index].Reason, Wall: wall, Bytes: total(blobs),
	})
	r.settle(s, key, blobs, how, wall)
}

// settle records a result and releases what waited for it.
func (r *runner) settle(s *Stage, key cache.Key, blobs []cache.Blob, how Completion, wall time.Duration) {
	i := s.index
	r.out.State[i], r.out.Keys[i], r.out.Outputs[i], r.out.Wall[i] = StateDone, key, blobs, wall
	switch how {
	case Executed:
		r.out.Executed++
	case Shared:
		r.out.Shared++
	default:
		r.out.Hits++
	}
	if again, ok := r.rewound[i]; ok {
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
		r.ready(s)
	}
}

func total(blobs []cache.Blob) int64 {
	var n int64
	for _, b := range blobs {
		n += b.Size
	}
	return n
}

// fail records a failure and blocks what needs the stage.
func (r *runner) fail(s *Stage, key cache.Key, err error) {
	state := StateFailed
	if r.ctx.Err() != nil {
		state, err = StateInterrupted, context.Cause(r.ctx)
	}
	r.out.State[s.index] = state
	r.Events(Event{Type: EventErrored, Time: r.Now(), Stage: s, Key: key, Err: err})
	if state == StateInterrupted {
		return
	}
	r.out.Failures = append(r.out.Failures, Failure{s, err})
	r.block(s, s)
	if r.FailFast {
		r.stopped = true
	}
}

func (r *runner) block(s, root *Stage) {
	for _, reader := range r.readers[s.index] {
		if r.out.State[reader] != StateQueued {
			continue
		}
		blocked := r.plan.Stages[reader].Stage
		r.out.State[reader] = StateBlocked
		r.Events(Event{Type: EventBlocked, Time: r.Now(), Stage: blocked, Message: root.Address})
		r.block(blocked, root)
	}
}
