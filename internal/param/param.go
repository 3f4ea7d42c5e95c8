// Package param reads the parameter structs of kinds. A field's tags say all
// that a user needs to know, so that decoding, diagnostics, documentation and
// keys come from one place:
//
//	MaxTokens int `hcl:"max_tokens" default:"350" unit:"tokens" min:"1" doc:"Longest chunk."`
//
//	hcl      the attribute's name (required)
//	default  the value when it is not set; a field without one must be set
//	doc      one sentence (required)
//	unit     the unit of a number
//	min, max bounds of a number, inclusive
//	enum     the allowed values of a string, or of a list's strings, separated by "|"
//	path     "true" for a local path: relative to the spec, kept out of keys
//	ref      a factor's name: the value names options of that factor
//	key      "-" for a value that cannot change a result, kept out of keys; "set" for a
//	         parameter that came after others: its default is kept out of keys, which
//	         leaves those that there were
//	at       "search" for what an index is searched with, not built with; "order" for
//	         what only orders scores that are computed without it
//	lines    "true" for a list of strings that may also be written as one text, an item
//	         a line: blank lines and those that begin with "# " are passed over
//	example  what a spec may write, for documentation, such as ["dense", "lexical"]
//
// Fields may be string, bool, int, float64, or slices of string, int and
// float64, or map[string]string.
package param

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Field describes one parameter.
type Field struct {
	Name     string
	Doc      string
	Unit     string
	Default  string // as written in the tag
	Required bool
	Enum     []string
	Min, Max *float64
	Path     bool
	Ref      string
	Example  string // an expression of the spec language, or empty
	InKey    bool
	// IfSet says of a field in the key that its default is none there: see
	// [Field.Keyed].
	IfSet bool
	// Lines allows a text instead of a list: see [Lines].
	Lines bool
	// At is "search" for what an index is searched with, not built with, "order" for
	// what only orders scores that are computed without it.
	At    string
	Type  reflect.Type
	index int
}

// Error says that a parameter's value cannot be used.
type Error struct {
	Attribute string
	Problem   string
}

func (e *Error) Error() string { return e.Attribute + ": " + e.Problem }

// Errorf makes an [*Error].
func Errorf(attribute, format string, args ...any) *Error {
	return &Error{Attribute: attribute, Problem: fmt.Sprintf(format, args...)}
}

// known holds the fields of struct types that were read before: reading tags is
// slow, and a plan asks for them thousands of times.
var known sync.Map // reflect.Type → []Field

// Fields lists the parameters of the struct that p points to, in order. The
// slice is shared and must not be changed.
func Fields(p any) ([]Field, error) {
	t := reflect.TypeOf(p)
	if fields, ok := known.Load(t); ok {
		return fields.([]Field), nil
	}
	fields, err := read(t)
	if err == nil {
		known.Store(t, fields)
	}
	return fields, err
}

func read(t reflect.Type) ([]Field, error) {
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is not a pointer to a struct", t)
	}
	t = t.Elem()
	fields := make([]Field, 0, t.NumField())
	for i := range t.NumField() {
		f, err := field(t.Field(i))
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t.Name(), t.Field(i).Name, err)
		}
		f.index = i
		fields = append(fields, f)
	}
	return fields, nil
}

// MustFields is like [Fields] and panics on a struct that breaks the rules.
func MustFields(p any) []Field {
	fields, err := Fields(p)
	if err != nil {
		panic("param: " + err.Error())
	}
	return fields
}

func field(s reflect.StructField) (Field, error) {
	tag := s.Tag
	f := Field{Name: tag.Get("hcl"), Doc: tag.Get("doc"), Unit: tag.Get("unit"), Ref: tag.Get("ref"), At: tag.Get("at"), Example: tag.Get("example"), Type: s.Type}
	if f.Name == "" || f.Doc == "" {
		return f, fmt.Errorf("lacks an hcl or doc tag")
	}
	var set bool
	f.Default, set = tag.Lookup("default")
	f.Required = !set
	f.Path = tag.Get("path") == "true"
	f.InKey = !f.Path && tag.Get("key") != "-"
	if f.IfSet = tag.Get("key") == "set"; f.IfSet && (f.Required || !f.InKey) {
		return f, fmt.Errorf("a key only where it is set is for one with a default, and not for a path")
	}
	if f.Lines = tag.Get("lines") == "true"; f.Lines && f.Type != reflect.TypeFor[[]string]() {
		return f, fmt.Errorf("lines are for a list of strings")
	}
	if e := tag.Get("enum"); e != "" {
		f.Enum = strings.Split(e, "|")
	}
	var err error
	if f.Min, err = bound(tag.Get("min")); err != nil {
		return f, err
	}
	if f.Max, err = bound(tag.Get("max")); err != nil {
		return f, err
	}
	if set {
		if _, err := parse(s.Type, f.Default); err != nil {
			return f, fmt.Errorf("default: %w", err)
		}
	}
	return f, nil
}

func bound(s string) (*float64, error) {
	if s == "" {
		return nil, nil
	}
	v, err := strconv.ParseFloat(s, 64)
	return &v, err
}

// SetDefaults fills the struct that p points to with its fields' defaults.
func SetDefaults(p any) {
	v := reflect.ValueOf(p).Elem()
	for _, f := range MustFields(p) {
		if f.Required {
			continue
		}
		d, err := parse(f.Type, f.Default)
		if err != nil {
			panic("param: " + err.Error())
		}
		v.Field(f.index).Set(d)
	}
}

// parse reads a default; lists are separated by commas.
func parse(t reflect.Type, s string) (reflect.Value, error) {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Bool:
		b, err := strconv.ParseBool(s)
		if err != nil {
			return v, err
		}
		v.SetBool(b)
	case reflect.Int:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return v, err
		}
		v.SetInt(n)
	case reflect.Float64:
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return v, err
		}
		v.SetFloat(x)
	case reflect.Slice:
		if s == "" {
			return v, nil
		}
		for part := range strings.SplitSeq(s, ",") {
			e, err := parse(t.Elem(), part)
			if err != nil {
				return v, err
			}
			v = reflect.Append(v, e)
		}
	case reflect.Map:
		if t != reflect.TypeFor[map[string]string]() && t != reflect.TypeFor[map[string]float64]() || s != "" {
			return v, fmt.Errorf("a map must be one of strings or of numbers (float64) by string, with an empty default")
		}
	default:
		return v, fmt.Errorf("type %s is not supported", t)
	}
	return v, nil
}

// Keyed reports whether the field's value in the struct that p points to is part of
// keys.
func (f Field) Keyed(p any) bool {
	if !f.IfSet {
		return f.InKey
	}
	usual, err := parse(f.Type, f.Default)
	if err != nil {
		panic("param: " + err.Error())
	}
	return !reflect.DeepEqual(f.Get(p), usual.Interface())
}

// Get returns the field's value in the struct that p points to.
func (f Field) Get(p any) any { return reflect.ValueOf(p).Elem().Field(f.index).Interface() }

// Set stores a value of the field's type in the struct that p points to.
func (f Field) Set(p, value any) {
	reflect.ValueOf(p).Elem().Field(f.index).Set(reflect.ValueOf(value))
}

// Check reports the field's value in the struct that p points to when it is
// outside its bounds or not one of the allowed ones.
func (f Field) Check(p any) error { return f.CheckValue(f.Get(p)) }

// CheckValue is [Field.Check] for a value of the field's type.
func (f Field) CheckValue(value any) error {
	switch v := value.(type) {
	case int:
		return f.checkNumber(float64(v))
	case float64:
		return f.checkNumber(v)
	case string:
		return f.checkText(v)
	case []string:
		for _, item := range v {
			if err := f.checkText(item); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f Field) checkText(v string) error {
	if f.Enum != nil && !slices.Contains(f.Enum, v) {
		return Errorf(f.Name, "%q is not one of %s", v, strings.Join(f.Enum, ", "))
	}
	return nil
}

func (f Field) checkNumber(v float64) error {
	switch {
	case v != v:
		return Errorf(f.Name, "is not a number")
	case f.Min != nil && v < *f.Min:
		return Errorf(f.Name, "%v is less than %v", v, *f.Min)
	case f.Max != nil && v > *f.Max:
		return Errorf(f.Name, "%v is more than %v", v, *f.Max)
	}
	return nil
}

// Lines returns the items of a text for a field with lines.
func Lines(text string) []string {
	items := []string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		if line != "" && line != "#" && !strings.HasPrefix(line, "# ") {
			items = append(items, line)
		}
	}
	return items
}

// TypeName is the field's type in the words of the spec language.
func (f Field) TypeName() string {
	switch f.Type.Kind() {
	case reflect.Int:
		return "whole number"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		if f.Lines {
			return "list of strings, or a text with one a line"
		}
		return "list of " + (Field{Type: f.Type.Elem()}).TypeName() + "s"
	case reflect.Map:
		return "map of " + (Field{Type: f.Type.Elem()}).TypeName() + "s"
	default:
		return f.Type.Kind().String()
	}
}
