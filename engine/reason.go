package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"raglab/cache"
)

// ReasonKind is why a stage is not served from the cache.
type ReasonKind string

// The closed set of reasons.
const (
	ReasonNone          ReasonKind = ""
	ReasonNew           ReasonKind = "new"            // never run in this experiment
	ReasonParams        ReasonKind = "params"         // a parameter differs
	ReasonCode          ReasonKind = "code"           // the implementation's version differs
	ReasonInput         ReasonKind = "input"          // an input's content differs
	ReasonModel         ReasonKind = "model"          // a model or another asset differs
	ReasonEnv           ReasonKind = "env"            // a declared environment value differs
	ReasonOutputMissing ReasonKind = "output_missing" // the result was removed
	ReasonCorrupt       ReasonKind = "corrupt"        // the result is damaged
	ReasonForced        ReasonKind = "forced"         // the user asked for it
	ReasonVolatile      ReasonKind = "volatile"       // follows a rerun that is not reproducible
	ReasonDerived       ReasonKind = "derived"        // an input will be made again
)

// Reason is why a stage is not served from the cache, with the first thing that
// differs from the last time.
type Reason struct {
	Kind ReasonKind `json:"kind"`
	// Field is what differs, Old and New its values as text, where one applies.
	// New says of a missing table what is wrong with it.
	Field string `json:"field,omitempty"`
	Old   string `json:"old,omitempty"`
	New   string `json:"new,omitempty"`
	// More counts further fields that differ.
	More int `json:"more,omitempty"`
}

// String is the reason in words.
func (r Reason) String() string {
	switch r.Kind {
	case ReasonNone:
		return ""
	case ReasonNew:
		return "never run"
	case ReasonOutputMissing:
		return "result missing: " + cmp.Or(r.New, r.Field)
	case ReasonCorrupt:
		return "result damaged: " + r.Field
	case ReasonForced:
		return "forced"
	case ReasonVolatile:
		return "follows " + r.Field + ", which may come out different"
	case ReasonDerived:
		return "follows " + r.Field
	}
	return r.difference()
}

func (r Reason) difference() string {
	var what string
	switch r.Kind {
	case ReasonParams:
		what = "parameter " + strings.TrimPrefix(r.Field, "params.")
	case ReasonCode:
		what = "version of " + r.Field
	case ReasonInput:
		what = "input changed: " + r.Field
	default:
		what = string(r.Kind) + " " + r.Field
	}
	if r.Old != "" || r.New != "" {
		what += ": " + orNone(r.Old) + " → " + orNone(r.New)
	}
	if r.More > 0 {
		what += fmt.Sprintf(" (and %d more)", r.More)
	}
	return what
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

// Compare finds the first thing in which two manifests of one address differ,
// and counts the others.
func Compare(old, now Manifest) Reason {
	found := Differences(old, now)
	if len(found) == 0 {
		return Reason{}
	}
	first := found[0]
	first.More = len(found) - 1
	return first
}

// Differences lists all in which two manifests differ: the version, then fields
// that changed and fields that came or went, in order of class and path, then
// inputs.
func Differences(old, now Manifest) []Reason {
	var found []Reason
	if old.Kind != now.Kind || old.Version != now.Version {
		found = append(found, Reason{Kind: ReasonCode, Field: "stage " + now.Kind, Old: old.Version, New: now.Version})
	}
	found = append(found, compareFields(old.Fields, now.Fields)...)
	return append(found, compareInputs(old.Inputs, now.Inputs)...)
}

// fieldID tells the fields of a manifest apart.
type fieldID struct {
	class Class
	path  string
}

func (f ManifestField) id() fieldID { return fieldID{f.Class, f.Path} }

func compareFields(old, now []ManifestField) []Reason {
	before := make(map[fieldID]Value, len(old))
	for _, f := range old {
		before[f.id()] = f.Value
	}
	// What changed tells more than what came or went with it: another kind
	// brings parameters of its own.
	var changed, cameOrWent []Reason
	for _, f := range now {
		k := f.id()
		was, ok := before[k]
		delete(before, k)
		if !ok {
			cameOrWent = append(cameOrWent, fieldReason(f.Class, f.Path, "", show(f.Value)))
		} else if !sameValue(was, f.Value) {
			changed = append(changed, fieldReason(f.Class, f.Path, show(was), show(f.Value)))
		}
	}
	for _, f := range old {
		if was, gone := before[f.id()]; gone {
			cameOrWent = append(cameOrWent, fieldReason(f.Class, f.Path, show(was), ""))
		}
	}
	return append(changed, cameOrWent...)
}

func fieldReason(class Class, path, old, now string) Reason {
	if class == Source {
		switch {
		case old == "":
			return Reason{Kind: ReasonInput, Field: path + " added"}
		case now == "":
			return Reason{Kind: ReasonInput, Field: path + " removed"}
		}
		return Reason{Kind: ReasonInput, Field: path}
	}
	return Reason{Kind: ReasonKind(class), Field: path, Old: old, New: now}
}

// sameValue compares two values of manifests. In stored ones all numbers are
// floats.
func sameValue(old, now Value) bool {
	old, now = plain(old), plain(now)
	switch old := old.(type) {
	case []Value, map[string]Value:
		return reflect.DeepEqual(old, now)
	default:
		return old == now
	}
}

// plain is a value as it comes back from JSON: all numbers are floats.
func plain(v Value) Value {
	return each(v, func(v Value) Value {
		if n, ok := v.(int64); ok {
			return float64(n)
		}
		return named(v)
	})
}

// writable is a value that JSON can write.
func writable(v Value) Value { return each(v, named) }

// named puts names in the place of the floats that JSON has no way to write.
func named(v Value) Value {
	if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return v
}

// each applies a function to what is neither list nor map in a value. Lists and
// maps may be as Canonical makes them or as encoding/json reads them.
func each(v Value, f func(Value) Value) Value {
	switch v := v.(type) {
	case []Value:
		return eachItem(v, f)
	case []any:
		return eachItem(v, f)
	case map[string]Value:
		return eachEntry(v, f)
	case map[string]any:
		return eachEntry(v, f)
	}
	return f(v)
}

func eachItem[T any](items []T, f func(Value) Value) Value {
	out := make([]Value, len(items))
	for i, e := range items {
		out[i] = each(e, f)
	}
	return out
}

func eachEntry[T any](m map[string]T, f func(Value) Value) Value {
	out := make(map[string]Value, len(m))
	for k, e := range m {
		out[k] = each(e, f)
	}
	return out
}

// show is a value in few characters.
func show(v Value) string {
	if s, ok := v.(string); ok {
		return clip(s)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return clip(string(b))
}

func clip(s string) string {
	r := []rune(s)
	if len(r) > 40 {
		return string(r[:39]) + "…"
	}
	return s
}

func compareInputs(old, now []ManifestInput) []Reason {
	before := make(map[string]cache.Digest, len(old))
	for _, in := range old {
		before[in.Name] = in.Digest
	}
	var found []Reason
	for _, in := range now {
		was, ok := before[in.Name]
		delete(before, in.Name)
		if !ok || was != in.Digest {
			found = append(found, Reason{Kind: ReasonInput, Field: in.From})
		}
	}
	for _, in := range old {
		if _, gone := before[in.Name]; gone {
			found = append(found, Reason{Kind: ReasonInput, Field: in.From + " no longer read"})
		}
	}
	return found
}
