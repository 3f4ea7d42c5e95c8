package main

import (
	"encoding/json"
	"io"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/hcl/v2"

	"raglab/engine"
	"raglab/engine/workspace"
	"raglab/spec"
)

// events writes one JSON object a line, in go-hclog's form. The first has type
// "version"; the types are a closed list.
type events struct{ log hclog.Logger }

// eventsVersion rises when a type or field changes its meaning or goes.
const eventsVersion = "1.0"

// eventTypes is the closed list.
var eventTypes = []string{
	"version", "diagnostic", "planned_change", "change_summary", "apply_start", "apply_waiting", "apply_progress",
	"apply_retry", "apply_complete", "apply_errored", "apply_blocked", "apply_verified", "submitted", "warning", "asset", "result",
	"output",
}

func newEvents(w io.Writer) *events {
	e := (*events)(nil).to(w)
	e.log.Info("raglab "+version, "type", "version", "raglab", version, "events", eventsVersion)
	return e
}

// to goes on with events elsewhere.
func (*events) to(w io.Writer) *events {
	return &events{hclog.New(&hclog.LoggerOptions{Name: "raglab", Level: hclog.Info, Output: w, JSONFormat: true})}
}

// asked makes a terminal tell everything in events when the arguments ask for
// it. It looks before they are parsed, so that what is wrong with them is told
// in this form too.
func (t terminal) asked(argv []string) terminal {
	for _, a := range argv {
		switch a {
		case "-json", "--json", "-json=true", "--json=true":
			t.events = newEvents(t.out)
			return t
		case "--":
			return t
		}
	}
	return t
}

func (e *events) emit(kind, message string, args ...any) {
	e.log.Info(message, append([]any{"type", kind}, args...)...)
}

// problem tells of an error that is no diagnostic of a spec.
func (e *events) problem(err error) {
	e.emit("diagnostic", err.Error(), "diagnostic", raw(diagnosticJSON{Severity: "error", Summary: err.Error()}))
}

func (e *events) diagnostics(exp *spec.Experiment, diags hcl.Diagnostics) {
	for _, d := range diagnosticsJSON(exp, diags) {
		e.emit("diagnostic", d.Summary, "diagnostic", raw(d))
	}
}

// raw keeps a value's JSON form as it is: hclog would print structs its own way.
func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return b
}

func (e *events) summary(p *engine.Plan) {
	s := workspace.Summarise(p)
	e.emit("change_summary", summaryLine(s, spec.Budget{}), "changes", raw(s))
}

// planJSON shows a plan to a program.
type planJSON struct{ *events }

func (v planJSON) plan(_ *workspace.Session, p *engine.Plan) error {
	for i := range p.Stages {
		ps := &p.Stages[i]
		if ps.Outcome == "" {
			continue
		}
		v.emit("planned_change", ps.Stage.Address+": "+string(ps.Outcome), "change", raw(plannedChange{
			Address: ps.Stage.Address, Kind: ps.Stage.Kind.Name, Outcome: ps.Outcome, Reason: ps.Reason,
			Key: keyText(ps), PlanKey: ps.Stage.PlanKey().String(), Note: ps.Note, Forecast: ps.Forecast, Also: ps.Stage.Also(),
			EstimateSeconds: ps.Estimate.Seconds(),
		}))
	}
	for _, note := range p.Notes {
		v.emit("warning", note)
	}
	v.summary(p)
	return nil
}

type plannedChange struct {
	Address         string           `json:"address"`
	Kind            string           `json:"kind"`
	Outcome         engine.Outcome   `json:"outcome"`
	Reason          engine.Reason    `json:"reason,omitzero"`
	Key             string           `json:"key,omitempty"`
	PlanKey         string           `json:"plan_key"`
	Note            string           `json:"note,omitempty"`
	Forecast        *engine.Forecast `json:"forecast,omitempty"`
	Also            []string         `json:"also,omitempty"`
	EstimateSeconds float64          `json:"estimate_seconds,omitempty"`
}

func keyText(ps *engine.PlannedStage) string {
	if ps.Key.IsZero() {
		return ""
	}
	return ps.Key.String()
}
