package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"raglab/engine"
	"raglab/engine/workspace"
)

// applyTTY draws the kinds of stage as a tree, with the stages that run below
// them, and keeps it up to date in place.
type applyTTY struct {
	applyHuman
	locked
	kinds   []*kindProgress
	started time.Time
	drawn   int
	notes   []string // lines to leave above the tree
	now     func() time.Time
	done    chan struct{}
	ended   chan struct{}
}

// kindProgress is one kind of stage in the tree.
type kindProgress struct {
	name        string
	planned     int
	finished    int
	failed      int
	running     []*runningStage
	stages      []*engine.Stage // parallel to running
	spent, left time.Duration
}

func newApplyTTY(h applyHuman) *applyTTY {
	return &applyTTY{applyHuman: h, now: time.Now}
}

func (v *applyTTY) begin(s *workspace.Session, p *engine.Plan) {
	fmt.Fprint(v.err, crossLine(s.Experiment))
	fmt.Fprintln(v.err, summaryLine(workspace.Summarise(p), s.Experiment.Budget))
	v.expect(p)
	// A staged cross is applied several times with one view.
	v.done, v.ended = make(chan struct{}), make(chan struct{})
	go v.keepDrawing()
}

// expect takes over what a plan says is to be done.
func (v *applyTTY) expect(p *engine.Plan) {
	v.started, v.kinds = v.now(), nil
	for i := range p.Stages {
		ps := &p.Stages[i]
		if ps.Outcome == engine.WillRun || ps.Outcome == engine.Maybe {
			k := v.kind(ps.Stage.Kind.Name)
			k.planned++
			k.left += ps.Estimate
		}
	}
}

func (v *applyTTY) kind(name string) *kindProgress {
	for _, k := range v.kinds {
		if k.name == name {
			return k
		}
	}
	k := &kindProgress{name: name}
	v.kinds = append(v.kinds, k)
	return k
}

func (v *applyTTY) keepDrawing() {
	defer close(v.ended)
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-v.done:
			v.draw(true)
			return
		case <-ticker.C:
			v.draw(false)
		}
	}
}

func (v *applyTTY) event(e engine.Event) {
	v.Lock()
	defer v.Unlock()
	k := v.kind(e.Stage.Kind.Name)
	at := slices.Index(k.stages, e.Stage)
	switch e.Type {
	case engine.EventStart:
		k.stages = append(k.stages, e.Stage)
		k.running = append(k.running, &runningStage{since: v.now()})
		return
	case engine.EventProgress:
		if at >= 0 {
			k.running[at].last = e
		}
		return
	case engine.EventComplete:
		k.finished++
		k.spent += e.Wall
	case engine.EventErrored:
		k.failed++
	case engine.EventBlocked, engine.EventVerified:
		return
	default:
		v.notes = append(v.notes, eventText(e))
		return
	}
	if at >= 0 {
		k.stages = slices.Delete(k.stages, at, at+1)
		k.running = slices.Delete(k.running, at, at+1)
	}
}

func (v *applyTTY) interrupted() {
	v.Lock()
	defer v.Unlock()
	v.notes = append(v.notes, v.stopping())
}

func (v *applyTTY) end(out *engine.Outcomes) {
	close(v.done)
	<-v.ended
	v.outcome(out)
}

// draw writes the tree over the one before.
func (v *applyTTY) draw(last bool) {
	v.Lock()
	defer v.Unlock()
	width, height, err := term.GetSize(int(v.screen.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	lines := v.tree(width)
	// What does not fit could not be drawn over again.
	lines = lines[:min(len(lines), max(1, height-2))]
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", v.drawn)
	}
	for _, n := range v.notes {
		b.WriteString("\x1b[2K" + n + "\n")
	}
	v.notes = nil
	for _, l := range lines {
		b.WriteString("\x1b[2K" + clipWidth(l, width) + "\n")
	}
	b.WriteString("\x1b[J")
	v.drawn = len(lines)
	if last {
		v.drawn = 0
	}
	fmt.Fprint(v.err, b.String())
}

func clipWidth(s string, width int) string {
	r := []rune(s)
	switch {
	case len(r) <= width:
		return s
	case width < 1:
		return ""
	}
	return string(r[:width-1]) + "…"
}

// tree is what is drawn: a line for each kind, with those that run below it.
func (v *applyTTY) tree(width int) []string {
	if len(v.kinds) == 0 {
		return nil // nothing to do, which the plan's line has said
	}
	now := v.now()
	planned, finished := 0, 0
	var lines []string
	for i, k := range v.kinds {
		planned, finished = planned+k.planned, finished+k.finished
		branch, stem := "├─", "│ "
		if i == len(v.kinds)-1 {
			branch, stem = "└─", "  "
		}
		lines = append(lines, fmt.Sprintf("%s %s %-16s %s %d/%d%s", branch, k.sign(), k.name, bar(k.finished, k.planned, 20), k.finished, k.planned, k.trouble()))
		for j, r := range k.running {
			lines = append(lines, fmt.Sprintf("%s   %s %s", stem, k.stages[j].Address, r.text(now)))
		}
	}
	head := fmt.Sprintf("%s %d/%d stages, %s", bar(finished, planned, min(40, width/3)), finished, planned, rounded(now.Sub(v.started).Seconds()))
	if eta := v.eta(now); eta > 0 {
		head += ", about " + rounded(eta.Seconds()) + " left"
	}
	return append([]string{head}, lines...)
}

// eta is how long the rest may take: by earlier measurements where there are
// any, else by the stages done; 0 when nothing is known.
func (v *applyTTY) eta(now time.Time) time.Duration {
	var left time.Duration
	finished, remaining := 0, 0
	for _, k := range v.kinds {
		rest := max(0, k.planned-k.finished-k.failed)
		finished, remaining = finished+k.finished, remaining+rest
		if k.planned > 0 {
			left += k.left * time.Duration(rest) / time.Duration(k.planned)
		}
	}
	if left > 0 || finished == 0 {
		return left
	}
	return now.Sub(v.started) * time.Duration(remaining) / time.Duration(finished)
}

func (k *kindProgress) sign() string {
	switch {
	case k.failed > 0:
		return "✗"
	case len(k.running) > 0:
		return "▶"
	case k.finished >= k.planned:
		return "✓"
	}
	return "·"
}

func (k *kindProgress) trouble() string {
	if k.failed == 0 {
		return ""
	}
	return fmt.Sprintf(", %d failed", k.failed)
}

// text is how far a stage is, how fast, and when it will be done.
func (r *runningStage) text(now time.Time) string {
	e := r.last
	spent := now.Sub(r.since)
	if e.Type != engine.EventProgress || e.Done == 0 {
		return rounded(spent.Seconds())
	}
	rate := float64(e.Done) / max(spent.Seconds(), 0.001)
	if e.Total == 0 {
		return fmt.Sprintf("%d %s, %.0f/s", e.Done, e.Unit, rate)
	}
	left := float64(e.Total-e.Done) / rate
	return fmt.Sprintf("%s %d/%d %s, %.0f/s, %s left", bar(int(e.Done), int(e.Total), 12), e.Done, e.Total, e.Unit, rate, rounded(left))
}

func bar(done, total, width int) string {
	if total <= 0 {
		return strings.Repeat("─", width)
	}
	full := min(width, done*width/total)
	return strings.Repeat("━", full) + strings.Repeat("─", width-full)
}
