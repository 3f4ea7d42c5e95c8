package spec

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// maxProducts bounds setproduct, whose result grows with every argument.
const maxProducts = 100_000

// sensitive marks values that no message may show.
type sensitive struct{}

// functions are those that expressions may call. None reads a clock or a
// random source: a spec means the same tomorrow.
func functions(w *world) map[string]function.Function {
	all := pureFunctions()
	maps.Copy(all, readingFunctions(w))
	return all
}

func pureFunctions() map[string]function.Function {
	return map[string]function.Function{
		"abs":             stdlib.AbsoluteFunc,
		"basename":        textFunction("Last element of a path.", path.Base),
		"can":             tryfunc.CanFunc,
		"ceil":            stdlib.CeilFunc,
		"chomp":           stdlib.ChompFunc,
		"chunklist":       stdlib.ChunklistFunc,
		"coalesce":        stdlib.CoalesceFunc,
		"coalescelist":    stdlib.CoalesceListFunc,
		"compact":         stdlib.CompactFunc,
		"concat":          stdlib.ConcatFunc,
		"contains":        stdlib.ContainsFunc,
		"csvdecode":       stdlib.CSVDecodeFunc,
		"dirname":         textFunction("A path without its last element.", path.Dir),
		"distinct":        stdlib.DistinctFunc,
		"element":         stdlib.ElementFunc,
		"endswith":        affixFunction(strings.HasSuffix),
		"flatten":         stdlib.FlattenFunc,
		"floor":           stdlib.FloorFunc,
		"format":          guarded(stdlib.FormatFunc, boundedFormat),
		"formatlist":      guarded(stdlib.FormatListFunc, boundedFormat),
		"indent":          guarded(stdlib.IndentFunc, boundedIndent),
		"index":           stdlib.IndexFunc,
		"int":             stdlib.IntFunc,
		"join":            stdlib.JoinFunc,
		"jsondecode":      stdlib.JSONDecodeFunc,
		"jsonencode":      stdlib.JSONEncodeFunc,
		"keys":            stdlib.KeysFunc,
		"length":          lengthFunction(),
		"log":             stdlib.LogFunc,
		"lookup":          stdlib.LookupFunc,
		"lower":           stdlib.LowerFunc,
		"max":             stdlib.MaxFunc,
		"merge":           stdlib.MergeFunc,
		"min":             stdlib.MinFunc,
		"parseint":        stdlib.ParseIntFunc,
		"pow":             stdlib.PowFunc,
		"range":           stdlib.RangeFunc,
		"regex":           stdlib.RegexFunc,
		"regexall":        stdlib.RegexAllFunc,
		"regexreplace":    stdlib.RegexReplaceFunc,
		"replace":         stdlib.ReplaceFunc,
		"reverse":         stdlib.ReverseListFunc,
		"setintersection": stdlib.SetIntersectionFunc,
		"setproduct":      guarded(stdlib.SetProductFunc, boundedProduct),
		"setsubtract":     stdlib.SetSubtractFunc,
		"setunion":        stdlib.SetUnionFunc,
		"signum":          stdlib.SignumFunc,
		"slice":           stdlib.SliceFunc,
		"sort":            stdlib.SortFunc,
		"split":           stdlib.SplitFunc,
		"startswith":      affixFunction(strings.HasPrefix),
		"strrev":          stdlib.ReverseFunc,
		"substr":          stdlib.SubstrFunc,
		"sum":             sumFunction(),
		"title":           stdlib.TitleFunc,
		"tobool":          stdlib.MakeToFunc(cty.Bool),
		"tolist":          stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)),
		"tomap":           stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
		"tonumber":        stdlib.MakeToFunc(cty.Number),
		"toset":           stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
		"tostring":        stdlib.MakeToFunc(cty.String),
		"trim":            stdlib.TrimFunc,
		"trimprefix":      stdlib.TrimPrefixFunc,
		"trimspace":       stdlib.TrimSpaceFunc,
		"trimsuffix":      stdlib.TrimSuffixFunc,
		"try":             tryfunc.TryFunc,
		"upper":           stdlib.UpperFunc,
		"values":          stdlib.ValuesFunc,
		"zipmap":          stdlib.ZipmapFunc,
	}
}

// readingFunctions are those that look outside the spec; w notes what they read.
func readingFunctions(w *world) map[string]function.Function {
	return map[string]function.Function{
		"env": envFunction(w),
		"file": newFunction("Text of a file beside the spec.", cty.String, []string{"path"}, func(args []string) (cty.Value, error) {
			text, err := w.file(args[0])
			return cty.StringVal(text), err
		}),
		"fileexists": newFunction("Whether there is a file of that name.", cty.Bool, []string{"path"}, func(args []string) (cty.Value, error) {
			return cty.BoolVal(w.exists(args[0])), nil
		}),
		"fileset": newFunction("Files below a folder that match a pattern, sorted.", cty.List(cty.String), []string{"folder", "pattern"}, func(args []string) (cty.Value, error) {
			names, err := w.fileset(args[0], args[1])
			if err != nil || len(names) == 0 {
				return cty.ListValEmpty(cty.String), err
			}
			values := make([]cty.Value, len(names))
			for i, n := range names {
				values[i] = cty.StringVal(n)
			}
			return cty.ListVal(values), nil
		}),
	}
}

// newFunction makes a function whose arguments are all strings.
func newFunction(doc string, result cty.Type, names []string, call func([]string) (cty.Value, error)) function.Function {
	params := make([]function.Parameter, len(names))
	for i, n := range names {
		params[i] = function.Parameter{Name: n, Type: cty.String}
	}
	return function.New(&function.Spec{
		Description: doc,
		Params:      params,
		Type:        function.StaticReturnType(result),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			texts := make([]string, len(args))
			for i, a := range args {
				texts[i] = a.AsString()
			}
			return call(texts)
		},
	})
}

func textFunction(doc string, f func(string) string) function.Function {
	return newFunction(doc, cty.String, []string{"path"}, func(args []string) (cty.Value, error) {
		return cty.StringVal(f(args[0])), nil
	})
}

func affixFunction(f func(s, affix string) bool) function.Function {
	return newFunction("Whether a text begins or ends so.", cty.Bool, []string{"text", "affix"}, func(args []string) (cty.Value, error) {
		return cty.BoolVal(f(args[0], args[1])), nil
	})
}

// envFunction takes the variable's name and, optionally, what to use when it is
// not set. The result is marked: environment variables may hold secrets.
func envFunction(w *world) function.Function {
	return function.New(&function.Spec{
		Description: "Value of an environment variable, or the default when it is not set.",
		Params:      []function.Parameter{{Name: "name", Type: cty.String}},
		VarParam:    &function.Parameter{Name: "default", Type: cty.String},
		Type:        function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if len(args) > 2 {
				return cty.NilVal, errors.New("takes a name and at most one default")
			}
			name := args[0].AsString()
			value, ok := w.lookup(name)
			switch {
			case ok:
				return cty.StringVal(value).Mark(sensitive{}), nil
			case len(args) == 2:
				return args[1], nil
			}
			return cty.NilVal, function.NewArgErrorf(0, "the environment variable %s is not set; a second argument would be its default", name)
		},
	})
}

// lengthFunction counts elements, or a text's characters as a reader would.
func lengthFunction() function.Function {
	return function.New(&function.Spec{
		Description: "Number of elements, or of characters of a text.",
		Params:      []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType}},
		Type:        function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			switch t := args[0].Type(); {
			case t == cty.String:
				return stdlib.Strlen(args[0])
			case t.IsTupleType() || t.IsObjectType() || t.IsCollectionType():
				return cty.NumberIntVal(int64(args[0].LengthInt())), nil
			default:
				return cty.NilVal, function.NewArgErrorf(0, "a %s has no length", t.FriendlyName())
			}
		},
	})
}

func sumFunction() function.Function {
	return function.New(&function.Spec{
		Description: "Sum of a list of numbers.",
		Params:      []function.Parameter{{Name: "numbers", Type: cty.List(cty.Number)}},
		Type:        function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			sum := cty.Zero
			for _, v := range args[0].AsValueSlice() {
				if v.IsNull() {
					return cty.NilVal, function.NewArgErrorf(0, "a null has no sum")
				}
				sum = sum.Add(v)
			}
			return sum, nil
		},
	})
}

// guarded is a function that asks check about its arguments first.
func guarded(f function.Function, check func(args []cty.Value) error) function.Function {
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      f.Params(),
		VarParam:    f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if err := check(args); err != nil {
				return cty.NilType, err
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	})
}

func boundedProduct(args []cty.Value) error {
	n := 1
	for _, a := range args {
		if a.IsNull() || !a.IsKnown() || !a.CanIterateElements() {
			return nil // the function itself has the words for it
		}
		if n *= a.LengthInt(); n > maxProducts {
			return fmt.Errorf("the product has more than %d elements", maxProducts)
		}
	}
	return nil
}

// wideVerb finds formatting verbs with a width or precision of five digits or more.
var wideVerb = regexp.MustCompile(`%[^%a-zA-Z]*[0-9]{5}`)

func boundedFormat(args []cty.Value) error {
	if v := args[0]; v.IsKnown() && !v.IsNull() && v.Type() == cty.String && wideVerb.MatchString(v.AsString()) {
		return function.NewArgErrorf(0, "widths of more than 9999 are not supported")
	}
	return nil
}

func boundedIndent(args []cty.Value) error {
	if v := args[0]; v.IsKnown() && !v.IsNull() && v.AsBigFloat().Cmp(big.NewFloat(1000)) > 0 {
		return function.NewArgErrorf(0, "more than 1000 spaces are not supported")
	}
	return nil
}

// Functions returns the names of the functions that expressions may call, sorted.
func Functions() []string {
	return slices.Sorted(maps.Keys(functions(nil)))
}
