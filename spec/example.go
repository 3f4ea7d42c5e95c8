package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"raglab/internal/param"
)

// Example returns a block of a spec that uses the kind: what it requires, what
// has an example in its struct, or else its first parameter.
func Example(c Catalog, factor string, k KindInfo) string {
	lines := exampleLines(c, param.MustFields(k.Params()))
	isSlot := slices.ContainsFunc(c.Factors(), func(f FactorInfo) bool { return f.Name == factor })
	var text string
	switch {
	case isSlot && len(lines) == 0:
		text = fmt.Sprintf("fixed %q { use = %q }", factor, k.Name)
	case isSlot:
		text = fmt.Sprintf("fixed %q {\n%s\n%s}", factor, exampleBlock(fmt.Sprintf("option %q", k.Name), lines), exampleLegs(c, factor, k))
	case factor == sourceFactor:
		text = exampleBlock(fmt.Sprintf("corpus %q", k.Name), lines)
	default:
		text = exampleBlock(fmt.Sprintf("%s %q", factor, k.Name), lines)
	}
	return string(hclwrite.Format([]byte(text)))
}

// exampleBlock writes a block on one line when it can be.
func exampleBlock(head string, lines []string) string {
	switch len(lines) {
	case 0:
		return head + " {}"
	case 1:
		return head + " { " + lines[0] + " }"
	default:
		return head + " {\n" + strings.Join(lines, "\n") + "\n}"
	}
}

func exampleLines(c Catalog, fields []param.Field) []string {
	var lines []string
	for _, f := range fields {
		if f.Required || f.Example != "" {
			lines = append(lines, f.Name+" = "+exampleValue(c, f))
		}
	}
	if len(lines) == 0 && len(fields) > 0 {
		lines = append(lines, fields[0].Name+" = "+exampleValue(c, fields[0]))
	}
	return lines
}

// exampleValue is an expression that the parameter accepts.
func exampleValue(c Catalog, f param.Field) string {
	switch {
	case f.Example != "":
		return f.Example
	case len(f.Enum) > 0 && f.Default == "":
		return strconv.Quote(f.Enum[0])
	case f.Ref != "":
		return exampleRefs(c, f)
	}
	switch f.Type.Kind() {
	case reflect.Bool, reflect.Int, reflect.Float64:
		return exampleNumber(f)
	case reflect.Slice:
		return exampleList(f)
	case reflect.Map:
		return "{}"
	}
	switch {
	case f.Default != "":
		return strconv.Quote(f.Default)
	case f.Path:
		return `"path/to/` + f.Name + `"`
	}
	return `"…"`
}

func exampleNumber(f param.Field) string {
	switch {
	case f.Default != "":
		return f.Default
	case f.Type.Kind() == reflect.Bool:
		return "true"
	case f.Min != nil:
		return decimal(*f.Min)
	}
	return "1"
}

func exampleList(f param.Field) string {
	if f.Default == "" {
		return "[]"
	}
	parts := strings.Split(f.Default, ",")
	if f.Type.Elem().Kind() == reflect.String {
		for i, s := range parts {
			parts[i] = strconv.Quote(s)
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// exampleLegs are the legs that a kind's example refers to.
func exampleLegs(c Catalog, factor string, k KindInfo) string {
	var b strings.Builder
	for _, f := range param.MustFields(k.Params()) {
		if f.Ref != factor || f.Example != "" {
			continue
		}
		for _, name := range exampleRefNames(c, f) {
			fmt.Fprintf(&b, "leg %s {}\n", name)
		}
	}
	return b.String()
}

// exampleRefNames are, quoted, two kinds of the factor referred to that refer to
// nothing, or one where there is room for one.
func exampleRefNames(c Catalog, f param.Field) []string {
	most := 2
	if f.Type.Kind() == reflect.String {
		most = 1
	}
	var names []string
	for _, k := range c.Kinds(f.Ref) {
		refers := slices.ContainsFunc(param.MustFields(k.Params()), func(p param.Field) bool { return p.Ref != "" })
		if !refers && len(names) < most {
			names = append(names, strconv.Quote(k.Name))
		}
	}
	return names
}

func exampleRefs(c Catalog, f param.Field) string {
	names := exampleRefNames(c, f)
	if f.Type.Kind() == reflect.String && len(names) > 0 {
		return names[0]
	}
	return "[" + strings.Join(names, ", ") + "]"
}
