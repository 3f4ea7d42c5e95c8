package spec

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"raglab/internal/param"
)

// evaluator computes parameters and remembers them by the values that their
// expressions read, so that its work does not grow with the cross.
type evaluator struct {
	e      *Experiment
	static *hcl.EvalContext

	once  sync.Once
	first map[string]cty.Value // see [Experiment.firstOfGrids]

	mu     sync.Mutex
	memo   map[memoKey]*evaluation
	values map[valueKey]fieldValue
}

// memoKey names an option under certain values, valueKey one of its parameters: of two
// that read an axis each there are far fewer values than of both together.
type (
	memoKey struct {
		option *Option
		reading
	}
	valueKey struct {
		field *field
		reading
	}
)

// reading tells apart the values that references have.
type reading struct {
	place int    // in the product of the axes
	tuned string // the labels of the tunes
}

// fieldValue is what an expression comes to, see [field.evaluate].
type fieldValue struct {
	value any
	null  bool
	diags hcl.Diagnostics
}

// evaluation is an option's parameters under certain values of axis and tune.
type evaluation struct {
	params any
	links  []link
	diags  hcl.Diagnostics
}

// link is one name in a parameter that refers to options.
type link struct {
	factor, label string
	at            hcl.Range
	target        *Option // nil when there is none
}

func newEvaluator(e *Experiment, static *hcl.EvalContext) *evaluator {
	return &evaluator{e: e, static: static, memo: map[memoKey]*evaluation{}, values: map[valueKey]fieldValue{}}
}

// Params returns the parameters of an option, leg, corpus, output or store: a
// pointer to the kind's struct with defaults filled in and local paths made
// relative to the working folder instead of the spec. Equal calls return the
// same pointer, whose struct must not be modified.
//
// The configuration gives axis.NAME its value and may be nil for an option
// whose AxisRefs are empty; tuned gives tune.NAME its value and needs those of
// TuneRefs.
func (e *Experiment) Params(o *Option, c *Configuration, tuned map[string]cty.Value) (any, hcl.Diagnostics) {
	for _, name := range o.refs.tunes {
		if _, ok := tuned[name]; !ok {
			return nil, hcl.Diagnostics{errorAt(sumTuneMissing, o.Range, "%s reads tune.%s, which has not been fitted.", capital(o.title()), name)}
		}
	}
	ev := e.eval.evaluate(o, c, tuned)
	return ev.params, ev.diags
}

func (ev *evaluator) evaluate(o *Option, c *Configuration, tuned map[string]cty.Value) *evaluation {
	key := memoKey{o, readingOf(o.refs, c, tuned)}
	ev.mu.Lock()
	defer ev.mu.Unlock()
	if done, ok := ev.memo[key]; ok {
		return done
	}
	done := ev.compute(o, c, tuned)
	ev.memo[key] = done
	return done
}

// readingOf says which values references have.
func readingOf(refs references, c *Configuration, tuned map[string]cty.Value) reading {
	var r reading
	for _, name := range refs.axes {
		i := c.space.index[name]
		r.place = r.place*len(c.space.factors[i].Options) + int(c.choice[i])
	}
	for _, name := range refs.tunes {
		r.tuned += labelOf(tuned[name]) + "\x00"
	}
	return r
}

// context adds to var and local the values of axis and tune that are read.
func (ev *evaluator) context(refs references, c *Configuration, tuned map[string]cty.Value) *hcl.EvalContext {
	if !refs.dynamic() {
		return ev.static
	}
	ctx := ev.static.NewChild()
	ctx.Variables = map[string]cty.Value{}
	if len(refs.axes) > 0 {
		axes := map[string]cty.Value{}
		for _, name := range refs.axes {
			axes[name] = c.Option(name).value()
		}
		ctx.Variables["axis"] = cty.ObjectVal(axes)
	}
	if len(refs.tunes) > 0 {
		values := map[string]cty.Value{}
		for _, name := range refs.tunes {
			values[name] = tuned[name]
		}
		ctx.Variables["tune"] = cty.ObjectVal(values)
	}
	return ctx
}

func (ev *evaluator) compute(o *Option, c *Configuration, tuned map[string]cty.Value) *evaluation {
	if o.info.Params == nil {
		return &evaluation{}
	}
	done := &evaluation{params: o.info.Params()}
	for i := range o.fields {
		f := &o.fields[i]
		value := f.value
		if f.dynamic && !f.bad {
			read := ev.value(f, o, c, tuned)
			done.diags = append(done.diags, read.diags...)
			value = read.value
			if read.null && f.Required {
				done.diags = append(done.diags, errorAt(sumMissingAttribute, f.attr.Expr.Range(), "%s of %s is needed, but null.", f.Name, o.title()))
			}
		}
		if value != nil {
			f.Set(done.params, value)
		}
		f.resolve(done.params, ev.e.world)
		done.links = append(done.links, ev.e.links(f, done.params, o)...)
	}
	if !o.bad && !done.diags.HasErrors() && o.info.Check != nil {
		if err := o.info.Check(done.params, ev.e.Language); err != nil {
			d := ev.e.ParamError(o, err)
			d.Detail += whereRead(o.refs, ev.context(o.refs, c, tuned))
			done.diags = append(done.diags, d)
		}
	}
	redact(done.diags, ev.e.world.hidden())
	return done
}

// value evaluates a parameter once for all options of other axes than it reads.
func (ev *evaluator) value(f *field, o *Option, c *Configuration, tuned map[string]cty.Value) fieldValue {
	key := valueKey{f, readingOf(f.refs, c, tuned)}
	v, ok := ev.values[key]
	if !ok {
		v.value, v.null, v.diags = f.evaluate(ev.context(f.refs, c, tuned), o.title())
		ev.values[key] = v
	}
	return v
}

// whereRead says which values of axis and tune an option had when a problem
// was found that is not in one expression.
func whereRead(refs references, ctx *hcl.EvalContext) string {
	var parts []string
	for _, name := range refs.axes {
		parts = append(parts, fmt.Sprintf("axis.%s is %s", name, labelOf(ctx.Variables["axis"].GetAttr(name))))
	}
	for _, name := range refs.tunes {
		parts = append(parts, fmt.Sprintf("tune.%s is %s", name, labelOf(ctx.Variables["tune"].GetAttr(name))))
	}
	if len(parts) == 0 {
		return ""
	}
	return " Here " + strings.Join(parts, ", ") + "."
}

// resolve turns paths relative to the spec into paths for this process.
func (f *field) resolve(params any, w *world) {
	if !f.Path {
		return
	}
	switch v := f.Get(params).(type) {
	case string:
		f.Set(params, w.resolve(v))
	case []string:
		paths := make([]string, len(v))
		for i, p := range v {
			paths[i] = w.resolve(p)
		}
		f.Set(params, paths)
	}
}

// ParamError turns what a kind said about its parameters into a diagnostic at
// the attribute that a [*param.Error] names, else at the option.
func (e *Experiment) ParamError(o *Option, err error) *hcl.Diagnostic {
	d := paramError(o, err)
	redact(hcl.Diagnostics{d}, e.world.hidden())
	return d
}

func paramError(o *Option, err error) *hcl.Diagnostic {
	var pe *param.Error
	if !errors.As(err, &pe) {
		return errorAt(sumBadValue, o.Range, "%s: %s.", capital(o.title()), strings.TrimSuffix(err.Error(), "."))
	}
	at := o.Range
	d := errorAt(sumBadValue, at, "%s of %s: %s.", pe.Attribute, o.title(), strings.TrimSuffix(pe.Problem, "."))
	for i := range o.fields {
		if f := &o.fields[i]; f.Name == pe.Attribute && f.attr != nil {
			d.Subject, d.Context, d.Expression = f.attr.Expr.Range().Ptr(), f.attr.SrcRange.Ptr(), f.attr.Expr
		}
	}
	return d
}

// Refs returns the options that an option's parameters refer to, such as a
// fuser's legs, in order and with repetitions. The configuration may be nil as
// in [Experiment.Params].
func (e *Experiment) Refs(o *Option, c *Configuration) []*Option {
	var refs []*Option
	for _, link := range e.eval.links(o, c) {
		if link.target != nil {
			refs = append(refs, link.target)
		}
	}
	return refs
}

// links are the names by which an option refers to others. References cannot
// be tuned, so any value of a tune will do.
func (ev *evaluator) links(o *Option, c *Configuration) []link {
	if !o.refers() {
		return nil
	}
	return ev.evaluate(o, c, ev.e.firstOfGrids()).links
}

// refers tells whether the option's kind can refer to others.
func (o *Option) refers() bool {
	return slices.ContainsFunc(o.fields, func(f field) bool { return f.Ref != "" })
}

func (e *Experiment) links(f *field, params any, o *Option) []link {
	if f.Ref == "" {
		return nil
	}
	var links []link
	for i, label := range refLabels(f.Get(params)) {
		at := o.Range
		if f.attr != nil {
			at = elementRange(f.attr.Expr, i)
		}
		links = append(links, link{factor: f.Ref, label: label, at: at, target: e.target(f.Ref, label)})
	}
	return links
}

func refLabels(value any) []string {
	switch v := value.(type) {
	case []string:
		return v
	case string:
		if v != "" {
			return []string{v}
		}
	}
	return nil
}

func (e *Experiment) target(factor, label string) *Option {
	if f := e.Factor(factor); f != nil {
		return f.Option(label)
	}
	return nil
}

// Chosen returns the option that a configuration has for a factor, followed by
// all that it refers to, directly or not, each once.
func (e *Experiment) Chosen(c *Configuration, factor string) []*Option {
	all := []*Option{c.Option(factor)}
	for i := 0; i < len(all); i++ {
		for _, o := range e.Refs(all[i], c) {
			if !slices.Contains(all, o) {
				all = append(all, o)
			}
		}
	}
	return all
}

// TunesOf returns the tunes that a configuration's options and their legs
// read, in the order of the spec.
func (e *Experiment) TunesOf(c *Configuration) []*Tune {
	if len(e.Tunes) == 0 {
		return nil
	}
	read := map[string]bool{}
	for _, f := range e.Factors {
		for _, o := range e.Chosen(c, f.Name) {
			for _, name := range o.refs.tunes {
				read[name] = true
			}
		}
	}
	var tunes []*Tune
	for _, t := range e.Tunes {
		if read[t.Name] {
			tunes = append(tunes, t)
		}
	}
	return tunes
}

// grids calls f with every value of every tune that the references read, the
// others held at their first.
func (e *Experiment) grids(refs references, f func(map[string]cty.Value)) {
	first := e.firstOfGrids()
	f(first)
	for _, name := range refs.tunes {
		for i, v := range e.Tune(name).Grid {
			if i == 0 {
				continue
			}
			values := maps.Clone(first)
			values[name] = v
			f(values)
		}
	}
}
