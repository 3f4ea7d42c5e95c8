package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"raglab/engine"
	"raglab/internal/param"
	"raglab/spec"
)

// fitting says where the values of tuned parameters come from while a pipeline
// is built: given, for a candidate, or the choice of a tune stage.
type fitting struct {
	given  map[string]cty.Value     // by tune name
	chosen map[string]*engine.Stage // the stage that fits it, by tune name
	group  map[string]string        // the variable's name in that stage, by tune name
}

// choice is an option with its parameters in one configuration.
type choice struct {
	opt    *spec.Option
	cfg    *spec.Configuration
	name   string // the label, with what else tells it apart
	params any
	// late are the tuned parameters whose value an input will decide: the
	// attribute and the tune names that it reads.
	late map[string][]string
	fit  fitting
	veil func(engine.Value) engine.Value
	// kept are all its fields, where they were asked to be kept.
	kept []engine.Field
}

// choose evaluates an option. The parameters of a choice that waits for a tune
// stage are those of the grids' first values.
func (b *builder) choose(opt *spec.Option, cfg *spec.Configuration, fit fitting) (*choice, error) {
	if varies(opt) {
		return b.newChoice(opt, cfg, fit)
	}
	c, ok := b.chosen[opt]
	if !ok {
		var err error
		if c, err = b.newChoice(opt, cfg, fit); err != nil {
			return nil, err
		}
		b.chosen[opt] = c
	}
	return c, nil
}

// varies tells whether an option's parameters differ between configurations.
func varies(opt *spec.Option) bool { return len(opt.AxisRefs())+len(opt.TuneRefs()) > 0 }

func (b *builder) newChoice(opt *spec.Option, cfg *spec.Configuration, fit fitting) (*choice, error) {
	c := &choice{opt: opt, cfg: cfg, fit: fit, veil: b.veil}
	tunes := opt.TuneRefs()
	values := fit.given
	if len(tunes) > 0 && fit.given == nil {
		values = b.firsts
		c.late = opt.TunedFields()
	}
	params, diags := b.exp.Params(opt, cfg, values)
	if diags.HasErrors() {
		return nil, diags
	}
	c.params = params
	c.name = b.choiceName(opt, cfg, tunes, fit)
	return c, nil
}

// choiceName is the option's label, followed by the values of free axes and
// tuned parameters that its own parameters read.
func (b *builder) choiceName(opt *spec.Option, cfg *spec.Configuration, tunes []string, fit fitting) string {
	axes := opt.AxisRefs()
	if len(axes)+len(tunes) == 0 {
		return opt.Label
	}
	var more []string
	for _, a := range axes {
		more = append(more, a+"="+cfg.Label(a))
	}
	if fit.given != nil {
		for _, t := range tunes {
			more = append(more, t+"="+valueText(fit.given[t]))
		}
	} else {
		for _, t := range tunes {
			more = append(more, fit.group[t])
		}
	}
	return opt.Label + "(" + strings.Join(more, ",") + ")"
}

func valueText(v cty.Value) string {
	switch {
	case v.Type() == cty.Number:
		return v.AsBigFloat().Text('g', -1)
	case v.Type() == cty.String:
		return v.AsString()
	case v.Type() == cty.Bool:
		return fmt.Sprint(v.True())
	}
	return v.GoString()
}

// fields are what of the choice enters a key: the kind, its version, and each
// parameter that the filter admits. References to other options are left out:
// those are inputs.
func (c *choice) fields(version string, admit func(param.Field) bool) []engine.Field {
	if admit == nil && c.kept != nil {
		return c.kept
	}
	prefix := c.opt.Factor + "."
	params := keyedParams(c.opt.Factor, c.params, c.veil, func(f param.Field) bool {
		// What a late one will be is not known yet.
		return (c.late[f.Name] != nil || f.Keyed(c.params)) && (admit == nil || admit(f))
	})
	fields := make([]engine.Field, 0, len(params)+8) // others are added to them
	fields = append(fields,
		engine.Field{Class: engine.Params, Path: prefix + "kind", Value: c.opt.Kind},
		engine.Field{Class: engine.Code, Path: c.opt.Factor + " " + c.opt.Kind, Value: version})
	for _, f := range params {
		if tunes, ok := c.late[strings.TrimPrefix(f.Path, prefix)]; ok {
			f.Value = map[string]engine.Value{engine.LateMark: strings.Join(tunes, ",")}
		}
		fields = append(fields, f)
	}
	return fields
}

// keep makes the fields of a choice that rows share once. It is called while a pipeline
// is built, by one goroutine.
func (c *choice) keep(version string) {
	if c.kept == nil && !varies(c.opt) {
		c.kept = slices.Clip(c.fields(version, nil))
	}
}

// paramFields are the parameters that enter a key, with secrets veiled.
func paramFields(factor string, params any, veil func(engine.Value) engine.Value, admit func(param.Field) bool) []engine.Field {
	return keyedParams(factor, params, veil, func(f param.Field) bool { return f.Keyed(params) && (admit == nil || admit(f)) })
}

// keyedParams are those of the parameters that may be in a key and are kept.
func keyedParams(factor string, params any, veil func(engine.Value) engine.Value, keep func(param.Field) bool) []engine.Field {
	all := param.MustFields(params)
	fields := make([]engine.Field, 0, len(all))
	for _, f := range all {
		if !f.InKey || f.Ref != "" || !keep(f) {
			continue
		}
		fields = append(fields, engine.Field{Class: engine.Params, Path: factor + "." + f.Name, Value: veil(engine.Canonical(f.Get(params)))})
	}
	return fields
}

// veil puts a hash in the place of a value that holds a secret: keys are made of
// fields that anybody may read.
func (b *builder) veil(v engine.Value) engine.Value {
	if len(b.exp.Secrets()) == 0 {
		return v
	}
	if text := fmt.Sprint(v); b.exp.Hide()(text) == text {
		return v
	}
	sum := sha256.Sum256(engine.AppendValue(nil, v))
	return "sensitive, SHA-256 " + hex.EncodeToString(sum[:])
}

// lateInputs are the inputs that decide the choice's tuned parameters.
func (c *choice) lateInputs() []engine.Input {
	if len(c.late) == 0 {
		return nil
	}
	stages := map[string]*engine.Stage{}
	for _, tunes := range c.late {
		for _, t := range tunes {
			s := c.fit.chosen[t]
			stages[s.Address] = s
		}
	}
	var in []engine.Input
	for _, a := range slices.Sorted(maps.Keys(stages)) {
		in = append(in, engine.Input{Name: "chosen by " + a, From: stages[a], Output: "choice", Late: true})
	}
	return in
}

// lateTunes are the tunes that the late parameters read.
func (c *choice) lateTunes() []string {
	var names []string
	for _, tunes := range c.late {
		names = append(names, tunes...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// atBuild is the choice as far as an index is built with it: a parameter that is
// only searched with does not wait for its tuning, and neither its axis nor its
// tune names an index.
func (c *choice) atBuild() *choice {
	done := *c
	done.late = map[string][]string{}
	tuned, crossed, named := c.opt.TunedFields(), c.opt.AxisFields(), false
	for _, f := range param.MustFields(c.params) {
		_, fitted := tuned[f.Name]
		if !buildTime(f) || !fitted && !slices.Contains(crossed, f.Name) {
			continue
		}
		named = true
		if tunes, ok := c.late[f.Name]; ok {
			done.late[f.Name] = tunes
		}
	}
	if !named {
		done.name = c.opt.Label
	}
	return &done
}

// resolve returns the choice as it is once the tune stages have chosen.
func (b *builder) resolve(c *choice, read func(string) ([]byte, error)) (*choice, error) {
	if len(c.late) == 0 {
		return c, nil
	}
	values := maps.Clone(b.firsts)
	for _, t := range c.lateTunes() {
		raw, err := read("chosen by " + c.fit.chosen[t].Address)
		if err != nil {
			return nil, err
		}
		var chosen map[string]int
		if err := json.Unmarshal(raw, &chosen); err != nil {
			return nil, fmt.Errorf("read choice of %s: %w", t, err)
		}
		tune := b.exp.Tune(t)
		i, ok := chosen[c.fit.group[t]]
		if !ok || i < 0 || i >= len(tune.Grid) {
			return nil, fmt.Errorf("the choice of %s is not in its grid", t)
		}
		values[t] = tune.Grid[i]
	}
	params, diags := b.exp.Params(c.opt, c.cfg, values)
	if diags.HasErrors() {
		return nil, diags
	}
	done := *c
	done.params, done.late = params, nil
	return &done, nil
}
