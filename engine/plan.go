package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
)

// Outcome is what an apply will do with a stage.
type Outcome string

// The outcomes of a plan.
const (
	Cached  Outcome = "cached"  // the result is there
	WillRun Outcome = "run"     // it will be made
	Maybe   Outcome = "maybe"   // an input is made again and may come out equal
	Blocked Outcome = "blocked" // it cannot run, or what it needs cannot
)

// PlannedStage is the plan for one stage.
type PlannedStage struct {
	Stage   *Stage
	Outcome Outcome
	Reason  Reason
	// Key is the content key, zero while an input is unknown.
	Key cache.Key
	// Note says what blocks the stage.
	Note string
	// Forecast is nil where the kind makes none or an input is unknown.
	Forecast *Forecast
	// Outputs are known for cached stages and for those that a plan ran in
	// memory.
	Outputs []cache.Blob
	// Err is why a stage that the plan ran in memory failed.
	Err error
	// Estimate is from earlier measurements; 0 when there are none.
	Estimate time.Duration
}

// Plan says for each stage of a graph what an apply will do.
type Plan struct {
	Graph *Graph
	// Stages is indexed as the graph's. A stage that is not wanted has no
	// outcome.
	Stages []PlannedStage
	// Partial is true when the plan leaves stages of the graph out.
	Partial bool
	// Simulated counts the stages that were run in memory.
	Simulated int
}

// Count is the number of stages with an outcome.
func (p *Plan) Count(o Outcome) int {
	n := 0
	for i := range p.Stages {
		if p.Stages[i].Outcome == o {
			n++
		}
	}
	return n
}

// Changes reports whether an apply would do anything.
func (p *Plan) Changes() bool { return p.Count(WillRun)+p.Count(Maybe)+p.Count(Blocked) > 0 }

// Estimate sums what is known of the time that stages to run took earlier, and
// counts those of which nothing is known.
func (p *Plan) Estimate() (total time.Duration, unknown int) {
	for i := range p.Stages {
		s := &p.Stages[i]
		if s.Outcome != WillRun && s.Outcome != Maybe {
			continue
		}
		if s.Estimate == 0 {
			unknown++
		}
		total += s.Estimate
	}
	return total, unknown
}

// Planner makes plans. It only reads.
type Planner struct {
	// Store may be opened read-only.
	Store cache.Store
	// Ledger is what the experiment's last applies left.
	Ledger Ledger
	// Force, when set, tells which stages to run although their result is there.
	Force func(*Stage) bool
	// Log is for developers; required.
	Log hclog.Logger
	// SimulateBytes bounds what stages that are run in memory may read
	// together.
	SimulateBytes int64
}

type planning struct {
	*Planner
	ctx    context.Context
	plan   *Plan
	memory *memoryBlobs
	budget int64
	rates  map[string]time.Duration
	buf    []byte
	// unclaimed are addresses of the ledger that the graph no longer has, by
	// stage kind; made when first needed.
	unclaimed map[string][]string
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
	}
	for i, s := range g.Stages {
		w.plan.Stages[i].Stage = s
		if wanted != nil && !wanted[i] {
			w.plan.Partial = true
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if err := w.stage(&w.plan.Stages[i]); err != nil {
			return nil, fmt.Errorf("plan %s: %w", s.Address, err)
		}
	}
	return w.plan, nil
}

func (w *planning) stage(ps *PlannedStage) error {
	s := ps.Stage
	if e, ok := w.Ledger[s.Address]; ok {
		ps.Estimate = e.Wall
	} else {
		ps.Estimate = w.rates[s.Kind.Name]
	}
	in, unknown := w.inputs(s)
	if unknown != nil {
		w.unknown(ps, unknown)
		return nil
	}
	fields, work, err := resolve(s, func(name string) ([]byte, error) {
		return w.readInput(s, in, name)
	})
	if err != nil {
		return err
	}
	digests := digestsOf(in)
	ps.Key, w.buf = contentKey(w.buf, s, fields, digests)
	record, miss, err := cache.Lookup(w.ctx, w.Store, ps.Key)
	if err != nil {
		return err
	}
	forced := w.Force != nil && w.Force(s)
	if miss.Reason == cache.Hit && !forced {
		ps.Outcome, ps.Outputs = Cached, record.Outputs
		return nil
	}
	ps.Outcome = WillRun
	if ps.Reason = (Reason{Kind: ReasonForced}); !forced {
		if ps.Reason, err = w.explain(s, ps.Key, manifestOf(s, fields, digests), miss); err != nil {
			return err
		}
	}
	if s.Blocked != "" {
		ps.Outcome, ps.Note = Blocked, s.Blocked
		return nil
	}
	return w.simulate(ps, work, in)
}

// inputs returns the blobs of a stage's inputs, or the first input stage whose
// output is not known.
func (w *planning) inputs(s *Stage) ([]cache.Blob, *PlannedStage) {
	in := make([]cache.Blob, len(s.Inputs))
	var unknown *PlannedStage
	for i, input := range s.Inputs {
		from := &w.plan.Stages[input.From.index]
		blob, ok := findOutput(from.Outputs, input.Output)
		if !ok {
			// What is blocked, or must run and cannot be reproduced, decides
			// over what may come out equal.
			if unknown == nil || rank(from) > rank(unknown) {
				unknown = from
			}
			continue
		}
		in[i] = blob
	}
	return in, unknown
}

func rank(ps *PlannedStage) int {
	switch {
	case ps.Outcome == Blocked:
		return 2
	case ps.Outcome == WillRun && !ps.Stage.Kind.Pure:
		return 1
	}
	return 0
}

func findOutput(blobs []cache.Blob, name string) (cache.Blob, bool) {
	for _, b := range blobs {
		if b.Name == name {
			return b, true
		}
	}
	return cache.Blob{}, false
}

func digestsOf(blobs []cache.Blob) []cache.Digest {
	d := make([]cache.Digest, len(blobs))
	for i, b := range blobs {
		d[i] = b.Digest
	}
	return d
}

// resolve returns the fields and work of a stage whose inputs are known.
func resolve(s *Stage, read func(string) ([]byte, error)) ([]Field, any, error) {
	if s.Late == nil {
		return s.Fields, s.Work, nil
	}
	late, work, err := s.Late(read)
	if err != nil {
		return nil, nil, err
	}
	return mergeFields(s.Fields, late), work, nil
}

func (w *planning) readInput(s *Stage, in []cache.Blob, name string) ([]byte, error) {
	for i, input := range s.Inputs {
		if input.Name == name {
			return w.memory.ReadAll(w.ctx, in[i].Digest)
		}
	}
	return nil, fmt.Errorf("%s has no input %q", s.Address, name)
}

// unknown plans a stage of which an input is not known.
func (w *planning) unknown(ps, from *PlannedStage) {
	s := ps.Stage
	if from.Outcome == Blocked {
		ps.Outcome, ps.Note = Blocked, "needs "+from.Stage.Address
		return
	}
	ps.Outcome = WillRun
	before, ok := w.Ledger[s.Address]
	if !ok {
		ps.Reason = Reason{Kind: ReasonNew}
		return
	}
	if r, ok := w.ownChange(s, before.Key); ok {
		ps.Reason = r
		return
	}
	if rank(from) == 1 {
		ps.Reason = Reason{Kind: ReasonVolatile, Field: from.Stage.Address}
		return
	}
	ps.Outcome, ps.Reason = Maybe, Reason{Kind: ReasonDerived, Field: from.Stage.Address}
}

// ownChange compares a stage's own definition with the last result's. Fields
// that only an input can decide are not compared.
func (w *planning) ownChange(s *Stage, before cache.Key) (Reason, bool) {
	old, ok := w.manifest(before)
	if !ok {
		return Reason{}, false
	}
	now := Manifest{Kind: s.Kind.Name, Version: s.Kind.Version}
	for _, f := range s.Fields {
		now.Fields = append(now.Fields, ManifestField(f))
	}
	if s.Late != nil {
		dropUnresolved(&old, &now)
	}
	old.Inputs = nil
	r := Compare(old, now)
	return r, r.Kind != ReasonNone
}

// dropUnresolved removes the fields whose value an input will decide from both.
func dropUnresolved(old, now *Manifest) {
	pending := map[string]bool{}
	kept := now.Fields[:0]
	for _, f := range now.Fields {
		if _, late := f.Value.(map[string]Value)[LateMark]; late {
			pending[f.Path] = true
			continue
		}
		kept = append(kept, f)
	}
	now.Fields = kept
	var was []ManifestField
	for _, f := range old.Fields {
		if !pending[f.Path] {
			was = append(was, f)
		}
	}
	old.Fields = was
}

// LateMark is the map key that marks, in a field's value, a value that an input
// will decide; its value says which.
const LateMark = "$late"

// manifest reads the manifest of an earlier result, when it is still there.
func (w *planning) manifest(k cache.Key) (Manifest, bool) {
	record, err := w.Store.Get(w.ctx, k)
	if err != nil {
		return Manifest{}, false
	}
	m, err := ParseManifest(record.Manifest)
	return m, err == nil
}

// explain says why a stage with known inputs is not cached.
func (w *planning) explain(s *Stage, key cache.Key, now Manifest, miss cache.Miss) (Reason, error) {
	switch miss.Reason {
	case cache.MissRecordCorrupt:
		return Reason{Kind: ReasonCorrupt, Field: "record " + key.Short()}, nil
	case cache.MissOutputMissing:
		return Reason{Kind: ReasonOutputMissing, Field: miss.Output.Name}, nil
	}
	before, ok := w.Ledger[s.Address]
	if !ok {
		return w.nearest(s, now), nil
	}
	if before.Key == key {
		return Reason{Kind: ReasonOutputMissing, Field: "record " + key.Short()}, nil
	}
	old, ok := w.manifest(before.Key)
	if !ok {
		return Reason{Kind: ReasonNew}, nil
	}
	if r := Compare(old, now); r.Kind != ReasonNone {
		return r, nil
	}
	return Reason{}, errors.New("two keys for one manifest: a field is missing from the manifest")
}

// nearestLimit bounds how many earlier results a new address is compared with.
const nearestLimit = 64

// nearest explains a stage whose address is new by the earlier stage of its
// kind, no longer in the graph, that shares the most fields: a renamed option
// then shows what changed. It takes at least half of the fields to count.
func (w *planning) nearest(s *Stage, now Manifest) Reason {
	if w.unclaimed == nil {
		w.unclaimed = map[string][]string{}
		for a := range w.Ledger {
			if _, ok := w.plan.Graph.Find(a); !ok {
				k := addressKind(a)
				w.unclaimed[k] = append(w.unclaimed[k], a)
			}
		}
	}
	best, reason := "", Reason{Kind: ReasonNew}
	most := len(now.Fields) / 2
	for i, a := range w.unclaimed[s.Kind.Name] {
		if i == nearestLimit {
			break
		}
		old, ok := w.manifest(w.Ledger[a].Key)
		if !ok {
			continue
		}
		n := equalFields(old, now)
		if n > most || n == most && best != "" && a < best {
			if r := Compare(old, now); r.Kind != ReasonNone && r.Kind != ReasonInput {
				best, most, reason = a, n, r
			}
		}
	}
	return reason
}

func equalFields(a, b Manifest) int {
	n := 0
	for _, f := range a.Fields {
		for _, g := range b.Fields {
			if f.Class == g.Class && f.Path == g.Path && sameValue(f.Value, g.Value) {
				n++
			}
		}
	}
	return n
}

// simulate runs a cheap stage in memory, so that what follows can be planned
// exactly, and asks any stage for its forecast.
func (w *planning) simulate(ps *PlannedStage, work any, in []cache.Blob) error {
	s := ps.Stage
	size := s.Outside
	for _, b := range in {
		size += b.Size
	}
	if size > w.budget {
		return nil
	}
	t := newTask(w.ctx, s, work, in, w.memory, w.Log)
	defer t.discard()
	if s.Kind.Forecast != nil {
		w.budget -= size
		f, err := s.Kind.Forecast(w.ctx, t)
		if err != nil {
			w.Log.Debug("no forecast", "stage", s.Address, "error", err)
		} else {
			ps.Forecast = &f
		}
	}
	if !s.Kind.Cheap {
		return nil
	}
	w.budget -= size
	if err := s.Kind.Run(w.ctx, t); err != nil {
		if w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		ps.Outcome, ps.Note, ps.Err = Blocked, err.Error(), err
		return nil
	}
	outputs, err := t.commit()
	if err != nil {
		return err
	}
	w.plan.Simulated++
	ps.Outputs = outputs
	return nil
}
