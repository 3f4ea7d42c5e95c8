package spec

import (
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// Factor returns the factor of that name, or nil.
func (e *Experiment) Factor(name string) *Factor {
	for _, f := range e.Factors {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Option returns the option or leg with that label, or nil.
func (f *Factor) Option(label string) *Option {
	for _, o := range f.Legs {
		if o.Label == label {
			return o
		}
	}
	return f.row(label)
}

// row returns the option with that label, or nil; legs are none.
func (f *Factor) row(label string) *Option {
	for _, o := range f.Options {
		if o.Label == label {
			return o
		}
	}
	return nil
}

func (f *Factor) labels() []string {
	labels := make([]string, len(f.Options))
	for i, o := range f.Options {
		labels[i] = o.Label
	}
	return labels
}

func (f *Factor) hasBadOption() bool {
	return len(f.Options) == 0 || slices.ContainsFunc(f.Options, func(o *Option) bool { return o.bad && o.Label == "" })
}

// value is what axis.NAME is when the option is chosen.
func (o *Option) value() cty.Value {
	if o.Value != cty.NilVal {
		return o.Value
	}
	return cty.StringVal(o.Label)
}

// TuneRefs lists the tunes that the option's own parameters read, sorted; those
// of its legs are not among them.
func (o *Option) TuneRefs() []string { return o.refs.tunes }

// AxisRefs lists the factors that the option's own parameters read, sorted.
func (o *Option) AxisRefs() []string { return o.refs.axes }

// TunedFields maps the parameters whose values are fitted to the tunes that
// they read.
func (o *Option) TunedFields() map[string][]string {
	tuned := map[string][]string{}
	for _, f := range o.fields {
		if len(f.refs.tunes) > 0 {
			tuned[f.Name] = f.refs.tunes
		}
	}
	return tuned
}

// AxisFields are the parameters whose values read axes.
func (o *Option) AxisFields() []string {
	var names []string
	for _, f := range o.fields {
		if len(f.refs.axes) > 0 {
			names = append(names, f.Name)
		}
	}
	return names
}

// Option returns the option chosen for a factor, or nil when there is no such
// factor.
func (c *Configuration) Option(factor string) *Option {
	i, ok := c.space.index[factor]
	if !ok {
		return nil
	}
	return c.space.factors[i].Options[c.choice[i]]
}

// Label returns the label of the option chosen for a factor, or "".
func (c *Configuration) Label(factor string) string {
	if o := c.Option(factor); o != nil {
		return o.Label
	}
	return ""
}

// Labels maps every factor to the label of the chosen option.
func (c *Configuration) Labels() map[string]string {
	labels := make(map[string]string, len(c.choice))
	for i, f := range c.space.factors {
		labels[f.Name] = f.Options[c.choice[i]].Label
	}
	return labels
}

// Name tells the configuration from the others: the labels of the axes in
// order, joined by " / ". Without an axis it is the experiment's name.
func (c *Configuration) Name() string {
	var parts []string
	for i, f := range c.space.factors {
		if f.IsAxis {
			parts = append(parts, f.Options[c.choice[i]].Label)
		}
	}
	if len(parts) == 0 {
		return c.space.e.Name
	}
	return strings.Join(parts, " / ")
}

// Key names all choices, as in "chunker=whole,text=simple", in the order of
// the factors. It does not depend on how the options are ordered.
func (c *Configuration) Key() string {
	parts := make([]string, len(c.choice))
	for i, f := range c.space.factors {
		parts[i] = f.Name + "=" + f.Options[c.choice[i]].Label
	}
	return strings.Join(parts, ",")
}

// Matches reports whether the configuration is one that the figure is about.
func (x *Expect) Matches(c *Configuration) bool {
	for factor, label := range x.Where {
		if c.Label(factor) != label {
			return false
		}
	}
	return true
}
