package main

import (
	"context"
	"fmt"
	"os"
)

// row is one piece of work that raglab and its peers do.
type row struct {
	name, does string
	// needs tells whether the flags ask for the row; nil: they need not. A row
	// that -only names is measured anyway.
	needs func(options) bool
	// set makes the inputs and says what to run and to compare.
	set func(ctx context.Context, b *bench) (*trial, error)
}

// runner does the work once and returns what it measured.
type runner func(ctx context.Context) ([]sample, error)

// trial is a row ready to be measured.
type trial struct {
	// input says in a few words what the work is done on.
	input string
	// missing says why raglab's side cannot run here, if it cannot.
	missing     string
	own         runner
	peers       []peer
	comparisons []comparison
}

// peer is another tool that does the row's work.
type peer struct {
	name string
	// missing says why it cannot run here, if it cannot.
	missing string
	// once says that it takes one turn only, because it is slow.
	once bool
	run  runner
}

// comparison is one figure of raglab's, beside the same figure of a peer.
type comparison struct {
	figure  string
	threads int
	unit    unit
	// own and theirs pick the figure out of a turn's samples. Without a peer's
	// name raglab's stands alone.
	own    reading
	peer   string
	theirs reading
	goal   goal
	// agree tells whether both sides found the same, in a few words.
	agree func(own, theirs []sample) (note string, ok bool)
}

// figures are a comparison's values, turn by turn.
type figures struct {
	raglab, other, ratio series
	raglabCPU, otherCPU  series
	note                 string
	disagree             bool
}

// rowResult is a measured row.
type rowResult struct {
	name, does, input string
	results           []result
	// unmeasured says which peers did not run, and why.
	unmeasured []string
	err        error
}

// result is a measured comparison.
type result struct {
	comparison
	figures
}

// measure measures a row. What goes wrong is in the result.
func (b *bench) measure(ctx context.Context, r row) rowResult {
	out := rowResult{name: r.name, does: r.does}
	t, err := r.set(ctx, b)
	if err != nil {
		out.err = err
		return out
	}
	out.input = t.input
	if t.missing != "" {
		out.unmeasured = []string{"raglab: " + t.missing}
		return out
	}
	turns := turns{trial: t, figures: make([]figures, len(t.comparisons)), failed: map[string]string{}}
	for turn := range b.o.reps {
		if err := turns.take(ctx, turn); err != nil {
			out.err = fmt.Errorf("turn %d: %w", turn+1, err)
			break
		}
	}
	for _, p := range t.peers {
		if why := turns.why(p); why != "" {
			out.unmeasured = append(out.unmeasured, p.name+": "+why)
		}
	}
	for i, c := range t.comparisons {
		if f := turns.figures[i]; len(f.raglab) > 0 {
			out.results = append(out.results, result{c, f})
		}
	}
	return out
}

// turns are the measurements of a trial while they are made.
type turns struct {
	*trial
	figures []figures
	failed  map[string]string // why peers failed
}

func (t *turns) why(p peer) string {
	if p.missing != "" {
		return p.missing
	}
	return t.failed[p.name]
}

// take lets raglab and each peer run one after the other, raglab again before
// each: what is compared is measured as close together as can be.
func (t *turns) take(ctx context.Context, turn int) error {
	alone := true
	for _, p := range t.peers {
		if t.why(p) != "" || p.once && turn > 0 {
			continue
		}
		alone = false
		own, err := t.own(ctx)
		if err != nil {
			return err
		}
		theirs, err := p.run(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "  %s: %v\n", p.name, err)
			t.failed[p.name] = err.Error()
		}
		t.note(own, p.name, theirs)
	}
	if !alone {
		return nil
	}
	own, err := t.own(ctx)
	if err == nil {
		t.note(own, "", nil)
	}
	return err
}

// note adds a turn's samples to the comparisons that they are for. Figures that
// raglab shows beside a peer are those of the turns with that peer.
func (t *turns) note(own []sample, name string, theirs []sample) {
	for i, c := range t.comparisons {
		f := &t.figures[i]
		missing := c.peer != "" && t.lacks(c.peer)
		if c.peer != name && c.peer != "" && !missing {
			continue
		}
		mine, ok := c.own(own)
		if !ok {
			continue
		}
		f.raglab, f.raglabCPU = append(f.raglab, mine.value), append(f.raglabCPU, mine.cpu)
		if c.peer != name || c.peer == "" {
			continue
		}
		other, ok := c.theirs(theirs)
		if !ok {
			continue
		}
		f.other, f.otherCPU = append(f.other, other.value), append(f.otherCPU, other.cpu)
		f.ratio = append(f.ratio, c.unit.ahead(mine.value, other.value))
		if c.agree != nil {
			note, same := c.agree(own, theirs)
			f.note, f.disagree = note, f.disagree || !same
		}
	}
}

// lacks tells that a peer cannot run or has failed.
func (t *turns) lacks(name string) bool {
	for _, p := range t.peers {
		if p.name == name {
			return t.why(p) != ""
		}
	}
	return true
}
