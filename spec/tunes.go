package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"raglab/internal/param"
)

type tuneBlock struct {
	Per []string `hcl:"per" default:"" doc:"Factors for each option of which a value of its own is fitted; one value for all unless set."`
}

func (l *loader) readTunes() {
	first := map[string]*hclsyntax.Block{}
	for _, b := range l.blocks["tune"] {
		if other, ok := first[b.Labels[0]]; ok {
			l.duplicate(b, other, "The value tune.%s has a block already", b.Labels[0])
			continue
		}
		first[b.Labels[0]] = b
		l.e.Tunes = append(l.e.Tunes, l.readTune(b))
	}
	l.checkTunesUsed()
}

func (l *loader) readTune(b *hclsyntax.Block) *Tune {
	t := &Tune{Name: b.Labels[0], Range: b.DefRange()}
	what := fmt.Sprintf("tune %q", t.Name)
	l.checkName(b)
	l.checkBody(b.Body, what, []string{"grid", "per"}, nil)
	l.readGrid(t, b, what)
	var p tuneBlock
	for _, f := range l.fields(mustFields(&p), b.Body.Attributes, staticRoots, what, b.DefRange()) {
		if f.value != nil {
			f.Set(&p, f.value)
		}
	}
	for i, name := range p.Per {
		if l.e.Factor(name) == nil {
			l.report(errorAt(sumUnknownAxis, elementRange(b.Body.Attributes["per"].Expr, i), "There is no factor %q.%s", name, didYouMean(name, l.factors)))
			continue
		}
		t.Per = append(t.Per, name)
	}
	if b := l.single("golden"); !l.broken && !hasBlock(b, "split") {
		l.report(errorAt(sumTuneNoSplit, t.Range, "%s needs dev questions to be fitted on: add split { by = \"hash\" } to golden { … }.", capital(what)))
	}
	return t
}

func hasBlock(b *hclsyntax.Block, kind string) bool {
	return b != nil && slices.ContainsFunc(b.Body.Blocks, func(inner *hclsyntax.Block) bool { return inner.Type == kind })
}

func (l *loader) readGrid(t *Tune, b *hclsyntax.Block, what string) {
	a := b.Body.Attributes["grid"]
	if a == nil {
		l.report(errorAt(sumMissingAttribute, b.DefRange(), "%s needs grid (a list of the values to try).", capital(what)))
		return
	}
	values, ok := l.primitives(a, "grid")
	if !ok {
		return
	}
	if len(values) == 0 {
		l.report(errorAt(sumBadValue, a.Expr.Range(), "grid must have at least one value."))
	}
	for i, v := range values {
		label := labelOf(v)
		if slices.Contains(t.Labels, label) {
			l.report(errorAt(sumBadValue, elementRange(a.Expr, i), "The grid has %s twice.", label))
			continue
		}
		t.Grid, t.Labels = append(t.Grid, v), append(t.Labels, label)
	}
}

func (l *loader) checkTunesUsed() {
	used := map[string]bool{}
	for _, o := range l.e.options() {
		for _, name := range o.refs.tunes {
			used[name] = true
		}
	}
	for _, t := range l.e.Tunes {
		if !used[t.Name] && !l.broken && hclsyntax.ValidIdentifier(t.Name) {
			l.report(warningAt(sumTuneUnused, t.Range, "No option reads tune.%s.", t.Name))
		}
	}
}

// options lists the options and legs of all factors.
func (e *Experiment) options() []*Option {
	var all []*Option
	for _, f := range e.Factors {
		all = append(append(all, f.Options...), f.Legs...)
	}
	return all
}

// Tune returns the tune of that name, or nil.
func (e *Experiment) Tune(name string) *Tune {
	for _, t := range e.Tunes {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// FirstOfGrids gives each tune the first value of its grid: something to plan
// with before anything is fitted.
func (e *Experiment) FirstOfGrids() map[string]cty.Value {
	first := make(map[string]cty.Value, len(e.Tunes))
	for _, t := range e.Tunes {
		if len(t.Grid) > 0 {
			first[t.Name] = t.Grid[0]
		}
	}
	return first
}

// firstOfGrids is FirstOfGrids with unknown values for grids that have been
// reported, so that what reads them can still be looked at.
func (e *Experiment) firstOfGrids() map[string]cty.Value {
	e.eval.once.Do(func() {
		e.eval.first = e.FirstOfGrids()
		for _, t := range e.Tunes {
			if len(t.Grid) == 0 {
				e.eval.first[t.Name] = cty.DynamicVal
			}
		}
	})
	return e.eval.first
}

// Group names the set of configurations that share the tune's value with c:
// the labels of its Per factors, or "" when all do.
func (t *Tune) Group(c *Configuration) string {
	parts := make([]string, len(t.Per))
	for i, name := range t.Per {
		parts[i] = name + "=" + c.Label(name)
	}
	return strings.Join(parts, ",")
}

func mustFields(p any) []param.Field {
	param.SetDefaults(p)
	return param.MustFields(p)
}

func setDefaults(p any) { param.SetDefaults(p) }

// compareRanges orders by file and place.
func compareRanges(a, b hcl.Range) int {
	if c := strings.Compare(a.Filename, b.Filename); c != 0 {
		return c
	}
	return a.Start.Byte - b.Start.Byte
}
