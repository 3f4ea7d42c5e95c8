package spec

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// checkReferences evaluates all that does not depend on the configuration, and
// checks that references lead somewhere and not in circles.
func (l *loader) checkReferences() {
	for _, o := range slices.Concat([]*Option{l.e.Corpus, l.e.Golden.Source, l.e.Store}, l.e.Outputs) {
		if o != nil {
			l.reportNew(l.e.eval.evaluate(o, nil, nil))
		}
	}
	l.checkQuestions()
	l.hideSecrets()
	for _, o := range l.e.options() {
		if len(o.refs.axes) == 0 {
			l.checkOption(o, nil)
		}
	}
	l.checkUnusedLegs()
	l.checkUnreadAxes()
}

// checkOption evaluates an option under every value that its tunes may take.
func (l *loader) checkOption(o *Option, c *Configuration) {
	l.e.grids(o.refs, func(tuned map[string]cty.Value) { l.reportNew(l.e.eval.evaluate(o, c, tuned)) })
	for _, link := range l.e.eval.links(o, c) {
		l.checkLink(o, link)
	}
	l.checkCycle(o, c)
}

// reportNew reports what is wrong with an evaluation, once.
func (l *loader) reportNew(done *evaluation) {
	if len(done.diags) > 0 && !l.reported[done] {
		l.reported[done] = true
		l.report(done.diags...)
	}
}

func (l *loader) checkLink(o *Option, link link) {
	f := l.e.Factor(link.factor)
	switch {
	case link.target == o:
		l.report(errorAt(sumSelfLeg, link.at, "%s refers to itself.", capital(o.title())))
	case link.target == nil && f != nil:
		labels := f.labels()
		for _, leg := range f.Legs {
			labels = append(labels, leg.Label)
		}
		labels = slices.DeleteFunc(labels, func(s string) bool { return s == o.Label && link.factor == o.Factor })
		l.report(errorAt(sumUnknownLeg, link.at, "The factor %s has no option or leg %q.%s", link.factor, link.label, didYouMean(link.label, labels)))
	case link.target == nil:
		l.report(errorAt(sumUnknownFactor, link.at, "There is no factor %q to refer to.", link.factor))
	}
}

// checkCycle reports a circle of references that goes through the option, at
// the one of its members that comes first in the text.
func (l *loader) checkCycle(o *Option, c *Configuration) {
	path := l.cycle([]*Option{o}, c)
	if len(path) < 2 { // an option that refers to itself has its own message
		return
	}
	for _, p := range path[1:] {
		if compareRanges(p.Range, o.Range) < 0 {
			return
		}
	}
	names := make([]string, len(path)+1)
	for i := range names {
		names[i] = path[i%len(path)].Label
	}
	l.report(errorAt(sumLegCycle, o.Range, "Each of these refers to the next: %s.", strings.Join(names, " → ")))
}

// cycle returns a path of references that starts at path[0] and whose last
// refers to it again, or nil. Options that read an axis are followed only when
// there is a configuration to read it from.
func (l *loader) cycle(path []*Option, c *Configuration) []*Option {
	last := path[len(path)-1]
	if c == nil && len(last.refs.axes) > 0 {
		return nil
	}
	for _, next := range l.e.Refs(last, c) {
		if next == path[0] {
			return path
		}
		if slices.Contains(path, next) {
			continue
		}
		if found := l.cycle(append(slices.Clone(path), next), c); found != nil {
			return found
		}
	}
	return nil
}

// checkUnusedLegs warns of legs that nothing refers to. It must be certain: a
// reference that depends on the configuration may mean any of them.
func (l *loader) checkUnusedLegs() {
	used := map[*Option]bool{}
	for _, o := range l.e.options() {
		if o.bad || o.refers() && len(o.refs.axes) > 0 {
			return
		}
		for _, target := range l.e.Refs(o, nil) {
			used[target] = true
		}
	}
	for _, f := range l.e.Factors {
		for _, leg := range f.Legs {
			if !used[leg] {
				l.report(warningAt(sumLegUnused, leg.Range, "No option refers to the leg %q, and a leg is no row of its own.", leg.Label))
			}
		}
	}
}

// checkUnreadAxes warns of free axes without effect.
func (l *loader) checkUnreadAxes() {
	read := map[string]bool{}
	for _, o := range l.e.options() {
		for _, name := range o.refs.axes {
			read[name] = true
		}
	}
	for _, f := range l.e.Factors {
		if f.Free && !read[f.Name] && !l.broken && !f.hasBadOption() && hclsyntax.ValidIdentifier(f.Name) {
			l.report(warningAt(sumAxisUnread, f.Range, "No option reads axis.%s, so that all of its rows are the same.", f.Name))
		}
	}
}
