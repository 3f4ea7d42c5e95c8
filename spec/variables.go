package spec

import (
	"fmt"
	"os"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// VariablePrefix begins the names of environment variables that set variables.
const VariablePrefix = "RAGLAB_VAR_"

// variable is a variable block and where its value comes from.
type variable struct {
	block     *hclsyntax.Block
	name      string
	typ       cty.Type
	sensitive bool
	def       cty.Value // cty.NilVal when there is no default
}

// setting is a value given from outside: a text to interpret, or a value.
type setting struct {
	from  string
	text  string
	value cty.Value // cty.NilVal when there is only text
	at    hcl.Range
}

func (l *loader) readVariables() {
	declared := map[string]*variable{}
	var order []*variable
	for _, b := range l.blocks["variable"] {
		v := l.readVariable(b)
		if first, ok := declared[v.name]; ok {
			l.duplicate(b, first.block, "The variable %q is declared twice", v.name)
			continue
		}
		declared[v.name] = v
		order = append(order, v)
	}
	l.e.sensitive = map[string]bool{}
	for _, v := range order {
		l.e.sensitive[v.name] = v.sensitive
	}
	given := l.settings(declared)
	for _, v := range order {
		l.vars[v.name] = l.settle(v, given)
	}
}

var variableAttributes = []string{"type", "default", "description", "sensitive"}

func (l *loader) readVariable(b *hclsyntax.Block) *variable {
	v := &variable{block: b, name: b.Labels[0], typ: cty.DynamicPseudoType}
	l.checkName(b)
	l.checkBody(b.Body, "variable", variableAttributes, nil)
	attrs := b.Body.Attributes
	if a := attrs["type"]; a != nil {
		t, diags := typeexpr.TypeConstraint(a.Expr)
		l.report(diags...)
		if !diags.HasErrors() {
			v.typ = t
		}
	}
	v.sensitive = l.literal(attrs["sensitive"], cty.Bool).True()
	l.literal(attrs["description"], cty.String)
	if a := attrs["default"]; a != nil {
		l.readDefault(v, a)
	} else if attrs["type"] == nil {
		v.typ = cty.String
	}
	return v
}

// readDefault evaluates a default, in which functions may be called; a variable
// without a type takes that of its default where it is a plain one.
func (l *loader) readDefault(v *variable, a *hclsyntax.Attribute) {
	v.def = cty.DynamicVal
	if _, ok := l.inspect(a.Expr, 0); !ok {
		return
	}
	val, diags := a.Expr.Value(&hcl.EvalContext{Functions: l.functions})
	l.report(diags...)
	if diags.HasErrors() {
		return
	}
	if v.typ == cty.DynamicPseudoType && v.block.Body.Attributes["type"] == nil && val.Type().IsPrimitiveType() {
		v.typ = val.Type()
	}
	converted, err := convert.Convert(val, v.typ)
	if err != nil {
		l.report(errorAt(sumVariableType, a.Expr.Range(), "The default of var.%s must be of type %s: %s.", v.name, typeexpr.TypeString(v.typ), err))
		return
	}
	v.def = converted
}

// literal evaluates an attribute that must not read anything; the zero value
// of the type stands for one that is absent or wrong.
func (l *loader) literal(a *hclsyntax.Attribute, want cty.Type) cty.Value {
	zero := cty.False
	if want == cty.String {
		zero = cty.StringVal("")
	}
	if a == nil {
		return zero
	}
	if _, ok := l.inspect(a.Expr, 0); !ok {
		return zero
	}
	v, diags := a.Expr.Value(&hcl.EvalContext{Functions: l.functions})
	l.report(diags...)
	if diags.HasErrors() || !v.IsKnown() {
		return zero
	}
	v, _ = v.Unmark()
	if v.IsNull() {
		return zero
	}
	if v.Type() != want {
		l.report(errorAt(sumWrongType, a.Expr.Range(), "%s must be a %s, not %s.", a.Name, want.FriendlyName(), describe(v)))
		return zero
	}
	return v
}

// settings gathers what was given for the variables; later sources win: the
// environment, variable files in order, the command line.
func (l *loader) settings(declared map[string]*variable) map[string]setting {
	given := map[string]setting{}
	for name := range declared {
		if text, ok := l.world.env(VariablePrefix + name); ok {
			given[name] = setting{from: "the environment variable " + VariablePrefix + name, text: text}
		}
	}
	for _, path := range l.opts.VarFiles {
		l.readVariableFile(path, declared, given)
	}
	for _, name := range sortedKeys(l.opts.Vars) {
		if declared[name] == nil {
			l.report(errorAt(sumUnknownVariable, hcl.Range{}, "-var sets %s, but there is no variable %q block.%s", name, name, didYouMean(name, sortedKeys(declared))))
			continue
		}
		given[name] = setting{from: "-var", text: l.opts.Vars[name]}
	}
	return given
}

func (l *loader) readVariableFile(path string, declared map[string]*variable, given map[string]setting) {
	b, err := readRegular(path)
	if err != nil {
		l.report(errorAt(sumVariableFile, hcl.Range{}, "%s", sentence(err)))
		return
	}
	src := Source{Name: path, Bytes: b}
	l.e.Files[path] = &hcl.File{Bytes: b}
	if d := checkText(src); d != nil {
		l.report(d)
		return
	}
	file, diags := hclsyntax.ParseConfig(b, path, hcl.InitialPos)
	l.e.Files[path] = file
	l.report(diags...)
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok || l.hugeNumbers(body) {
		return
	}
	for _, block := range body.Blocks {
		l.report(errorAt(sumVariableFile, block.DefRange(), "A variable file has lines of the form name = value, and no blocks."))
	}
	for _, a := range body.Attributes {
		l.readFileSetting(a, declared, given)
	}
}

func (l *loader) readFileSetting(a *hclsyntax.Attribute, declared map[string]*variable, given map[string]setting) {
	if declared[a.Name] == nil {
		l.report(warningAt(sumUnknownVariable, a.NameRange, "The spec has no variable %q block; the value is not used.%s", a.Name, didYouMean(a.Name, sortedKeys(declared))))
		return
	}
	if _, ok := l.inspect(a.Expr, 0); !ok {
		return
	}
	v, diags := a.Expr.Value(nil)
	l.report(diags...)
	if !diags.HasErrors() {
		given[a.Name] = setting{from: a.SrcRange.Filename, value: v, at: a.Expr.Range()}
	}
}

// settle finds a variable's value. One that has none is unknown from then on,
// so that what reads it is not reported as well.
func (l *loader) settle(v *variable, given map[string]setting) cty.Value {
	val := v.def
	s, ok := given[v.name]
	switch {
	case ok:
		val = l.interpret(v, s)
	case val == cty.NilVal:
		l.report(errorAt(sumVariableUnset, v.block.DefRange(),
			"var.%s has no default; set it with -var %s=…, a -var-file or %s%s.", v.name, v.name, VariablePrefix, v.name))
		return cty.DynamicVal
	}
	if !v.sensitive {
		return val
	}
	l.hide(val)
	return val.Mark(sensitive{})
}

func (l *loader) interpret(v *variable, s setting) cty.Value {
	val, at := s.value, s.at
	if at.Filename == "" {
		at = v.block.DefRange()
	}
	if val == cty.NilVal {
		var err error
		if val, err = interpretText(s.text, v.typ); err != nil {
			l.report(errorAt(sumVariableType, at, "The value of var.%s from %s must be of type %s%s.", v.name, s.from, typeexpr.TypeString(v.typ), because(err, v)))
			return cty.DynamicVal
		}
	}
	converted, err := convert.Convert(val, v.typ)
	if err != nil {
		l.report(errorAt(sumVariableType, at, "The value of var.%s from %s must be of type %s%s.", v.name, s.from, typeexpr.TypeString(v.typ), because(err, v)))
		return cty.DynamicVal
	}
	return converted
}

// because gives an error's text, unless it could quote a secret.
func because(err error, v *variable) string {
	if v.sensitive {
		return ""
	}
	return ": " + err.Error()
}

// interpretText takes a string as it is and anything else as an expression.
func interpretText(text string, typ cty.Type) (cty.Value, error) {
	if typ == cty.String {
		return cty.StringVal(text), nil
	}
	if d := checkText(Source{Name: "value", Bytes: []byte(text)}); d != nil {
		return cty.NilVal, fmt.Errorf("not valid UTF-8")
	}
	expr, diags := hclsyntax.ParseExpression([]byte(text), "value", hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilVal, fmt.Errorf("%q is not an expression", text)
	}
	v, diags := expr.Value(nil)
	if diags.HasErrors() {
		return cty.NilVal, fmt.Errorf("%q cannot be evaluated; texts are written in quotes", text)
	}
	return v, nil
}

// hide keeps the texts in a value out of messages.
func (l *loader) hide(v cty.Value) {
	unmarked, _ := v.UnmarkDeep()
	_ = cty.Walk(unmarked, func(_ cty.Path, part cty.Value) (bool, error) {
		if part.IsKnown() && !part.IsNull() && part.Type() == cty.String {
			l.world.hide(part.AsString())
			if len(part.AsString()) > 3 {
				l.e.secrets = append(l.e.secrets, part.AsString())
			}
		}
		return true, nil
	})
}

// Variable describes a variable block for commands that ask for values.
type Variable struct {
	Name, Description string
	Required          bool
}

// Variables lists the variables that a spec declares, in order, without
// evaluating anything else. Files that cannot be parsed have none.
func Variables(path string) ([]Variable, error) {
	_, files, err := readSources(path)
	if err != nil {
		return nil, fmt.Errorf("read spec: %w", err)
	}
	l := newLoader("", LoadOptions{Env: os.LookupEnv})
	l.parse(files)
	var vars []Variable
	for _, b := range l.blocks["variable"] {
		vars = append(vars, Variable{
			Name:        b.Labels[0],
			Description: l.literal(b.Body.Attributes["description"], cty.String).AsString(),
			Required:    b.Body.Attributes["default"] == nil,
		})
	}
	return slices.Clip(vars), nil
}
