package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"raglab/cache"
	"raglab/engine"
	"raglab/spec"
)

// maxAssignments bounds how many combinations of tuned values that are read
// together are tried.
const maxAssignments = 10_000

// component is a set of variables that must be fitted together, because some
// configuration reads several of them, with the configurations that read any.
type component struct {
	names []string // sorted
	tunes map[string]*spec.Tune
	rows  []int
}

// tunings builds the tune stages and everything that they compare.
func (b *builder) tunings(rows []*spec.Configuration) error {
	b.tuned = map[string]*engine.Stage{}
	for _, c := range b.components(rows) {
		if err := b.tune(c, rows); err != nil {
			return err
		}
	}
	return nil
}

// components joins variables that meet in a configuration.
func (b *builder) components(rows []*spec.Configuration) []*component {
	of := map[string]*component{}
	for i, cfg := range rows {
		var here *component
		for _, t := range b.exp.TunesOf(cfg) {
			name := variableName(t, cfg)
			c, ok := of[name]
			switch {
			case !ok && here == nil:
				c = &component{tunes: map[string]*spec.Tune{name: t}}
				of[name], here = c, c
			case !ok:
				here.tunes[name] = t
				of[name] = here
			case here == nil:
				here = c
			case here != c:
				for n, t := range c.tunes {
					here.tunes[n] = t
					of[n] = here
				}
				here.rows = append(here.rows, c.rows...)
			}
		}
		if here != nil {
			here.rows = append(here.rows, i)
		}
	}
	return sorted(of)
}

// sorted returns the components in order of their first variable.
func sorted(of map[string]*component) []*component {
	var out []*component
	for name, c := range of {
		c.names = append(c.names, name)
	}
	for _, c := range of {
		if slices.Contains(out, c) {
			continue
		}
		slices.Sort(c.names)
		slices.Sort(c.rows)
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *component) int { return strings.Compare(a.names[0], b.names[0]) })
	return out
}

func (b *builder) tune(c *component, rows []*spec.Configuration) error {
	work := tuneWork{primary: b.exp.Score.Primary}
	product := 1
	for _, name := range c.names {
		t := c.tunes[name]
		work.variables = append(work.variables, variable{name, t.Labels})
		if product *= len(t.Grid); product > maxAssignments {
			return fmt.Errorf("tuning %s together takes more than %d combinations: use shorter grids, or fewer tuned parameters in one configuration", strings.Join(c.names, ", "), maxAssignments)
		}
	}
	s := &engine.Stage{
		Address: address("tune", c.names...), Kind: tuneKind, Needs: engine.Resources{CPU: 1},
		Fields: []engine.Field{{Class: engine.Params, Path: "score.primary", Value: work.primary}},
	}
	inputs := map[*engine.Stage]string{}
	for places := range assignments(work.variables) {
		names, err := b.candidates(c, places, rows, s, inputs)
		if err != nil {
			return err
		}
		work.assignments = append(work.assignments, slices.Clone(places))
		work.inputs = append(work.inputs, names)
	}
	for _, v := range work.variables {
		s.Fields = append(s.Fields, engine.Field{Class: engine.Params, Path: "tune." + v.Name, Value: engine.Canonical(v.Labels)})
	}
	s.Fields = append(s.Fields, engine.Field{Class: engine.Params, Path: "tuned rows", Value: comparison(work.inputs)})
	s.Work = work
	s = b.p.Graph.Add(s)
	for _, name := range c.names {
		b.tuned[name] = s
	}
	b.p.Tunes = append(b.p.Tunes, Tuning{Stage: s, Rows: c.rows})
	return nil
}

// comparison names, for the key, which inputs belong to which assignment. Its
// path sorts behind the grids, so that a changed grid is what a plan tells.
func comparison(inputs [][]string) engine.Value {
	var buf []byte
	for _, names := range inputs {
		buf = engine.AppendValue(buf, engine.Canonical(names))
	}
	return cache.DigestOf(buf).Short()
}

// candidates builds the dev scores of one assignment, adds those that are new
// as inputs of the tune stage, and returns the names of all, each once: rows
// that are inert to each other count once.
func (b *builder) candidates(c *component, places []int, rows []*spec.Configuration, s *engine.Stage, inputs map[*engine.Stage]string) ([]string, error) {
	var names []string
	for _, i := range c.rows {
		cfg := rows[i]
		given := map[string]cty.Value{}
		for _, t := range b.exp.TunesOf(cfg) {
			at := slices.Index(c.names, variableName(t, cfg))
			given[t.Name] = t.Grid[places[at]]
		}
		a, err := b.ask(cfg, fitting{given: given})
		if err != nil {
			return nil, err
		}
		dev := b.score(a, "dev")
		name, ok := inputs[dev]
		if !ok {
			name = fmt.Sprintf("s%d", len(inputs))
			inputs[dev] = name
			s.Inputs = append(s.Inputs, engine.Input{Name: name, From: dev, Output: "scores"})
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// assignments yields every combination of places in the variables' grids, the
// last varying fastest. The slice is reused.
func assignments(vars []variable) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		places := make([]int, len(vars))
		for {
			if !yield(places) {
				return
			}
			v := len(vars) - 1
			for ; v >= 0; v-- {
				if places[v]++; places[v] < len(vars[v].Labels) {
					break
				}
				places[v] = 0
			}
			if v < 0 {
				return
			}
		}
	}
}
