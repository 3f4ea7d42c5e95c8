package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"raglab/engine"
	"raglab/engine/workspace"
	"raglab/internal/report"
)

// applyView shows an apply while it goes on and what came of it.
type applyView interface {
	begin(s *workspace.Session, p *engine.Plan)
	event(e engine.Event)
	// interrupted is called at the first interrupt, from any goroutine.
	interrupted()
	// end is called once no more events come; the outcomes may be nil.
	end(out *engine.Outcomes)
	results(r *report.Report, written []writtenOutput, complete bool)
	failures(out *engine.Outcomes)
}

func newApplyView(t terminal, a applyArgs) (applyView, error) {
	if t.events != nil {
		return &applyJSON{t.events}, nil
	}
	mode := a.progress
	if a.quiet {
		mode = "quiet"
	}
	human := applyHuman{terminal: t, away: a.on == onRiver}
	switch mode {
	case "auto":
		if t.screen != nil && os.Getenv("CI") == "" {
			return newApplyTTY(human), nil
		}
		return newApplyPlain(human), nil
	case "tty":
		if t.screen == nil {
			return nil, errors.New("-progress=tty needs a terminal on standard error")
		}
		return newApplyTTY(human), nil
	case "plain":
		return newApplyPlain(human), nil
	case "quiet":
		return &applyQuiet{human}, nil
	}
	return nil, fmt.Errorf("-progress is auto, tty, plain or quiet, not %q", mode)
}

// applyHuman is what the views for people have in common. Progress goes to
// standard error, results to standard output.
type applyHuman struct {
	terminal
	away bool // its stages run elsewhere
}

// textView is a view that shows results as one text, and so can show one that was
// kept.
type textView interface {
	show(text string, written []writtenOutput, complete bool)
}

func (v applyHuman) results(r *report.Report, written []writtenOutput, complete bool) {
	v.show(resultsText(r), written, complete)
}

// resultsText is the glance, the best rows, what mattered most, and the notes. It does
// not depend on the terminal or the view, since it is kept for the next apply.
func resultsText(r *report.Report) string {
	var b strings.Builder
	if !measured(r) {
		b.WriteString("No configuration is measured.\n")
	} else {
		_ = report.WriteText(&b, r.Brief(), report.Style{}) // a Builder takes all
	}
	for _, n := range r.Notes {
		b.WriteString("\n" + n + "\n")
	}
	if measured(r) {
		b.WriteString("\nraglab report prints all tables, raglab show NAME one configuration or question.\n")
	}
	return b.String()
}

func (v applyHuman) show(text string, written []writtenOutput, complete bool) {
	fmt.Fprint(v.out, v.style().Apply(text))
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

// measured reports whether there is anything to show in tables.
func measured(r *report.Report) bool {
	return slices.ContainsFunc(r.Configurations, func(c report.Configuration) bool { return c.Key != "" })
}

// failures tells each root cause once, at the end.
func (v applyHuman) failures(out *engine.Outcomes) {
	for _, p := range failureTexts(out) {
		fmt.Fprintln(v.err, "\n"+p)
	}
}

// failureTexts says in paragraphs what kept an apply from completing.
func failureTexts(out *engine.Outcomes) []string {
	var texts []string
	for _, c := range causesOf(out.Different) {
		texts = append(texts, "Different: "+c.where()+"\n"+indented(c.text))
	}
	causes := causesOf(out.Failures)
	for _, c := range causes {
		texts = append(texts, "Error: "+c.where()+"\n"+indented(c.text))
	}
	if n := countState(out, engine.StateBlocked); n > 0 {
		which := "them"
		if len(causes) == 1 && len(causes[0].stages) == 1 {
			which = "it"
		}
		texts = append(texts, fmt.Sprintf("%s %s did not run.", plural(n, "stage that needs", "stages that need"), which))
	}
	const goesOn = " What was finished is kept; raglab apply goes on from here."
	switch {
	case out.Detached:
		texts = append(texts, "Interrupted. The run goes on: the same command attaches to it again, raglab cancel ends it.")
	case out.Held:
		texts = append(texts, "Somebody else ended the run, by raglab cancel or for want of budget."+goesOn)
	case out.Interrupted:
		texts = append(texts, "Interrupted."+goesOn)
	}
	if out.OverBudget != "" {
		texts = append(texts, "The budget of "+out.OverBudget+" is spent."+goesOn)
	}
	return texts
}

// cause is a failure and the stages that it befell.
type cause struct {
	text   string
	stages []*engine.Stage
}

// causesOf joins the failures that say the same, such as those of shards.
func causesOf(failures []engine.Failure) []*cause {
	var causes []*cause
	by := map[string]*cause{}
	for _, f := range failures {
		text := f.Err.Error()
		c, ok := by[text]
		if !ok {
			c = &cause{text: text}
			by[text] = c
			causes = append(causes, c)
		}
		c.stages = append(c.stages, f.Stage)
	}
	return causes
}

// where names the stages of a cause.
func (c *cause) where() string {
	where := c.stages[0].Address
	if more := len(c.stages) - 1; more > 0 {
		where += " and " + plural(more, "more stage", "more stages")
	}
	return where
}

func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func countState(out *engine.Outcomes, state engine.StageState) int {
	n := 0
	for _, s := range out.State {
		if s == state {
			n++
		}
	}
	return n
}

// outcomeLine sums up an apply; empty when there was nothing to do, which the
// plan's line has said.
func outcomeLine(out *engine.Outcomes) string {
	if out == nil || out.Executed+out.Hits+out.Shared+out.Verified+len(out.Failures) == 0 && !out.Interrupted {
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
	if n := countState(out, engine.StateBlocked); n > 0 {
		line += fmt.Sprintf(", %d blocked", n)
	}
	return line + "."
}

// outcome sums up, and sets progress apart from the results that follow.
func (v applyHuman) outcome(out *engine.Outcomes) {
	if line := outcomeLine(out); line != "" {
		fmt.Fprintln(v.err, line)
	}
	fmt.Fprintln(v.err)
}

// What a person is told after an interrupt: who waits for the end, and who leaves.
const (
	stopping = "Interrupted: stages that run come to an end; interrupt again to stop at once."
	leaving  = "Interrupted: the run is left to its workers."
)

func (v applyHuman) stopping() string {
	if v.away {
		return leaving
	}
	return stopping
}

func (v applyHuman) interrupted() { fmt.Fprintln(v.err, v.stopping()) }

// applyQuiet shows results and failures only.
type applyQuiet struct{ applyHuman }

func (*applyQuiet) begin(*workspace.Session, *engine.Plan) {}

func (v *applyQuiet) event(e engine.Event) {
	if e.Type == engine.EventWarning {
		fmt.Fprintf(v.err, "warning: %s: %s\n", e.Stage.Address, e.Message)
	}
}

func (*applyQuiet) end(*engine.Outcomes) {}

func (v *applyQuiet) failures(out *engine.Outcomes) {
	if texts := failureTexts(out); len(texts) > 0 {
		fmt.Fprintln(v.err, strings.Join(texts, "\n\n"))
	}
}

// applyJSON shows an apply to a program.
type applyJSON struct{ *events }

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
	if e.Where != "" {
		args = append(args, "worker", e.Where)
	}
	if e.Err != nil {
		args = append(args, "error", e.Err.Error())
	}
	v.emit(string(e.Type), eventText(e), args...)
}

func (*applyJSON) interrupted() {}

func (v *applyJSON) end(*engine.Outcomes) {}

func (v *applyJSON) results(r *report.Report, written []writtenOutput, complete bool) {
	v.emit("result", "results", "report", raw(r), "complete", complete)
	for _, w := range written {
		v.emit("output", w.Path, "output", raw(w))
	}
}

func (v *applyJSON) failures(out *engine.Outcomes) {
	for _, c := range causesOf(out.Different) {
		v.cause(c, "came out different")
	}
	for _, c := range causesOf(out.Failures) {
		v.cause(c, "failed")
	}
}

func (v *applyJSON) cause(c *cause, what string) {
	summary := c.where() + " " + what
	v.emit("diagnostic", summary, "diagnostic", raw(diagnosticJSON{Severity: "error", Summary: summary, Detail: c.text}))
}

// eventText is an event in words.
func eventText(e engine.Event) string {
	switch e.Type {
	case engine.EventStart:
		return e.Stage.Address + ": " + e.Reason.String()
	case engine.EventComplete:
		return e.Stage.Address + ": " + completionText(e)
	case engine.EventProgress:
		if e.Total == 0 {
			return fmt.Sprintf("%s: %d %s", e.Stage.Address, e.Done, e.Unit)
		}
		return fmt.Sprintf("%s: %d of %d %s", e.Stage.Address, e.Done, e.Total, e.Unit)
	case engine.EventWaiting:
		if e.Message != "" {
			return fmt.Sprintf("%s: waits: %s", e.Stage.Address, e.Message)
		}
		return fmt.Sprintf("%s: waiting for %s", e.Stage.Address, e.Holder)
	case engine.EventBlocked:
		return e.Stage.Address + ": needs " + e.Message
	case engine.EventVerified:
		if e.Err != nil {
			return e.Stage.Address + ": made again, different"
		}
		return e.Stage.Address + ": made again, the same"
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

// completionText says how a stage came to its result.
func completionText(e engine.Event) string {
	switch e.Completion {
	case engine.Hit:
		return "in the cache, for an input came out equal"
	case engine.Shared:
		return "the same as another stage of this apply"
	case engine.Elsewhere:
		return "made by another process"
	}
	return "done in " + rounded(e.Wall.Seconds())
}

// locked guards a view that a ticker redraws while events arrive.
type locked struct{ sync.Mutex }
