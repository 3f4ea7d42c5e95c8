package spec

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// maxOrdinal bounds the full product also where a cheaper mode considers a part
// of it, so that ordinals stay exact in JSON.
const maxOrdinal = 1 << 53

// maxElsewhere bounds the search for a combination that an exclude block
// matches outside those that a cheaper mode considers.
const maxElsewhere = 100_000

// rule is an exclude block at work. Its condition is evaluated once for each
// combination of the factors that it reads.
type rule struct {
	*exclude
	axes     []int
	verdicts map[int]bool
	matched  bool
}

// expand computes the cross.
func (l *loader) expand() {
	if slices.ContainsFunc(l.e.Factors, (*Factor).hasBadOption) {
		return
	}
	judge, _ := l.opts.Catalog.(Judge)
	s := newSpace(l.e, judge)
	c := &Cross{Mode: l.crossing.mode, Base: l.base(), space: s, order: l.crossing.order}
	c.Accounting.Full = s.size()
	l.e.cross = c
	choices, ok := l.choices(c)
	if !ok {
		return
	}
	for _, x := range l.excludes {
		s.rules = append(s.rules, newRule(s, x))
	}
	x := &expansion{loader: l, cross: c, first: map[string]*Configuration{}, seen: map[[2]int]bool{}}
	for _, choice := range choices {
		x.place(s.configuration(choice))
	}
	x.includes()
	x.finish()
	if c.Mode != StagedCross {
		s.forget()
	}
}

// base is the label of every factor's base option.
func (l *loader) base() map[string]string {
	base := make(map[string]string, len(l.e.Factors))
	for _, f := range l.e.Factors {
		base[f.Name] = f.Options[0].Label
	}
	maps.Copy(base, l.crossing.base)
	return base
}

// choices lists the combinations that the mode considers.
func (l *loader) choices(c *Cross) ([][]int32, bool) {
	s, limit := c.space, l.opts.MaxProduct
	if limit <= 0 {
		limit = DefaultMaxProduct
	}
	n := c.Accounting.Full
	if c.Mode != Full {
		n = min(n, maxOrdinal+1)
	}
	if n > maxOrdinal || c.Mode == Full && n > limit {
		l.report(errorAt(sumTooLarge, l.crossing.at, "The axes have more than %d combinations. A cross of mode one_at_a_time or staged considers fewer.", min(limit, maxOrdinal)))
		return nil, false
	}
	switch c.Mode {
	case OneAtATime:
		return s.around(s.choose(c.Base), s.axes()), true
	case StagedCross:
		return s.around(s.choose(c.Base), s.stageOrder(l.crossing.order)[:min(1, len(s.axes()))]), true
	}
	return s.product(n), true
}

// product lists all n combinations, the last factor varying fastest.
func (s *space) product(n int) [][]int32 {
	k := len(s.factors)
	arena := make([]int32, 0, n*k)
	choices := make([][]int32, 0, n)
	current := make([]int32, k)
	for more := true; more; more = s.next(current) {
		arena = append(arena, current...)
		choices = append(choices, arena[len(arena)-k:len(arena):len(arena)])
	}
	return choices
}

// around lists a choice and then those that differ from it in one of the
// numbered factors.
func (s *space) around(base []int32, among []int) [][]int32 {
	choices := [][]int32{base}
	for _, i := range among {
		for o := range s.factors[i].Options {
			if int32(o) == base[i] {
				continue
			}
			other := slices.Clone(base)
			other[i] = int32(o)
			choices = append(choices, other)
		}
	}
	return choices
}

// axes numbers the factors that are axes.
func (s *space) axes() []int {
	var axes []int
	for i, f := range s.factors {
		if f.IsAxis {
			axes = append(axes, i)
		}
	}
	return axes
}

// choose turns labels into a choice; factors without a label, or with one that
// does not exist, hold their first option.
func (s *space) choose(labels map[string]string) []int32 {
	choice := make([]int32, len(s.factors))
	for i, f := range s.factors {
		if o := f.row(labels[f.Name]); o != nil {
			choice[i] = int32(o.index)
		}
	}
	return choice
}

func newRule(s *space, x *exclude) *rule {
	r := &rule{exclude: x, verdicts: map[int]bool{}}
	for _, name := range x.refs.axes {
		r.axes = append(r.axes, s.index[name])
	}
	return r
}

// excludes reports whether the condition holds. What is wrong with it is
// returned once.
func (r *rule) excludes(c *Configuration) (bool, hcl.Diagnostics) {
	if r.failed {
		return false, nil
	}
	key := c.space.place(c.choice, r.axes)
	verdict, ok := r.verdicts[key]
	if ok {
		return verdict, nil
	}
	verdict, diags := r.holds(c.space.e.eval, c)
	r.failed = diags.HasErrors()
	r.verdicts[key] = verdict
	r.matched = r.matched || verdict
	return verdict, diags
}

// excluded returns the first rule that drops the configuration, or nil. Every
// rule is asked, so that each is known to match or not.
func (s *space) excluded(c *Configuration) (by *rule, diags hcl.Diagnostics) {
	for _, r := range s.rules {
		yes, d := r.excludes(c)
		diags = append(diags, d...)
		if yes && by == nil {
			by = r
		}
	}
	return by, diags
}

// expansion sorts combinations into rows and dropped ones.
type expansion struct {
	*loader
	cross *Cross
	first map[string]*Configuration // rows by what they do
	seen  map[[2]int]bool           // options checked, by factor and what they read
}

func (x *expansion) place(c *Configuration) {
	a := &x.cross.Accounting
	a.Product++
	by, diags := c.space.excluded(c)
	x.report(diags...)
	if by != nil {
		a.Excluded++
		x.cross.Dropped = append(x.cross.Dropped, Dropped{Configuration: c, Reason: by.text})
		return
	}
	if reason := c.space.impossible(c); reason != "" {
		a.Impossible++
		x.cross.Dropped = append(x.cross.Dropped, Dropped{Configuration: c, Impossible: true, Reason: reason})
		return
	}
	x.check(c)
	if x.add(c) {
		a.Kept++
	} else {
		a.Same++
	}
}

// add makes a row, and reports whether it does something new.
func (x *expansion) add(c *Configuration) bool {
	does := c.space.does(c)
	c.SameAs = x.first[does]
	if c.SameAs == nil {
		x.first[does] = c
	}
	x.cross.Configurations = append(x.cross.Configurations, c)
	return c.SameAs == nil
}

// check evaluates the options that depend on the configuration.
func (x *expansion) check(c *Configuration) {
	for i, f := range c.space.factors {
		if f.Free || x.checked(i, c) {
			continue
		}
		for _, o := range x.e.Chosen(c, f.Name) {
			if len(o.refs.axes) > 0 {
				x.checkOption(o, c)
			}
		}
	}
}

// checked tells whether an option that does the same was checked before.
func (x *expansion) checked(i int, c *Configuration) bool {
	key := [2]int{i, c.space.shapeKey(i, c)}
	if x.seen[key] {
		return true
	}
	x.seen[key] = true
	return false
}

func (x *expansion) includes() {
	rows := make(map[int]bool, len(x.cross.Configurations))
	for _, c := range x.cross.Configurations {
		rows[c.Ordinal] = true
	}
	for _, in := range x.loader.includes {
		c := x.cross.space.configuration(x.cross.space.choose(x.includedLabels(in)))
		reason := c.space.impossible(c)
		switch {
		case rows[c.Ordinal]:
			x.report(warningAt(sumIncludeNothing, in.at, "The combination %s is a row already.", c.Key()))
		case reason != "":
			x.report(errorAt(sumIncludeImpossible, in.at, "%s.", capital(strings.TrimSuffix(reason, "."))))
		default:
			rows[c.Ordinal] = true
			c.Included = true
			x.cross.Accounting.Included++
			x.check(c)
			x.add(c)
		}
	}
}

// includedLabels completes an include block by the base.
func (x *expansion) includedLabels(in *include) map[string]string {
	labels := maps.Clone(x.cross.Base)
	maps.Copy(labels, in.labels)
	return labels
}

// finish reports what can be said when all combinations have been seen.
func (x *expansion) finish() {
	c := x.cross
	for _, r := range c.space.rules {
		if !r.failed && !r.matched && !x.matchesElsewhere(r) {
			x.report(warningAt(sumExcludeNever, r.at, "No combination of the axes makes the condition true."))
		}
	}
	if len(c.Configurations) == 0 {
		x.report(errorAt(sumNothingLeft, x.crossing.at, "All %d combinations are excluded or impossible.", c.Accounting.Product))
	} else if c.Mode != Full && !c.has(c.space.choose(c.Base)) {
		d := c.Dropped[0]
		x.report(errorAt(sumBaseDropped, x.crossing.at, "The base %s is dropped (%s); choose another with base = { … }.", d.Configuration.Key(), d.Reason))
	}
	for _, e := range x.e.Expects {
		if !slices.ContainsFunc(c.Configurations, e.Matches) && c.Mode != StagedCross && !x.diags.HasErrors() {
			x.report(warningAt(sumExpectNothing, e.Range, "No row has all the labels that where names."))
		}
	}
	x.checkAbstains()
	x.checkGates()
}

// matchesElsewhere asks a rule about the combinations that a cheaper mode did
// not consider.
func (x *expansion) matchesElsewhere(r *rule) bool {
	if x.cross.Mode == Full {
		return false
	}
	s := x.cross.space
	choice := make([]int32, len(s.factors))
	for range maxElsewhere {
		if yes, diags := r.excludes(s.configuration(slices.Clone(choice))); yes || diags.HasErrors() {
			x.report(diags...)
			return true
		}
		if !s.nextAmong(choice, r.axes) {
			return false
		}
	}
	return true // not known
}

func (c *Cross) has(choice []int32) bool {
	return slices.ContainsFunc(c.Configurations, func(other *Configuration) bool { return slices.Equal(other.choice, choice) })
}

// Cross returns the expanded experiment, or nil when the spec has errors that
// leave nothing to expand.
func (e *Experiment) Cross() *Cross { return e.cross }
