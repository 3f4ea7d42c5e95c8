package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"raglab/cache"
)

// Made is a stage's result: the content key that names it, and its outputs.
type Made struct {
	Key     cache.Key    `json:"key"`
	Outputs []cache.Blob `json:"outputs"`
}

// Order asks for one stage of a graph.
type Order struct {
	Stage *Stage
	// From gives the result of a stage that the ordered one reads.
	From func(*Stage) Made
	// Reason is why, for events; of the kind ReasonForced, the stage runs although
	// its result may be there.
	Reason Reason
	// Attempt counts from 1.
	Attempt int
}

// Delivery is what came of an order.
type Delivery struct {
	Made
	Completion Completion
	Wall, CPU  time.Duration
	// PaidUSD is what the run was billed for, also one that failed.
	PaidUSD  float64
	Warnings []string
	// Unkept says that the result must not be used by a later apply.
	Unkept bool
	// Lost are inputs that are not there any more: they are to be made again, and
	// then the stage.
	Lost []*LostInputError
	// Locked tells who else makes the result just now, of an order that ended for
	// that; nil otherwise.
	Locked *cache.LockedError
}

// Make brings one stage about, and nothing else: it names the result by what the
// inputs turned out to be, looks for it in the cache, and runs the stage under the
// lease of its key. Starts and progress are told to e.Events, from any goroutine;
// the end is the caller's to tell. An error is marked by [Transient] when another
// attempt may do better, and is ctx's cause when that ended it; an order that lost
// inputs or found the key locked has no error. Neither a panic nor a goroutine that the
// stage's function ends takes the caller with it.
func (e *Local) Make(ctx context.Context, o Order) (d Delivery, err error) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		guard(func() { d, err = e.deliver(ctx, o) }, func(failed error) { err = failed })
	}()
	<-over
	return d, err
}

// guard calls f, and tells failed when it panics or ends its goroutine.
func guard(f func(), failed func(error)) {
	ended := false
	defer func() {
		if p := recover(); p != nil {
			failed(panicError(p))
		} else if !ended {
			failed(errors.New("the stage's function ended its goroutine"))
		}
	}()
	f()
	ended = true
}

func (e *Local) deliver(ctx context.Context, o Order) (Delivery, error) {
	x := &execution{Local: e, ctx: ctx, emit: e.Events}
	j, err := x.name(o.Stage, o.Reason, o.Reason.Kind == ReasonForced, o.From)
	if err != nil {
		var lost *LostInputError
		if errors.As(err, &lost) {
			return Delivery{Lost: []*LostInputError{lost}}, nil
		}
		return Delivery{}, err
	}
	j.attempt, j.takes = max(o.Attempt, 1), j.cost
	guard(func() { x.execute(j) }, func(failed error) { j.err = failed })
	d := Delivery{
		Made: Made{j.key, j.blobs}, Completion: j.completion, Wall: j.wall, CPU: j.cpu, PaidUSD: j.paid,
		Warnings: j.warnings, Unkept: j.unkept, Lost: j.lost, Locked: j.locked,
	}
	if len(d.Lost) > 0 {
		return d, nil
	}
	return d, j.err
}

// name resolves a stage whose inputs are known to the key of its result.
func (r *execution) name(s *Stage, why Reason, forced bool, from func(*Stage) Made) (*job, error) {
	j := &job{stage: s, attempt: 1, reason: why, forced: forced, cost: s.Needs.atLeastOne().atMost(r.capacity())}
	j.in, j.from = make([]cache.Blob, len(s.Inputs)), make([]cache.Key, len(s.Inputs))
	for i, in := range s.Inputs {
		made := from(in.From)
		blob, ok := findOutput(made.Outputs, in.Output)
		if !ok {
			return nil, fmt.Errorf("%s has no output %q", in.From.Address, in.Output)
		}
		j.in[i], j.from[i] = blob, made.Key
	}
	var err error
	if j.fields, j.work, err = resolve(r.ctx, s, j.in, r.Store); err != nil {
		return nil, err
	}
	j.key, _ = contentKey(nil, s, j.fields, j.in)
	return j, nil
}
