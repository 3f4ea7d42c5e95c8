package engine

import (
	"context"
	"fmt"

	"raglab/cache"
)

// remakeLimit bounds how often one apply makes the same lost result again. A
// store that loses it each time will not keep it the next time.
const remakeLimit = 3

// rewind makes inputs again that were found lost by a stage, and then the
// stages that wait for them.
func (r *runner) rewind(finder *Stage, lost []*LostInputError, stages ...*Stage) {
	var again []*Stage
	for _, l := range lost {
		r.Events(Event{
			Type: EventWarning, Time: r.Now(), Stage: finder,
			Message: fmt.Sprintf("input %s (%s) is lost and will be made again: %v", l.Input, l.From.Address, l.Err),
		})
		// An entry without stages, too, keeps the other readers from being
		// released a second time.
		r.rewound[l.From.index] = append(r.rewound[l.From.index], stages...)
		for _, s := range stages {
			r.waiting[s.index]++
		}
		if r.out.State[l.From.index] == StateDone {
			again = append(again, l.From)
			r.before[l.From.index], r.again[l.From.index] = r.out.Outputs[l.From.index], l.Reason()
			r.out.State[l.From.index] = StateQueued
		}
	}
	for _, from := range again {
		r.remake(from)
	}
	// One that was made again for another reader, in vain, does not come back.
	for _, l := range lost {
		if state := r.out.State[l.From.index]; state == StateFailed || state == StateBlocked {
			r.block(l.From, l.From)
		}
	}
}

// remake forgets the result of a stage and makes it again.
func (r *runner) remake(s *Stage) {
	r.remade[s.index]++
	if r.remade[s.index] > remakeLimit {
		r.fail(s, r.out.Keys[s.index], fmt.Errorf("its result was lost %d times in one apply: what is written does not stay", r.remade[s.index]))
		return
	}
	// A record whose table is gone is looked at, and replaced, under its lease.
	if s.Residence == nil {
		if err := r.Store.Delete(context.WithoutCancel(r.ctx), r.out.Keys[s.index]); err != nil {
			r.fail(s, r.out.Keys[s.index], &StoreError{fmt.Errorf("forget lost result: %w", err)})
			return
		}
	}
	// The plan may have found it cached behind a stage that runs now.
	if r.waiting[s.index] == 0 {
		r.admit(s)
	}
}

// revisit looks again at what is done, after a stage that was made again came
// out different: whatever read its earlier result before that was lost must not
// stand beside what reads the new one.
func (r *runner) revisit() {
	var first []*Stage
	for i := range r.plan.Stages {
		s := r.plan.Stages[i].Stage
		if r.out.State[i] != StateDone {
			continue
		}
		r.waiting[i] = 0
		for _, in := range s.Inputs {
			if r.out.State[in.From.index] != StateDone {
				r.waiting[i]++
			}
		}
		if r.waiting[i] == 0 && r.current(s) {
			continue
		}
		r.out.State[i] = StateQueued
		if r.waiting[i] == 0 {
			first = append(first, s)
		}
	}
	for _, s := range first {
		r.admit(s)
	}
}

// current reports whether a stage's result is still the one its inputs name.
func (r *runner) current(s *Stage) bool {
	j, err := r.prepare(s)
	return err == nil && j.key == r.out.Keys[s.index]
}

// inputsLost reads all inputs of a job and returns those that are not there or
// damaged, and those whose tables are gone, so that they are made again together.
// Claimed is what the job itself found, or nil.
func (r *execution) inputsLost(ctx context.Context, j *job, claimed *LostInputError) []*LostInputError {
	var all []*LostInputError
	seen, asked := map[cache.Digest]bool{}, map[*Stage]bool{}
	for i, in := range j.stage.Inputs {
		if in.Late {
			continue
		}
		if in.From.Residence != nil && !asked[in.From] {
			asked[in.From] = true
			if l := tableLost(ctx, in, j.from[i], claimed); l != nil {
				all = append(all, l)
				continue
			}
		}
		if seen[j.in[i].Digest] {
			continue
		}
		seen[j.in[i].Digest] = true
		if l := lostInput(ctx, r.Store, in, j.in[i]); l != nil {
			if claimed != nil && claimed.From == in.From && claimed.Output == in.Output {
				l = claimed // what was damaged then is set aside now
			}
			all = append(all, l)
		}
	}
	return all
}
