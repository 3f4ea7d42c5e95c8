package spec

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"raglab/internal/param"
)

// readFactors builds the slots of the pipeline in order and then the free factors.
func (l *loader) readFactors() {
	written := map[string]*hclsyntax.Block{}
	var free []*hclsyntax.Block
	for _, b := range l.factorBlocks() {
		name := b.Labels[0]
		if first, ok := written[name]; ok {
			l.duplicate(b, first, "The factor %q has a block already", name)
			continue
		}
		written[name] = b
		if !l.isSlot(name) {
			free = append(free, b)
		}
	}
	for _, info := range l.opts.Catalog.Factors() {
		if b, ok := written[info.Name]; ok {
			l.addFactor(l.readSlot(b))
		} else {
			l.addFactor(l.defaultFactor(info))
		}
	}
	for _, b := range free {
		l.addFactor(l.readFree(b))
	}
}

// factorBlocks returns the axis and fixed blocks in the order of the text.
func (l *loader) factorBlocks() []*hclsyntax.Block {
	blocks := slices.Concat(l.blocks["axis"], l.blocks["fixed"])
	slices.SortStableFunc(blocks, func(a, b *hclsyntax.Block) int { return compareRanges(a.TypeRange, b.TypeRange) })
	return blocks
}

func (l *loader) addFactor(f *Factor) {
	for i, o := range f.Options {
		o.index = i
	}
	for i, o := range f.Legs {
		o.index = len(f.Options) + i
	}
	l.e.Factors = append(l.e.Factors, f)
}

func (l *loader) isSlot(name string) bool {
	return slices.ContainsFunc(l.opts.Catalog.Factors(), func(f FactorInfo) bool { return f.Name == name })
}

func (l *loader) defaultFactor(info FactorInfo) *Factor {
	f := &Factor{Name: info.Name}
	if info.Default == "" {
		if !l.broken {
			l.report(errorAt(sumMissingBlock, l.missingRange(), "The factor %s has no default: add fixed %q { … } or axis %q { … }.", info.Name, info.Name, info.Name))
		}
		return f
	}
	o := &Option{Factor: info.Name, Label: info.Default, Kind: info.Default}
	l.readKind(o, hcl.Range{}, nil, l.missingRange())
	f.Options = []*Option{o}
	return f
}

// readSlot reads the axis or fixed block of a slot of the pipeline.
func (l *loader) readSlot(b *hclsyntax.Block) *Factor {
	f := &Factor{Name: b.Labels[0], IsAxis: b.Type == "axis", Range: b.DefRange()}
	what := fmt.Sprintf("%s %q", b.Type, f.Name)
	l.checkBody(b.Body, what, []string{"use"}, []string{"option", "leg"})
	f.Options = append(f.Options, l.readUse(b, f.Name)...)
	for _, inner := range b.Body.Blocks {
		if inner.Type != "option" && inner.Type != "leg" {
			continue
		}
		if !l.checkLabels(inner, 1) {
			f.Options = append(f.Options, unreadable(f.Name, inner.DefRange())...)
			continue
		}
		o := l.readOption(inner, f.Name)
		if o.IsLeg {
			f.Legs = append(f.Legs, o)
		} else {
			f.Options = append(f.Options, o)
		}
	}
	slices.SortStableFunc(f.Options, func(a, b *Option) int { return compareRanges(a.Range, b.Range) })
	l.checkUnique(f)
	l.checkCount(f, `option "NAME" { … } or use = "KIND"`)
	return f
}

// readUse reads the short form for kinds that need no parameters.
func (l *loader) readUse(b *hclsyntax.Block, factor string) []*Option {
	a := b.Body.Attributes["use"]
	if a == nil {
		return nil
	}
	v, ok := l.evaluate(a.Expr)
	if !ok {
		return unreadable(factor, a.Expr.Range())
	}
	names, ok := useNames(v)
	if !ok {
		l.report(errorAt(sumWrongType, a.Expr.Range(), "use must be the name of a kind or a list of such names, not %s.", describe(v)))
		return unreadable(factor, a.Expr.Range())
	}
	options := make([]*Option, len(names))
	for i, name := range names {
		at := a.Expr.Range()
		if tuple, ok := a.Expr.(*hclsyntax.TupleConsExpr); ok {
			at = tuple.Exprs[i].Range()
		}
		l.checkOptionLabel(name, at)
		options[i] = &Option{Factor: factor, Label: name, Kind: name, Range: at}
		l.readKind(options[i], at, nil, at)
	}
	return options
}

// unreadable stands for options that have been reported, and of which nobody
// knows the labels.
func unreadable(factor string, at hcl.Range) []*Option {
	return []*Option{{Factor: factor, Range: at, bad: true}}
}

func useNames(v cty.Value) ([]string, bool) {
	if v.IsNull() {
		return nil, false
	}
	if v.Type() == cty.String {
		return []string{v.AsString()}, true
	}
	if !v.CanIterateElements() || v.Type().IsObjectType() || v.Type().IsMapType() {
		return nil, false
	}
	var names []string
	for _, e := range v.AsValueSlice() {
		if e.IsNull() || e.Type() != cty.String {
			return nil, false
		}
		names = append(names, e.AsString())
	}
	return names, true
}

// readOption reads an option or leg block.
func (l *loader) readOption(b *hclsyntax.Block, factor string) *Option {
	o := &Option{Factor: factor, Label: b.Labels[0], Kind: b.Labels[0], IsLeg: b.Type == "leg", Range: b.DefRange()}
	l.checkOptionLabel(o.Label, b.LabelRanges[0])
	kindAt := b.LabelRanges[0]
	if a := b.Body.Attributes["kind"]; a != nil {
		kindAt = a.Expr.Range()
		v, ok := l.evaluate(a.Expr)
		switch {
		case !ok:
			o.Kind = ""
		case v.IsNull():
		case v.Type() != cty.String:
			l.report(errorAt(sumWrongType, kindAt, "kind must be the name of a kind, not %s.", describe(v)))
			o.Kind = ""
		default:
			o.Kind = v.AsString()
		}
	}
	if o.Kind == "" {
		o.bad = true
		return o
	}
	l.readKind(o, kindAt, b.Body, b.DefRange())
	return o
}

// readKind finds the option's kind and its parameters in the body, which may be nil.
func (l *loader) readKind(o *Option, kindAt hcl.Range, body *hclsyntax.Body, at hcl.Range) {
	kinds := l.opts.Catalog.Kinds(o.Factor)
	i := slices.IndexFunc(kinds, func(k KindInfo) bool { return k.Name == o.Kind })
	if i < 0 {
		o.bad = true
		l.report(errorAt(sumUnknownKind, kindAt, "There is no %s kind %q.%s", o.Factor, o.Kind, didYouMean(o.Kind, kindNames(kinds))))
		return
	}
	o.info = kinds[i]
	params := param.MustFields(o.info.Params())
	var attrs hclsyntax.Attributes
	if body != nil {
		attrs = body.Attributes
		l.checkBody(body, o.title(), append(fieldNames(params), l.ownAttributes(o)...), nil)
	}
	allowed := optionRoots
	if !l.isSlot(o.Factor) {
		allowed = staticRoots
	}
	o.fields = l.fields(params, attrs, allowed, o.title(), at)
	for _, f := range o.fields {
		o.refs = o.refs.union(f.refs)
		o.bad = o.bad || f.bad
	}
}

// ownAttributes are attributes of a block that are not its kind's.
func (l *loader) ownAttributes(o *Option) []string {
	switch {
	case o.Factor == sourceFactor:
		return fieldNames(fieldsOf[corpusBlock]())
	case l.isSlot(o.Factor):
		return []string{"kind"}
	}
	return nil
}

// title names the option in messages.
func (o *Option) title() string {
	if o.Label == o.Kind {
		return fmt.Sprintf("%s %q", o.Factor, o.Label)
	}
	return fmt.Sprintf("%s %q (kind %s)", o.Factor, o.Label, o.Kind)
}

func kindNames(kinds []KindInfo) []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
	}
	return names
}

// readFree reads the block of a factor that is no slot: a list of values.
func (l *loader) readFree(b *hclsyntax.Block) *Factor {
	f := &Factor{Name: b.Labels[0], Free: true, IsAxis: b.Type == "axis", Range: b.DefRange()}
	l.checkName(b)
	if len(b.Body.Blocks) > 0 || b.Body.Attributes["use"] != nil {
		l.report(errorAt(sumUnknownFactor, b.LabelRanges[0],
			"There is no factor %q with options.%s A name of your own has values = [ … ].", f.Name, didYouMean(f.Name, l.slotNames())))
		f.Options = unreadable(f.Name, f.Range)
		return f
	}
	l.checkBody(b.Body, fmt.Sprintf("%s %q", b.Type, f.Name), []string{"values"}, nil)
	f.Options = l.readValues(b, f.Name)
	l.checkUnique(f)
	l.checkCount(f, "values = [ … ]")
	return f
}

func (l *loader) slotNames() []string {
	var names []string
	for _, f := range l.opts.Catalog.Factors() {
		names = append(names, f.Name)
	}
	return names
}

func (l *loader) readValues(b *hclsyntax.Block, factor string) []*Option {
	a := b.Body.Attributes["values"]
	if a == nil {
		return nil
	}
	values, ok := l.primitives(a, "values")
	if !ok {
		return unreadable(factor, a.Expr.Range())
	}
	options := make([]*Option, len(values))
	for i, v := range values {
		at := elementRange(a.Expr, i)
		label := labelOf(v)
		if v.Type() == cty.String {
			l.checkOptionLabel(label, at)
		}
		options[i] = &Option{Factor: factor, Label: label, Value: v, Range: at}
	}
	return options
}

// primitives evaluates a list of texts, numbers or truth values.
func (l *loader) primitives(a *hclsyntax.Attribute, what string) ([]cty.Value, bool) {
	v, ok := l.evaluate(a.Expr)
	if !ok {
		return nil, false
	}
	if t := v.Type(); v.IsNull() || !(t.IsTupleType() || t.IsListType() || t.IsSetType()) {
		l.report(errorAt(sumWrongType, a.Expr.Range(), "%s must be a list of numbers, texts or truth values, not %s.", what, describe(v)))
		return nil, false
	}
	values := v.AsValueSlice()
	for i, e := range values {
		if e.IsNull() || !e.Type().IsPrimitiveType() {
			l.report(errorAt(sumWrongType, elementRange(a.Expr, i), "%s must be a list of numbers, texts or truth values, not with %s in it.", what, describe(e)))
			return nil, false
		}
	}
	return values, true
}

// elementRange is where the element of a list is written, or the whole list
// where it was computed.
func elementRange(expr hclsyntax.Expression, i int) hcl.Range {
	if tuple, ok := expr.(*hclsyntax.TupleConsExpr); ok && i < len(tuple.Exprs) {
		return tuple.Exprs[i].Range()
	}
	return expr.Range()
}

func (l *loader) checkUnique(f *Factor) {
	first := map[string]*Option{}
	for _, o := range slices.Concat(f.Options, f.Legs) {
		if o.Label == "" {
			continue
		}
		if other, ok := first[o.Label]; ok {
			at, earlier := o.Range, other.Range
			if compareRanges(at, earlier) < 0 {
				at, earlier = earlier, at
			}
			l.report(errorAt(sumDuplicateOption, at, "The factor %s has two options named %q; the first is at %s. A kind may be used twice under different labels.", f.Name, o.Label, place(earlier)))
			continue
		}
		first[o.Label] = o
	}
}

func (l *loader) checkCount(f *Factor, form string) {
	switch n := len(f.Options); {
	case f.hasBadOption() && n > 0:
	case n == 0 && l.broken:
	case n == 0:
		l.report(errorAt(sumNoOptions, f.Range, "The factor %s has no option. Add %s.", f.Name, form))
	case n > 1 && !f.IsAxis:
		l.report(errorAt(sumFixedSeveral, f.Range, "The factor %s has %d options. To compare them, write axis %q.", f.Name, n, f.Name))
	case n == 1 && f.IsAxis && !f.Options[0].bad:
		l.report(warningAt(sumAxisSingle, f.Range, "There is nothing to compare. To say so, write fixed %q.", f.Name))
	}
}
