package spec

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// roots are the first parts of names that an expression may read.
type roots uint8

const (
	rootVar roots = 1 << iota
	rootLocal
	rootAxis
	rootTune

	staticRoots = rootVar | rootLocal
	optionRoots = staticRoots | rootAxis | rootTune
)

var rootNames = map[string]roots{"var": rootVar, "local": rootLocal, "axis": rootAxis, "tune": rootTune}

// references are the names that expressions read, each list sorted.
type references struct {
	axes, tunes []string
}

func (r references) dynamic() bool { return len(r.axes) > 0 || len(r.tunes) > 0 }

func (r references) union(other references) references {
	return references{axes: merged(r.axes, other.axes), tunes: merged(r.tunes, other.tunes)}
}

func merged(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// inspect reports names that the expression may not read, or that nobody has
// defined, and returns the others. Evaluation would find them too, but not
// behind a condition, and with less to say.
func (l *loader) inspect(expr hclsyntax.Expression, allowed roots) (references, bool) {
	var refs references
	ok := true
	for _, t := range expr.Variables() {
		r, d := l.name(t, allowed)
		if d != nil {
			l.report(d)
			ok = false
		}
		refs = refs.union(r)
	}
	return refs, ok
}

func (l *loader) name(t hcl.Traversal, allowed roots) (references, *hcl.Diagnostic) {
	root := t.RootName()
	which, known := rootNames[root]
	switch {
	case !known:
		return references{}, errorAt(sumUnknownName, t.SourceRange(), "%s", unknownRoot(root, len(t) > 1))
	case allowed&which == 0:
		return references{}, errorAt(sumNotKnownHere, t.SourceRange(), "%s", notKnownHere(root))
	}
	step, ok := nameStep(t)
	if !ok {
		return l.wholeRoot(t, root)
	}
	return l.member(t, root, step)
}

func unknownRoot(root string, dotted bool) string {
	if !dotted {
		return fmt.Sprintf("There is nothing named %s. If it is a text, write it in quotes: %q.", root, root)
	}
	return fmt.Sprintf("There is nothing named %s; names begin with var, local, axis or tune.%s", root, hintOnly(root, sortedKeys(rootNames)))
}

func notKnownHere(root string) string {
	switch root {
	case "axis":
		return "axis is another for each configuration: it can be read in options, legs and the condition of an exclude block."
	case "tune":
		return "tune is only known once it has been fitted: it can be read in options and legs."
	default:
		return root + " cannot be read here."
	}
}

// nameStep returns what follows the root: x in var.x and var["x"].
func nameStep(t hcl.Traversal) (string, bool) {
	if len(t) < 2 {
		return "", false
	}
	switch step := t[1].(type) {
	case hcl.TraverseAttr:
		return step.Name, true
	case hcl.TraverseIndex:
		if step.Key.IsKnown() && !step.Key.IsNull() && step.Key.Type() == cty.String {
			return step.Key.AsString(), true
		}
	}
	return "", false
}

// wholeRoot handles an expression that reads all of a root at once.
func (l *loader) wholeRoot(t hcl.Traversal, root string) (references, *hcl.Diagnostic) {
	switch root {
	case "axis":
		return references{axes: slices.Sorted(slices.Values(l.factors))}, nil
	case "tune":
		return references{}, errorAt(sumUnknownTune, t.SourceRange(), "A tuned value is named, as in tune.NAME.")
	}
	return references{}, nil
}

func (l *loader) member(t hcl.Traversal, root, name string) (references, *hcl.Diagnostic) {
	at := t.SourceRange()
	switch root {
	case "var":
		if _, ok := l.vars[name]; !ok {
			return references{}, errorAt(sumUnknownVariable, at, "There is no variable %q block.%s", name, didYouMean(name, sortedKeys(l.vars)))
		}
	case "local":
		if _, ok := l.locals[name]; !ok {
			return references{}, errorAt(sumUnknownLocal, at, "No locals block has %s.%s", name, didYouMean(name, sortedKeys(l.locals)))
		}
	case "axis":
		if !slices.Contains(l.factors, name) {
			return references{}, errorAt(sumUnknownAxis, at, "There is no factor %q.%s", name, didYouMean(name, l.factors))
		}
		return references{axes: []string{name}}, nil
	case "tune":
		if !slices.Contains(l.tunes, name) {
			return references{}, errorAt(sumUnknownTune, at, "There is no tune %q block, which would have its grid.%s", name, didYouMean(name, l.tunes))
		}
		return references{tunes: []string{name}}, nil
	}
	return references{}, nil
}

// evaluate returns the value of an expression over var and local, without
// marks, and whether it is usable; what is wrong has then been reported.
func (l *loader) evaluate(expr hclsyntax.Expression) (cty.Value, bool) {
	if _, ok := l.inspect(expr, staticRoots); !ok {
		return cty.NilVal, false
	}
	v, diags := expr.Value(l.static)
	l.report(diags...)
	if diags.HasErrors() || !v.IsWhollyKnown() {
		return cty.NilVal, false
	}
	v, _ = v.UnmarkDeep()
	return v, true
}

// labelPattern is what labels of options are made of, so that they can stand
// in file names, in lists and on command lines without quoting.
var labelPattern = regexp.MustCompile(`^[\p{L}\p{M}\p{N}_][\p{L}\p{M}\p{N}_.:+@-]*$`)

func (l *loader) checkOptionLabel(label string, at hcl.Range) bool {
	if labelPattern.MatchString(label) {
		return true
	}
	l.report(errorAt(sumBadLabel, at, "The label %q must be made of letters, digits and _ . : + @ -, and begin with a letter, a digit or _.", label))
	return false
}

// checkName reports the label of a block that could not be read as var.NAME,
// axis.NAME or tune.NAME.
func (l *loader) checkName(b *hclsyntax.Block) bool {
	if hclsyntax.ValidIdentifier(b.Labels[0]) {
		return true
	}
	l.report(errorAt(sumBadName, b.LabelRanges[0], "The name %q must be made of letters, digits, _ and -, and begin with a letter.", b.Labels[0]))
	return false
}

// place names a line as compilers do.
func place(r hcl.Range) string { return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line) }

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
