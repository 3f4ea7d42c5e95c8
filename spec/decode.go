package spec

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"raglab/internal/param"
)

// field is a parameter and what a block sets it to.
type field struct {
	param.Field
	attr    *hclsyntax.Attribute // nil when not set
	refs    references
	dynamic bool // its expression reads axis or tune
	value   any  // of the field's type; nil when not set, null or dynamic
	bad     bool // reported already
}

// checkBody reports attributes and blocks that do not belong in a block.
func (l *loader) checkBody(body *hclsyntax.Body, what string, attrs, blocks []string) {
	for _, a := range body.Attributes {
		if slices.Contains(attrs, a.Name) {
			continue
		}
		hint := didYouMean(a.Name, attrs)
		if slices.Contains(blocks, a.Name) {
			hint = fmt.Sprintf(" There is a block %s, which is written without =.", a.Name)
		}
		l.report(errorAt(sumUnknownAttribute, a.NameRange, "%s has no attribute %q.%s", capital(what), a.Name, hint))
	}
	for _, b := range body.Blocks {
		if slices.Contains(blocks, b.Type) {
			continue
		}
		hint := didYouMean(b.Type, blocks)
		if slices.Contains(attrs, b.Type) {
			hint = fmt.Sprintf(" There is an attribute %s, which is written with =.", b.Type)
		}
		l.report(errorAt(sumUnknownBlock, b.TypeRange, "%s has no block %q.%s", capital(what), b.Type, hint))
	}
}

// fields pairs parameters with the attributes that set them, evaluates what
// can be, and reports what cannot. Attributes that are no parameters are the
// caller's.
func (l *loader) fields(params []param.Field, attrs hclsyntax.Attributes, allowed roots, what string, at hcl.Range) []field {
	fields := make([]field, len(params))
	var missing []string
	for i, p := range params {
		f := &fields[i]
		f.Field, f.attr = p, attrs[p.Name]
		if f.attr != nil {
			l.readField(f, allowed, what)
		}
		if p.Required && !f.bad && !f.dynamic && f.value == nil {
			f.bad = true
			missing = append(missing, fmt.Sprintf("%s (%s: %s)", p.Name, p.TypeName(), strings.TrimSuffix(p.Doc, ".")))
		}
	}
	if len(missing) > 0 {
		l.report(errorAt(sumMissingAttribute, at, "%s needs %s.", capital(what), strings.Join(missing, ", ")))
	}
	return fields
}

func (l *loader) readField(f *field, allowed roots, what string) {
	refs, ok := l.inspect(f.attr.Expr, allowed)
	f.refs, f.dynamic = refs, refs.dynamic()
	switch {
	case !ok:
		f.bad = true
	case f.Ref != "" && len(refs.tunes) > 0:
		f.bad = true
		l.report(errorAt(sumTunedLegs, f.attr.Expr.Range(), "%s names options and cannot be tuned; make each choice an option of its own.", f.Name))
	case !f.dynamic:
		v, null, diags := f.evaluate(l.static, what)
		l.report(diags...)
		f.value, f.bad = v, v == nil && !null
	}
}

// evaluate returns the field's value. It is nil when it is null, when it cannot
// be used, and when it is not known because of an error elsewhere.
func (f *field) evaluate(ctx *hcl.EvalContext, what string) (value any, null bool, diags hcl.Diagnostics) {
	expr := f.attr.Expr
	v, diags := expr.Value(ctx)
	if diags.HasErrors() || !v.IsWhollyKnown() {
		return nil, false, diags
	}
	v, marks := v.UnmarkDeep()
	if v.IsNull() {
		return nil, true, diags
	}
	fail := func(summary, format string, args ...any) (any, bool, hcl.Diagnostics) {
		d := errorAt(summary, expr.Range(), format, args...)
		d.Context = f.attr.SrcRange.Ptr()
		return nil, false, append(diags, inContext(d, expr, ctx))
	}
	goValue, err := toField(v, f.Field)
	if err != nil {
		return fail(sumWrongType, "%s of %s must be %s%s.", f.Name, what, article(f.TypeName()), notThat(err, len(marks) > 0))
	}
	if problem := f.check(goValue, len(marks) > 0); problem != "" {
		v, null, diags := fail(sumBadValue, "%s of %s %s", f.Name, what, problem)
		if item := f.badItem(goValue); item != nil {
			diags[len(diags)-1].Subject = item
		}
		return v, null, diags
	}
	return goValue, false, diags
}

// badItem is where the first item of a list stands that is not allowed; nil where the
// list is not written item by item.
func (f *field) badItem(value any) *hcl.Range {
	items, _ := value.([]string)
	written, ok := f.attr.Expr.(*hclsyntax.TupleConsExpr)
	if !ok || len(written.Exprs) != len(items) {
		return nil
	}
	for i, item := range items {
		if !slices.Contains(f.Enum, item) {
			return written.Exprs[i].Range().Ptr()
		}
	}
	return nil
}

// check tells what is wrong with a value of the right type.
func (f *field) check(value any, secret bool) string {
	if f.CheckValue(value) == nil {
		return ""
	}
	s, isText := value.(string)
	if items, ok := value.([]string); ok {
		isText, s = true, items[slices.IndexFunc(items, func(item string) bool { return !slices.Contains(f.Enum, item) })]
	}
	switch {
	case secret:
		return "has a value that is not allowed."
	case isText:
		return fmt.Sprintf("must be one of %s, not %q.%s", list(f.Enum, "or"), s, hintOnly(s, f.Enum))
	}
	return "must be " + f.bounds() + fmt.Sprintf(", not %v.", value)
}

func (f *field) bounds() string {
	switch {
	case f.Min != nil && f.Max != nil:
		return fmt.Sprintf("between %s and %s", decimal(*f.Min), decimal(*f.Max))
	case f.Min != nil:
		return fmt.Sprintf("at least %s", decimal(*f.Min))
	case f.Max != nil:
		return fmt.Sprintf("at most %s", decimal(*f.Max))
	}
	return "a number"
}

// decimal writes a number with all its digits and no exponent.
func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func hintOnly(given string, candidates []string) string {
	if s := Suggest(given, candidates); s != "" {
		return fmt.Sprintf(" Did you mean %q?", s)
	}
	return ""
}

// typeError says what a value is instead of what it should be.
type typeError struct {
	found   string // "a string"
	literal string // the value, where it is short
}

func (e *typeError) Error() string {
	if e.literal == "" {
		return e.found
	}
	return e.found + " (" + e.literal + ")"
}

func notThat(err error, secret bool) string {
	var te *typeError
	if secret && errors.As(err, &te) {
		return ", not " + te.found
	}
	return ", not " + err.Error()
}

func wrongType(v cty.Value) *typeError {
	if v.IsNull() {
		return &typeError{found: "null"}
	}
	e := &typeError{found: article(v.Type().FriendlyName())}
	switch t := v.Type(); {
	case t.IsTupleType():
		e.found = "a list"
	case t.IsObjectType():
		e.found = "a map"
	}
	switch v.Type() {
	case cty.String:
		if s := v.AsString(); len(s) <= 40 {
			e.literal = strconv.Quote(s)
		}
	case cty.Number:
		e.literal = labelOf(v)
	}
	return e
}

// describe says what a value is.
func describe(v cty.Value) string { return wrongType(v).Error() }

func article(noun string) string {
	if noun == "bool" {
		return "true or false"
	}
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// toField is toGo for the value of a parameter, whose lists some texts may stand for.
func toField(v cty.Value, f param.Field) (any, error) {
	if f.Lines && !v.IsNull() && v.Type() == cty.String {
		return param.Lines(v.AsString()), nil
	}
	return toGo(v, f.Type)
}

// toGo converts a known, unmarked value that is not null, without turning
// numbers into texts or texts into numbers.
func toGo(v cty.Value, t reflect.Type) (any, error) {
	if v.IsNull() {
		return nil, &typeError{found: "null"}
	}
	switch t.Kind() {
	case reflect.Slice:
		return toSlice(v, t)
	case reflect.Map:
		return toMap(v, t)
	}
	switch {
	case t.Kind() == reflect.String && v.Type() == cty.String:
		return reflect.ValueOf(v.AsString()).Convert(t).Interface(), nil
	case t.Kind() == reflect.Bool && v.Type() == cty.Bool:
		return v.True(), nil
	case t.Kind() == reflect.Int && v.Type() == cty.Number:
		n, acc := v.AsBigFloat().Int64()
		if acc != big.Exact {
			return nil, &typeError{found: "a fraction", literal: labelOf(v)}
		}
		return int(n), nil
	case t.Kind() == reflect.Float64 && v.Type() == cty.Number:
		x, _ := v.AsBigFloat().Float64()
		if math.IsInf(x, 0) {
			return nil, wrongType(v)
		}
		return x, nil
	}
	return nil, wrongType(v)
}

func toSlice(v cty.Value, t reflect.Type) (any, error) {
	if vt := v.Type(); !vt.IsTupleType() && !vt.IsListType() && !vt.IsSetType() {
		return nil, wrongType(v)
	}
	out := reflect.MakeSlice(t, 0, v.LengthInt())
	for _, e := range v.AsValueSlice() {
		x, err := toGo(e, t.Elem())
		if err != nil {
			return nil, fmt.Errorf("one with %w", err)
		}
		out = reflect.Append(out, reflect.ValueOf(x))
	}
	return out.Interface(), nil
}

// toMap accepts numbers and truth values as well: maps say which option of a
// factor is meant, and the options of a free factor may be numbers. Maps of numbers
// accept numbers alone.
func toMap(v cty.Value, t reflect.Type) (any, error) {
	if vt := v.Type(); !vt.IsObjectType() && !vt.IsMapType() {
		return nil, wrongType(v)
	}
	if t.Elem().Kind() == reflect.Float64 {
		return toNumbers(v)
	}
	out := make(map[string]string, v.LengthInt())
	for key, e := range v.AsValueMap() {
		if e.IsNull() || !e.Type().IsPrimitiveType() {
			return nil, fmt.Errorf("one with %w", wrongType(e))
		}
		out[key] = labelOf(e)
	}
	return out, nil
}

func toNumbers(v cty.Value) (any, error) {
	out := make(map[string]float64, v.LengthInt())
	for key, e := range v.AsValueMap() {
		x, err := toGo(e, reflect.TypeFor[float64]())
		if err != nil {
			return nil, fmt.Errorf("one with %w", err)
		}
		out[key] = x.(float64)
	}
	return out, nil
}

// labelOf writes a primitive value as users would: 0.1, not the 150 digits that
// the exact quotient of 1 and 10 has.
func labelOf(v cty.Value) string {
	if !v.IsKnown() {
		return "?"
	}
	v, _ = v.Unmark()
	switch v.Type() {
	case cty.String:
		return v.AsString()
	case cty.Bool:
		return strconv.FormatBool(v.True())
	}
	x, _ := v.AsBigFloat().Float64()
	if a := math.Abs(x); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// decode fills the struct that p points to from a block of the language itself,
// whose attributes may read var and local only.
func (l *loader) decode(p any, b *hclsyntax.Block, blocks ...string) {
	param.SetDefaults(p)
	params := param.MustFields(p)
	l.checkBody(b.Body, b.Type, fieldNames(params), blocks)
	for _, f := range l.fields(params, b.Body.Attributes, staticRoots, b.Type, b.DefRange()) {
		if f.value != nil {
			f.Set(p, f.value)
		}
	}
}

func fieldNames(fields []param.Field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

// valueText writes a known value of any type so that different ones differ.
func valueText(v cty.Value) string {
	v, _ = v.UnmarkDeep()
	return fmt.Sprintf("%#v", v)
}
