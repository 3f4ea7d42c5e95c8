package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
)

// Planner makes plans. It only reads.
type Planner struct {
	// Store may be opened read-only.
	Store cache.Store
	// Ledger is what the experiment's last applies left.
	Ledger Ledger
	// Recollection, when set, is what [Recall] found of the ledger's results.
	Recollection *Recollection
	// Force, when set, tells which stages to run although their result is there.
	Force func(*Stage) bool
	// Log is for developers; required.
	Log hclog.Logger
	// SimulateBytes bounds what stages that are run in memory may read
	// together.
	SimulateBytes int64
	// Slow, when set, is told where a plan is that has taken two seconds, and
	// then once a second: the stage that comes next, how many are done, and of
	// how many.
	Slow func(next *Stage, done, total int)
	// Now is the clock for Slow; nil is time.Now.
	Now func() time.Time
}

// slowAfter is how long a plan may take in silence, slowEvery how often it then
// says where it is.
const (
	slowAfter = 2 * time.Second
	slowEvery = time.Second
)

type planning struct {
	*Planner
	ctx    context.Context
	plan   *Plan
	memory *memoryBlobs
	budget int64
	rates  map[string]time.Duration
	ahead  lookahead
	buf    []byte
	in     []cache.Blob // of the stage that is planned
	// renamed are the results of addresses that the graph no longer has; made
	// when first needed.
	renamed   map[string]*formerStages
	residents residents
	// speakAt is when to say where the plan is.
	speakAt time.Time
}

// Plan looks at each stage once, in the graph's order. With wanted, which is
// indexed as the graph's stages, only those are planned.
func (p *Planner) Plan(ctx context.Context, g *Graph, wanted []bool) (*Plan, error) {
	w := &planning{
		Planner: p, ctx: ctx,
		plan:   &Plan{Graph: g, Stages: make([]PlannedStage, len(g.Stages))},
		memory: &memoryBlobs{under: p.Store, held: map[cache.Digest][]byte{}},
		budget: p.SimulateBytes,
		rates:  p.Ledger.rates(),

		residents: residents{},
		ahead:     lookahead{ctx: ctx, store: p.Store, ledger: p.Ledger, stages: g.Stages, wanted: wanted, early: p.Recollection},
	}
	defer w.ahead.end()
	if p.Slow != nil {
		w.speakAt = w.now().Add(slowAfter)
	}
	for i, s := range g.Stages {
		w.plan.Stages[i].Stage = s
		if wanted != nil && !wanted[i] {
			w.plan.Partial = true
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		w.speak(s, i)
		if err := w.stage(&w.plan.Stages[i]); err != nil {
			return nil, fmt.Errorf("plan %s: %w", s.Address, err)
		}
	}
	return w.plan, nil
}

func (p *Planner) now() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}

func (w *planning) speak(next *Stage, done int) {
	if w.Slow == nil {
		return
	}
	if now := w.now(); !now.Before(w.speakAt) {
		w.speakAt = now.Add(slowEvery)
		w.Slow(next, done, len(w.plan.Stages))
	}
}

// stage plans one stage.
func (w *planning) stage(ps *PlannedStage) error {
	s := ps.Stage
	if e, ok := w.Ledger[s.Address]; ok {
		ps.Estimate = e.Wall
	} else {
		ps.Estimate = w.rates[s.Kind.Name]
	}
	in, known := w.inputs(s)
	var lost *LostInputError
	if known {
		err := w.known(ps, in)
		if !errors.As(err, &lost) {
			w.conclude(ps)
			return err
		}
		w.lose(lost)
	}
	if err := w.unknown(ps); err != nil {
		return err
	}
	w.conclude(ps)
	return nil
}

// conclude notes what a stage means for those that read it.
func (w *planning) conclude(ps *PlannedStage) {
	s := ps.Stage
	if ps.Outcome == WillRun && s.Blocked != "" {
		ps.Outcome, ps.Note = Blocked, s.Blocked
	}
	switch ps.Outcome {
	case Blocked:
		if ps.root == nil {
			ps.root = s
		}
	case WillRun:
		if ps.volatile == nil && !s.Kind.Pure && !s.Kind.Steady {
			ps.volatile = s
		}
	}
}

// inputs returns the blobs of a stage's inputs, until it is called for the next stage;
// false when one of them is not known.
func (w *planning) inputs(s *Stage) ([]cache.Blob, bool) {
	w.in = w.in[:0]
	for _, input := range s.Inputs {
		blob, ok := findOutput(w.plan.Stages[input.From.index].Outputs, input.Output)
		if !ok {
			return nil, false
		}
		w.in = append(w.in, blob)
	}
	return w.in, true
}

func findOutput(blobs []cache.Blob, name string) (cache.Blob, bool) {
	for _, b := range blobs {
		if b.Name == name {
			return b, true
		}
	}
	return cache.Blob{}, false
}

// resolve returns the fields and work of a stage whose inputs are known.
func resolve(ctx context.Context, s *Stage, in []cache.Blob, b blobs) ([]Field, any, error) {
	if s.Late == nil {
		return s.Fields, s.Work, nil
	}
	late, work, err := s.Late(func(name string) ([]byte, error) {
		for i, input := range s.Inputs {
			if input.Name != name {
				continue
			}
			raw, err := b.ReadAll(ctx, in[i].Digest)
			if err != nil {
				return nil, lost(input, err)
			}
			return raw, nil
		}
		return nil, fmt.Errorf("%s has no input %q", s.Address, name)
	})
	if err != nil {
		return nil, nil, err
	}
	return mergeFields(s.Fields, late), work, nil
}

// known plans a stage whose inputs are known.
func (w *planning) known(ps *PlannedStage, in []cache.Blob) error {
	s := ps.Stage
	fields, work, err := resolve(w.ctx, s, in, w.memory)
	if err != nil {
		return err
	}
	ps.Key, w.buf = contentKey(w.buf, s, fields, in)
	record, miss, err := w.ahead.lookup(s, ps.Key)
	if err != nil {
		return err
	}
	switch {
	case w.forced(s):
		ps.Reason = Reason{Kind: ReasonForced}
	case miss.Reason == cache.Hit:
		missing := w.missing(s, ps.Key)
		if missing == "" {
			ps.Outcome, ps.Outputs = Cached, record.Outputs
			return nil
		}
		ps.Reason = missingReason(missing)
	default:
		ps.Reason = w.explain(s, ps.Key, manifestOf(s, fields, in), miss)
	}
	ps.Outcome = WillRun
	if s.Blocked != "" {
		return nil
	}
	return w.simulate(ps, work, in)
}

func (w *planning) forced(s *Stage) bool { return w.Force != nil && w.Force(s) }

// lose revises what was planned for a stage whose result is there and cannot be
// read.
func (w *planning) lose(l *LostInputError) {
	from := &w.plan.Stages[l.From.index]
	from.Outcome, from.Outputs, from.Reason = WillRun, nil, l.Reason()
	w.conclude(from)
}

// unknown plans a stage of which an input is not known.
func (w *planning) unknown(ps *PlannedStage) error {
	s := ps.Stage
	ps.Key, ps.Forecast = cache.Key{}, nil
	from := w.decisive(s)
	if from.Outcome == Blocked {
		ps.Outcome, ps.root = Blocked, from.root
		ps.Note = "needs " + from.root.Address
		return nil
	}
	ps.Outcome, ps.volatile = WillRun, from.volatile
	if w.forced(s) {
		ps.Reason = Reason{Kind: ReasonForced}
		return nil
	}
	reason, err := w.ownReason(s)
	switch {
	case err != nil:
		return err
	case reason.Kind != ReasonNone:
		ps.Reason = reason
	case from.volatile != nil:
		ps.Reason = Reason{Kind: ReasonVolatile, Field: from.volatile.Address}
	default:
		ps.Outcome, ps.Reason = Maybe, Reason{Kind: ReasonDerived, Field: from.Stage.Address}
	}
	return nil
}

// decisive is the input stage without a known output that says most about its
// reader: one that is blocked, else one after which nothing can come out equal,
// else the first.
func (w *planning) decisive(s *Stage) *PlannedStage {
	var found *PlannedStage
	for _, input := range s.Inputs {
		from := &w.plan.Stages[input.From.index]
		if _, ok := findOutput(from.Outputs, input.Output); ok {
			continue
		}
		if found == nil || weight(from) > weight(found) {
			found = from
		}
	}
	return found
}

func weight(ps *PlannedStage) int {
	switch {
	case ps.Outcome == Blocked:
		return 2
	case ps.volatile != nil:
		return 1
	}
	return 0
}

// simulate runs a cheap stage in memory, so that what follows can be planned
// exactly, and asks any stage for its forecast.
func (w *planning) simulate(ps *PlannedStage, work any, in []cache.Blob) error {
	s := ps.Stage
	size := s.Outside
	for _, b := range in {
		size += b.Size
	}
	if size > w.budget || !s.Kind.Cheap && s.Kind.Forecast == nil {
		return nil
	}
	w.budget -= size
	t := newTask(w.ctx, s, work, in, w.memory, w.Log)
	defer t.discard()
	if s.Kind.Forecast != nil {
		if err := w.forecast(ps, t); err != nil {
			return err
		}
	}
	if !s.Kind.Cheap {
		return nil
	}
	var outputs []cache.Blob
	err := guarded(func() (err error) {
		if err = s.Kind.Run(w.ctx, t); err == nil {
			outputs, err = t.commit()
		}
		return err
	})
	var lost *LostInputError
	switch {
	case err == nil:
		w.plan.Simulated++
		ps.Outputs = outputs
	case w.ctx.Err() != nil:
		return context.Cause(w.ctx)
	case errors.As(err, &lost):
		return lost
	default:
		// As in an apply: damage may have shown before its digest told.
		for i, input := range s.Inputs {
			if l := lostInput(w.ctx, w.memory, input, in[i]); !input.Late && l != nil {
				return l
			}
		}
		ps.Outcome, ps.Err = Blocked, err
		ps.Note, _, _ = strings.Cut(err.Error(), "\n")
	}
	return nil
}

// forecast asks a stage how much of its work is new. That it cannot tell keeps
// nothing from being planned, unless an input is lost.
func (w *planning) forecast(ps *PlannedStage, t *Task) error {
	var f Forecast
	err := guarded(func() (err error) {
		f, err = ps.Stage.Kind.Forecast(w.ctx, t)
		return err
	})
	var lost *LostInputError
	switch {
	case err == nil:
		ps.Forecast = &f
	case errors.As(err, &lost):
		return lost
	default:
		w.Log.Debug("no forecast", "stage", ps.Stage.Address, "error", err)
	}
	return nil
}

// guarded turns a panic of a stage's function into its failure.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicError(p)
		}
	}()
	return f()
}

// panicError is a panic as an error, with the stack on the lines that follow.
func panicError(p any) error { return fmt.Errorf("panic: %v\n%s", p, debug.Stack()) }
