package spec

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// crossing is what the cross, exclude and include blocks say.
type crossing struct {
	mode  string
	base  map[string]string // as written
	order []string
	at    hcl.Range
}

// exclude is an exclude block.
type exclude struct {
	expr hclsyntax.Expression
	refs references
	at   hcl.Range
	text string
	// failed says that its condition has been reported.
	failed bool
}

// include is an include block.
type include struct {
	labels map[string]string
	at     hcl.Range
}

func (l *loader) readCrossing() {
	l.crossing = crossing{mode: Full, at: l.missingRange()}
	if b := l.single("cross"); b != nil {
		l.readCross(b)
	}
	for _, b := range l.blocks["exclude"] {
		l.readExclude(b)
	}
	for _, b := range l.blocks["include"] {
		l.readInclude(b)
	}
}

func (l *loader) readCross(b *hclsyntax.Block) {
	var p crossBlock
	l.decode(&p, b)
	l.crossing = crossing{mode: p.Mode, base: p.Base, order: p.Order, at: b.DefRange()}
	if a := b.Body.Attributes["base"]; a != nil {
		for _, name := range sortedKeys(p.Base) {
			if !l.checkChoice(map[string]string{name: p.Base[name]}, a, "base", true) {
				delete(l.crossing.base, name)
			}
		}
	}
	for i, name := range p.Order {
		at := elementRange(b.Body.Attributes["order"].Expr, i)
		axes := l.axisNames()
		switch {
		case !slices.Contains(axes, name):
			l.report(errorAt(sumUnknownAxis, at, "There is no axis %q.%s", name, didYouMean(name, axes)))
		case slices.Contains(p.Order[:i], name):
			l.report(errorAt(sumBadValue, at, "order lists %q twice.", name))
		}
	}
	if len(p.Order) > 0 && p.Mode != StagedCross {
		l.report(errorAt(sumBadValue, b.Body.Attributes["order"].NameRange, "order is for a staged cross; this one is %s.", p.Mode))
	}
}

func (l *loader) axisNames() []string {
	var names []string
	for _, f := range l.e.Factors {
		if f.IsAxis {
			names = append(names, f.Name)
		}
	}
	return names
}

func (l *loader) readExclude(b *hclsyntax.Block) {
	l.checkBody(b.Body, "exclude", []string{"when"}, nil)
	a := b.Body.Attributes["when"]
	if a == nil {
		l.report(errorAt(sumMissingAttribute, b.DefRange(), "Exclude needs when (a condition over axis.NAME that is true for what is left out)."))
		return
	}
	refs, ok := l.inspect(a.Expr, staticRoots|rootAxis)
	x := &exclude{expr: a.Expr, refs: refs, at: a.Expr.Range(), failed: !ok}
	x.text = l.sourceText(x.at)
	l.excludes = append(l.excludes, x)
}

func (l *loader) readInclude(b *hclsyntax.Block) {
	for _, inner := range b.Body.Blocks {
		l.report(errorAt(sumUnknownBlock, inner.TypeRange, "Include has attributes only: FACTOR = \"LABEL\"."))
	}
	in := &include{labels: map[string]string{}, at: b.DefRange()}
	ok := true
	for _, a := range b.Body.Attributes {
		ok = l.readIncluded(in, a) && ok
	}
	if ok {
		l.includes = append(l.includes, in)
	}
}

func (l *loader) readIncluded(in *include, a *hclsyntax.Attribute) bool {
	if l.e.Factor(a.Name) == nil {
		l.report(errorAt(sumUnknownFactor, a.NameRange, "Include names the factor %q, which does not exist.%s", a.Name, didYouMean(a.Name, l.factors)))
		return false
	}
	v, ok := l.evaluate(a.Expr)
	switch {
	case !ok:
		return false
	case v.IsNull() || !v.Type().IsPrimitiveType():
		l.report(errorAt(sumWrongType, a.Expr.Range(), "Include names one option for %s, not %s.", a.Name, describe(v)))
		return false
	}
	in.labels[a.Name] = labelOf(v)
	return l.checkLabel(a.Name, in.labels[a.Name], a.Expr.Range(), "include", false)
}

// sourceText is an expression as written, without comments and with single
// spaces.
func (l *loader) sourceText(at hcl.Range) string {
	file := l.e.Files[at.Filename]
	if file == nil || at.End.Byte > len(file.Bytes) {
		return ""
	}
	return plainText(file.Bytes[at.Start.Byte:at.End.Byte])
}

// holds evaluates the condition in a configuration.
func (x *exclude) holds(ev *evaluator, c *Configuration) (bool, hcl.Diagnostics) {
	ctx := ev.context(x.refs, c, nil)
	v, diags := x.expr.Value(ctx)
	if diags.HasErrors() {
		return false, diags
	}
	v, _ = v.UnmarkDeep()
	switch {
	case !v.IsWhollyKnown():
		return false, diags
	case v.IsNull() || v.Type() != cty.Bool:
		d := errorAt(sumWrongType, x.at, "when must be true or false, not %s.", describe(v))
		return false, append(diags, inContext(d, x.expr, ctx))
	}
	return v.True(), diags
}
