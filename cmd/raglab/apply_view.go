package main

import (
	"fmt"
	"os"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"golang.org/x/term"

	"raglab/engine"
	"raglab/engine/workspace"
	"raglab/internal/report"
	"raglab/spec"
)

// applyView shows an apply while it goes on and what came of it.
type applyView interface {
	diagnostics(exp *spec.Experiment, diags hcl.Diagnostics)
	begin(s *workspace.Session, p *engine.Plan)
	event(e engine.Event)
	// end is called once no more events come; the outcomes may be nil.
	end(out *engine.Outcomes)
	results(r *report.Report, written []writtenOutput, complete bool)
	failures(out *engine.Outcomes)
}

func newApplyView(t terminal, a applyArgs) (applyView, error) {
	if a.json {
		return &applyJSON{terminal: t, events: newEvents(t.out)}, nil
	}
	mode := a.progress
	if a.quiet {
		mode = "quiet"
	}
	human := applyHuman{terminal: t}
	switch mode {
	case "auto":
		if f, ok := t.err.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("CI") == "" {
			return newApplyTTY(human, f), nil
		}
		return newApplyPlain(human), nil
	case "tty":
		f, ok := t.err.(*os.File)
		if !ok || !term.IsTerminal(int(f.Fd())) {
			return nil, fmt.Errorf("-progress=tty needs a terminal on standard error")
		}
		return newApplyTTY(human, f), nil
	case "plain":
		return newApplyPlain(human), nil
	case "quiet":
		return &applyQuiet{human}, nil
	}
	return nil, fmt.Errorf("-progress is auto, tty, plain or quiet, not %q", mode)
}

// applyHuman is what the views for people have in common. Progress goes to
// standard error, results to standard output.
type applyHuman struct{ terminal }

func (v applyHuman) diagnostics(exp *spec.Experiment, diags hcl.Diagnostics) {
	v.showDiagnostics(exp, diags)
}

func (v applyHuman) results(r *report.Report, written []writtenOutput, complete bool) {
	if err := report.WriteText(v.out, r.Tables()); err != nil {
		fmt.Fprintln(v.err, err)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(v.out, "\n"+n)
	}
	if !complete {
		fmt.Fprintln(v.out, "No output was written.")
		return
	}
	if len(written) > 0 {
		fmt.Fprintln(v.out)
	}
	for _, w := range written {
		state := "unchanged"
		if w.Changed {
			state = "written"
		}
		fmt.Fprintf(v.out, "%s (%s)\n", w.Path, state)
	}
}

// failures tells each root cause once, at the end.
func (v applyHuman) failures(out *engine.Outcomes) {
	for _, d := range out.Different {
		fmt.Fprintf(v.err, "\nDifferent: %s\n  %v\n", d.Stage.Address, d.Err)
	}
	for _, f := range out.Failures {
		blocked := 0
		for i, state := range out.State {
			if state == engine.StateBlocked && i != f.Stage.Index() {
				blocked++
			}
		}
		fmt.Fprintf(v.err, "\nError: %s\n  %v\n", f.Stage.Address, f.Err)
		if len(out.Failures) == 1 && blocked > 0 {
			fmt.Fprintf(v.err, "  %d stages need it and did not run.\n", blocked)
		}
	}
	if out.Interrupted {
		fmt.Fprintln(v.err, "\nInterrupted. What was finished is kept; raglab apply goes on from here.")
	}
	if out.OverBudget {
		fmt.Fprintln(v.err, "\nThe budget of seconds is spent. What was finished is kept; raglab apply goes on from here.")
	}
}

func outcomeLine(out *engine.Outcomes) string {
	if out == nil {
		return ""
	}
	line := fmt.Sprintf("Apply: %d run, %d cached", out.Executed, out.Cached+out.Hits+out.Shared)
	if out.Hits > 0 {
		line += fmt.Sprintf(" (%d of them because an input came out equal)", out.Hits)
	}
	if out.Verified > 0 {
		line += fmt.Sprintf(", %d verified, %d different", out.Verified, len(out.Different))
	}
	if n := len(out.Failures); n > 0 {
		line += fmt.Sprintf(", %d failed", n)
	}
	blocked := 0
	for _, s := range out.State {
		if s == engine.StateBlocked {
			blocked++
		}
	}
	if blocked > 0 {
		line += fmt.Sprintf(", %d blocked", blocked)
	}
	return line + "."
}

// applyQuiet shows results and failures only.
type applyQuiet struct{ applyHuman }

func (*applyQuiet) begin(*workspace.Session, *engine.Plan) {}

func (v *applyQuiet) event(e engine.Event) {
	if e.Type == engine.EventWarning {
		fmt.Fprintf(v.err, "warning: %s: %s\n", e.Stage.Address, e.Message)
	}
}

func (*applyQuiet) end(*engine.Outcomes) {}

// applyJSON shows an apply to a program.
type applyJSON struct {
	terminal
	*events
}

func (v *applyJSON) diagnostics(exp *spec.Experiment, diags hcl.Diagnostics) {
	v.events.diagnostics(exp, diags)
}

func (v *applyJSON) begin(_ *workspace.Session, p *engine.Plan) { v.summary(p) }

func (v *applyJSON) event(e engine.Event) {
	args := []any{"stage", e.Stage.Address, "key", e.Key.String()}
	switch e.Type {
	case engine.EventStart:
		args = append(args, "reason", raw(e.Reason), "attempt", e.Attempt)
	case engine.EventProgress:
		args = append(args, "done", e.Done, "total", e.Total, "unit", e.Unit)
	case engine.EventComplete:
		args = append(args, "how", string(e.Completion), "wall_ms", float64(e.Wall.Microseconds())/1000, "bytes", e.Bytes)
	case engine.EventWaiting:
		args = append(args, "holder", raw(e.Holder))
	}
	if e.Err != nil {
		args = append(args, "error", e.Err.Error())
	}
	v.emit(string(e.Type), eventText(e), args...)
}

func (v *applyJSON) end(*engine.Outcomes) {}

func (v *applyJSON) results(r *report.Report, written []writtenOutput, complete bool) {
	v.emit("result", "results", "report", raw(r), "complete", complete)
	for _, w := range written {
		v.emit("output", w.Path, "output", raw(w))
	}
}

func (v *applyJSON) failures(out *engine.Outcomes) {
	for _, f := range out.Failures {
		v.emit("diagnostic", f.Stage.Address+" failed", "diagnostic", raw(diagnosticJSON{
			Severity: "error", Summary: f.Stage.Address + " failed", Detail: f.Err.Error(),
		}))
	}
}

// eventText is an event in words.
func eventText(e engine.Event) string {
	switch e.Type {
	case engine.EventStart:
		return e.Stage.Address + ": " + e.Reason.String()
	case engine.EventComplete:
		return fmt.Sprintf("%s: %s in %s", e.Stage.Address, e.Completion, rounded(e.Wall.Seconds()))
	case engine.EventProgress:
		if e.Total == 0 {
			return fmt.Sprintf("%s: %d %s", e.Stage.Address, e.Done, e.Unit)
		}
		return fmt.Sprintf("%s: %d of %d %s", e.Stage.Address, e.Done, e.Total, e.Unit)
	case engine.EventWaiting:
		return fmt.Sprintf("%s: waiting for process %d of %s on %s (%s)", e.Stage.Address, e.Holder.PID, e.Holder.User, e.Holder.Host, e.Holder.Command)
	case engine.EventBlocked:
		return e.Stage.Address + ": needs " + e.Message
	}
	text := e.Stage.Address
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// locked guards a view that a ticker redraws while events arrive.
type locked struct{ sync.Mutex }
