package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"raglab/cache"
)

// runner is one apply. One goroutine owns it, the one that called Apply: stages
// run in goroutines of their own, of which there are as many as the capacity
// admits, and report on channels.
type runner struct {
	*execution
	plan *Plan
	out  *Outcomes

	started time.Time
	waiting []int32 // inputs that are not done, by stage
	readers [][]int32
	how     []Completion // of stages that are done; empty for those the plan found

	ready    lines
	limited  limited
	free     Resources
	running  int
	inFlight map[cache.Key]*job // ready, running or put aside
	locked   []*job             // another process has the key
	tick     <-chan time.Time   // when to look at them; nil while there are none
	delayed  int                // jobs that wait for their next attempt
	toVerify []int32            // cached stages to make again
	cut      bool               // verification of one was interrupted

	done   chan *job
	retry  chan *job
	events chan Event
	over   chan struct{} // closed when nothing is received any more

	stopped bool // begin nothing more

	// rewound lists, for a stage that is made again because its result was
	// lost, the stages that wait for it. Its other readers have been released
	// before.
	rewound map[int][]*Stage
	// remade counts how often a stage's result was lost.
	remade map[int]int
	// before is what a stage that is made again had come to, again why it is.
	before map[int][]cache.Blob
	again  map[int]Reason
	// moved says that a stage that was made again came out different.
	moved bool
}

// job is a stage on its way to a result.
type job struct {
	stage   *Stage
	key     cache.Key
	fields  []Field
	work    any
	in      []cache.Blob
	from    []cache.Key // of the inputs' stages
	cost    Resources
	attempt int
	verify  bool
	reason  Reason
	forced  bool         // runs although its result may be there
	old     []cache.Blob // to compare with what is made to verify it
	place   uint64       // in line
	sharers []*Stage

	takes   Resources // while it runs
	entered bool      // it counts in its stage's limits

	// Of a job whose key another process has.
	told  cache.Holder // whom the user was told of
	since time.Time

	// What the goroutine found.
	blobs      []cache.Blob
	completion Completion
	wall, cpu  time.Duration
	paid       float64 // USD
	locked     *cache.LockedError
	unlocked   bool // the key's lease is free now
	warnings   []string
	unkept     bool // the result must not be used by a later apply
	different  error
	lost       []*LostInputError
	err        error
}

func newRunner(ctx context.Context, e *Local, plan *Plan) *runner {
	n := len(plan.Stages)
	r := &runner{
		plan: plan, started: e.Now(),
		out:     NewOutcomes(plan),
		waiting: make([]int32, n), readers: make([][]int32, n), how: make([]Completion, n),
		free: e.capacity(), inFlight: map[cache.Key]*job{},
		done: make(chan *job), retry: make(chan *job), events: make(chan Event), over: make(chan struct{}),
		rewound: map[int][]*Stage{}, remade: map[int]int{}, before: map[int][]cache.Blob{}, again: map[int]Reason{},
	}
	r.out.PaidUSD = e.PaidUSD
	r.execution = &execution{Local: e, ctx: ctx, emit: func(ev Event) { r.events <- ev }}
	return r
}

// capacity is the executor's, with at least one thread.
func (e *Local) capacity() Resources {
	c := e.Capacity
	c.CPU = max(c.CPU, 1)
	return c
}

// run does all that can be done.
func (r *runner) run() {
	r.begin()
	r.loop()
	for r.moved && !r.stopped {
		r.moved = false
		r.revisit()
		r.loop()
	}
	close(r.over)
	left := r.out.Sum(r.how) || len(r.toVerify) > 0
	r.out.Interrupted = r.ctx.Err() != nil && (left || r.cut)
	if !left {
		r.out.OverBudget = ""
	}
}

// loop schedules until nothing is left that can run.
func (r *runner) loop() {
	interrupt := r.ctx.Done()
	budget := r.budget()
	if r.BudgetUSD > 0 && r.out.PaidUSD >= r.BudgetUSD {
		r.overBudget("usd")
	}
	r.dispatch()
	for r.running > 0 || r.pending() {
		select {
		case j := <-r.done:
			r.running--
			r.free = r.free.plus(j.takes)
			r.limited.leave(j, &r.ready)
			r.pay(j)
			r.finish(j)
		case j := <-r.retry:
			r.delayed--
			r.ready.add(j)
		case ev := <-r.events:
			r.Events(ev)
		case <-r.tick:
			r.tick = nil
			r.probeLocked()
		case <-budget:
			budget = nil
			r.overBudget("seconds")
		case <-interrupt:
			interrupt = nil
			r.stopped = true
		}
		r.dispatch()
	}
}

// pending reports whether something will become runnable without a running
// stage's help.
func (r *runner) pending() bool { return !r.stopped && (r.delayed > 0 || len(r.locked) > 0) }

// budget fires when the budget is spent.
func (r *runner) budget() <-chan time.Time {
	if r.Budget <= 0 {
		return nil
	}
	return time.After(r.Budget - r.Now().Sub(r.started))
}

// overBudget begins nothing more, for want of what the budget bounds.
func (r *runner) overBudget(what string) {
	r.stopped = true
	if r.out.OverBudget == "" {
		r.out.OverBudget = what
	}
}

// pay counts what a job that ended was billed for.
func (r *runner) pay(j *job) {
	if j.paid == 0 {
		return
	}
	r.out.PaidUSD, j.paid = r.out.PaidUSD+j.paid, 0
	if r.BudgetUSD > 0 && r.out.PaidUSD >= r.BudgetUSD {
		r.overBudget("usd")
	}
}

// begin takes over what the plan found in the cache and queues what is ready.
func (r *runner) begin() {
	var first []*Stage
	for i := range r.plan.Stages {
		ps := &r.plan.Stages[i]
		if ps.Outcome == "" {
			continue
		}
		if ps.Outcome == Cached && r.sampled(ps) {
			r.toVerify = append(r.toVerify, int32(i))
		}
		for _, in := range ps.Stage.Inputs {
			r.readers[in.From.index] = append(r.readers[in.From.index], int32(i))
			if r.out.State[in.From.index] != StateDone {
				r.waiting[i]++
			}
		}
		if r.out.State[i] == StateQueued && r.waiting[i] == 0 {
			first = append(first, ps.Stage)
		}
	}
	// Only now: one that is found in the cache releases its readers at once.
	for _, s := range first {
		r.admit(s)
	}
}

// admit resolves a stage whose inputs are done: to a result that is there, to a
// run that is under way, or to a place in line.
func (r *runner) admit(s *Stage) {
	if r.out.State[s.index] != StateQueued || r.ctx.Err() != nil {
		return
	}
	j, err := r.prepare(s)
	var lost *LostInputError
	switch {
	case errors.As(err, &lost) && !r.stopped:
		r.rewind(s, []*LostInputError{lost}, s)
		return
	case err != nil:
		r.fail(s, cache.Key{}, err)
		return
	}
	// What a resident stage left may be gone: only its goroutine may ask.
	if s.Residence == nil && !r.forced(s) {
		record, miss, err := cache.Lookup(r.ctx, r.Store, j.key)
		if err != nil {
			r.fail(s, j.key, fmt.Errorf("look up result: %w", err))
			return
		}
		if miss.Reason == cache.Hit {
			r.complete(s, j.key, record.Outputs, Hit)
			return
		}
	}
	if s.Residence == nil && s.Blocked != "" {
		r.fail(s, j.key, errors.New(s.Blocked))
		return
	}
	if other, ok := r.inFlight[j.key]; ok {
		other.sharers = append(other.sharers, s)
		return
	}
	r.inFlight[j.key] = j
	r.ready.add(j)
}

// forced reports whether a stage is to run although its result may be there: it
// does so once.
func (r *runner) forced(s *Stage) bool {
	return r.plan.Stages[s.index].Reason.Kind == ReasonForced && r.how[s.index] != Executed
}

// reason is why a stage runs: as planned, unless its result was lost since.
func (r *runner) reason(s *Stage) Reason {
	if why, ok := r.again[s.index]; ok {
		return why
	}
	return r.plan.Stages[s.index].Reason
}

// prepare names the stage's result.
func (r *runner) prepare(s *Stage) (*job, error) {
	return r.name(s, r.reason(s), r.forced(s), func(from *Stage) Made {
		return Made{r.out.Keys[from.index], r.out.Outputs[from.index]}
	})
}

// dispatch starts what fits. Results are verified with what nothing else wants.
func (r *runner) dispatch() {
	if r.stopped || r.ctx.Err() != nil {
		return
	}
	for j := r.ready.take(r.free); j != nil; j = r.ready.take(r.free) {
		if r.limited.enter(j, r.Limits) {
			r.start(j, j.cost, r.execute)
		}
	}
	for len(r.toVerify) > 0 && r.ready.empty() {
		s := r.plan.Stages[r.toVerify[0]].Stage
		if !s.Needs.atLeastOne().atMost(r.capacity()).fits(r.free) {
			return
		}
		r.toVerify = r.toVerify[1:]
		r.verify(s)
	}
}

// start runs a job's next step in a goroutine.
func (r *runner) start(j *job, takes Resources, step func(*job)) {
	j.takes = takes
	r.free = r.free.minus(takes)
	r.running++
	go func() {
		// A panic is the stage's failure, so that one broken kind does not take
		// the others' work with it.
		defer func() { r.done <- j }()
		guard(func() { step(j) }, func(failed error) { j.err = failed })
	}()
}
