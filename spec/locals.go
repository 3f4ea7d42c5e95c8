package spec

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// readLocals evaluates the locals, whatever their order, and completes the
// context in which everything else is evaluated.
func (l *loader) readLocals() {
	attrs := map[string]*hclsyntax.Attribute{}
	for _, b := range l.blocks["locals"] {
		for _, block := range b.Body.Blocks {
			l.report(errorAt(sumUnknownBlock, block.TypeRange, "A locals block has attributes only."))
		}
		for _, a := range b.Body.Attributes {
			if first, ok := attrs[a.Name]; ok {
				l.duplicateLocal(a, first)
				continue
			}
			attrs[a.Name] = a
			l.locals[a.Name] = cty.DynamicVal
		}
	}
	s := &localSorter{loader: l, attrs: attrs, state: map[string]visit{}}
	for _, name := range sortedKeys(attrs) {
		s.visit(name)
	}
	l.static = l.staticContext()
}

// duplicateLocal reports the later of the two, whichever was met first: the
// attributes of a block come in no order.
func (l *loader) duplicateLocal(a, b *hclsyntax.Attribute) {
	if a.SrcRange.Filename == b.SrcRange.Filename && a.SrcRange.Start.Byte < b.SrcRange.Start.Byte {
		a, b = b, a
	}
	l.report(errorAt(sumDuplicateBlock, a.NameRange, "local.%s is defined twice; the first is at %s.", a.Name, place(b.SrcRange)))
}

func (l *loader) staticContext() *hcl.EvalContext {
	return &hcl.EvalContext{
		Variables: map[string]cty.Value{"var": cty.ObjectVal(l.vars), "local": cty.ObjectVal(l.locals)},
		Functions: l.functions,
	}
}

type visit int

const (
	entered visit = iota + 1
	left
)

// localSorter visits locals depth first, so that each is evaluated after those
// that it reads.
type localSorter struct {
	*loader
	attrs map[string]*hclsyntax.Attribute
	state map[string]visit
	path  []string
}

func (s *localSorter) visit(name string) {
	switch s.state[name] {
	case left:
		return
	case entered:
		s.cycle(name)
		return
	}
	s.state[name] = entered
	s.path = append(s.path, name)
	a := s.attrs[name]
	reads := s.reads(a.Expr)
	for _, other := range reads {
		s.visit(other)
	}
	s.path = s.path[:len(s.path)-1]
	s.state[name] = left
	s.locals[name] = s.value(a, reads)
}

// reads lists the locals that an expression reads, sorted.
func (s *localSorter) reads(expr hclsyntax.Expression) []string {
	var names []string
	for _, t := range expr.Variables() {
		if t.RootName() != "local" {
			continue
		}
		step, ok := nameStep(t)
		switch {
		case !ok:
			names = append(names, sortedKeys(s.attrs)...)
		case s.attrs[step] != nil:
			names = append(names, step)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

func (s *localSorter) cycle(name string) {
	path := append(slices.Clone(s.path[slices.Index(s.path, name):]), name)
	for i := range path {
		path[i] = "local." + path[i]
	}
	s.report(errorAt(sumLocalCycle, s.attrs[name].NameRange, "Each of these is defined by the next: %s.", strings.Join(path, " → ")))
}

// value evaluates a local among those that it reads; that is enough of a
// context, and keeps the cost of many locals linear.
func (s *localSorter) value(a *hclsyntax.Attribute, reads []string) cty.Value {
	if _, ok := s.inspect(a.Expr, staticRoots); !ok {
		return cty.DynamicVal
	}
	known := make(map[string]cty.Value, len(reads))
	for _, name := range reads {
		known[name] = s.locals[name]
	}
	ctx := &hcl.EvalContext{
		Variables: map[string]cty.Value{"var": cty.ObjectVal(s.vars), "local": cty.ObjectVal(known)},
		Functions: s.functions,
	}
	v, diags := a.Expr.Value(ctx)
	s.report(diags...)
	if diags.HasErrors() {
		return cty.DynamicVal
	}
	return v
}
