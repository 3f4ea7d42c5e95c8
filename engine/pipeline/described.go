package pipeline

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"raglab/engine"
	"raglab/internal/param"
	"raglab/internal/report"
	"raglab/spec"
)

// details tells what the labels of the options stand for, and which kinds none of
// them is.
func (c *collector) details(r *report.Report) error {
	for _, f := range c.p.Experiment.Factors {
		if f.Free || !c.p.reads(f.Name) {
			continue
		}
		kinds := map[string]bool{}
		for _, o := range slices.Concat(f.Options, f.Legs) {
			d, err := c.detail(f, o)
			if err != nil {
				return err
			}
			r.Options = append(r.Options, d)
			kinds[o.Kind] = true
		}
		n := report.NotCrossed{Factor: f.Name}
		for _, o := range f.Options {
			n.Held = append(n.Held, o.Label)
		}
		for _, k := range (Catalog{}).Kinds(f.Name) {
			if !kinds[k.Name] {
				n.Kinds = append(n.Kinds, k.Name)
			}
		}
		if len(n.Kinds) > 0 {
			r.NotCrossed = append(r.NotCrossed, n)
		}
	}
	return nil
}

// reads reports whether some stage depends on the factor; every question passes
// through a chunker, a retriever and a reranker, be it none.
func (p *Pipeline) reads(factor string) bool {
	if factor == slotChunker || factor == slotRetriever || factor == slotReranker {
		return true
	}
	return slices.ContainsFunc(p.Graph.Stages, func(s *engine.Stage) bool {
		return slices.ContainsFunc(s.Fields, func(f engine.Field) bool { return strings.HasPrefix(f.Path, factor+".") })
	})
}

func (c *collector) detail(f *spec.Factor, o *spec.Option) (report.OptionDetail, error) {
	exp := c.p.Experiment
	cfg := c.rowWith(o)
	d := report.OptionDetail{Factor: f.Name, Label: o.Label, Kind: o.Kind}
	for _, leg := range exp.Refs(o, cfg) {
		d.Legs = append(d.Legs, leg.Label)
	}
	params, diags := exp.Params(o, cfg, exp.FirstOfGrids())
	if diags.HasErrors() {
		return d, diags
	}
	usual := usualParams(f.Name, o.Kind)
	tuned, crossed, hide := o.TunedFields(), o.AxisFields(), exp.Redact()
	for _, p := range param.MustFields(params) {
		if !p.InKey || p.Ref != "" {
			continue
		}
		value := ""
		switch {
		case len(tuned[p.Name]) > 0:
			value = "tune." + strings.Join(tuned[p.Name], ", tune.")
		case slices.Contains(crossed, p.Name):
			value = "axis." + strings.Join(o.AxisRefs(), ", axis.")
		default:
			raw, err := json.Marshal(p.Get(params))
			if err != nil {
				return d, fmt.Errorf("describe %s: %w", p.Name, err)
			}
			value = hide(string(raw))
		}
		s := report.Setting{Name: p.Name, Value: value}
		if usual != nil {
			s.Default = reflect.DeepEqual(p.Get(params), p.Get(usual))
		}
		d.Settings = append(d.Settings, s)
	}
	return d, nil
}

// usualParams are the parameters of a kind with every default set.
func usualParams(factor, kind string) any {
	for _, k := range (Catalog{}).Kinds(factor) {
		if k.Name == kind {
			return k.Params()
		}
	}
	return nil
}

// rowWith is the first row that chose the option, or the first of all for one that
// is only a leg.
func (c *collector) rowWith(o *spec.Option) *spec.Configuration {
	for _, row := range c.p.Rows {
		if row.Configuration.Option(o.Factor) == o {
			return row.Configuration
		}
	}
	if len(c.p.Rows) == 0 {
		return nil
	}
	return c.p.Rows[0].Configuration
}

// provenance says what the results were made of, as far as the pipeline knows.
func (c *collector) provenance() *report.Provenance {
	p := &report.Provenance{Program: "raglab " + c.p.instances.env.Version, Spec: c.p.Experiment.Digest}
	if f := c.p.Fetch; f != nil && c.out.State[f.Index()] == engine.StateDone {
		p.Corpus = c.out.Keys[f.Index()].String()
	}
	return p
}
