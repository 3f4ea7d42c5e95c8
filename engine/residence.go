package engine

import (
	"context"
	"errors"
	"fmt"

	"raglab/cache"
)

// gone is what is wrong with what a residence says nothing of.
const gone = "the table is gone"

// residents is what the residences of a plan's stages hold: each is asked once,
// for all that it has.
type residents map[Residence]resident

type resident struct {
	wrong map[cache.Key]string
	asked bool
}

// missing says what is wrong with what the result of a stage describes; empty
// when it is there, when the stage leaves nothing outside the cache, and when
// nobody can tell: records are then believed, and the plan notes it.
func (w *planning) missing(s *Stage, k cache.Key) string {
	if s.Residence == nil {
		return ""
	}
	have, ok := w.residents[s.Residence]
	if !ok {
		have = w.ask(s.Residence)
		w.residents[s.Residence] = have
	}
	if !have.asked {
		return ""
	}
	return problem(have.wrong, k)
}

func (w *planning) ask(in Residence) resident {
	wrong, err := in.Whole(w.ctx, nil)
	switch {
	case err == nil:
		return resident{wrong, true}
	case errors.Is(err, ErrNotAsked):
		w.note("Tables were not looked at, and are believed to be there: %v.", err)
	case w.ctx.Err() == nil:
		w.note("Tables could not be looked at, and are believed to be there: %v.", err)
	}
	return resident{}
}

func (w *planning) note(format string, args ...any) {
	w.plan.Notes = append(w.plan.Notes, fmt.Sprintf(format, args...))
}

// problem is what a residence said of a key.
func problem(wrong map[cache.Key]string, k cache.Key) string {
	if p, there := wrong[k]; there {
		return p
	}
	return gone
}

// missingReason is why a stage runs again whose table is not as it was made.
func missingReason(problem string) Reason {
	return Reason{Kind: ReasonOutputMissing, Field: "table", New: problem}
}

// resides reports whether what a job's result describes is where the stage left
// it. A residence that cannot be asked is asked by the run itself, which finds
// out: it needs it in any case.
func (r *execution) resides(ctx context.Context, j *job) (bool, error) {
	if j.stage.Residence == nil {
		return true, nil
	}
	wrong, err := j.stage.Residence.Whole(ctx, []cache.Key{j.key})
	switch {
	case errors.Is(err, ErrNotAsked):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for the table: %w", err)
	}
	return problem(wrong, j.key) == "", nil
}

// tableLost asks where an input's stage left what the input describes. Where
// nobody can tell, the reader is believed that says it is lost.
func tableLost(ctx context.Context, in Input, k cache.Key, claimed *LostInputError) *LostInputError {
	wrong, err := in.From.Residence.Whole(ctx, []cache.Key{k})
	if err != nil {
		if claimed != nil && claimed.From == in.From {
			return claimed
		}
		return nil
	}
	if p := problem(wrong, k); p != "" {
		return &LostInputError{Input: in.Name, From: in.From, Output: in.Output, Err: errors.New(p)}
	}
	return nil
}
