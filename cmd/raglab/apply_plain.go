package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"raglab/engine"
	"raglab/engine/workspace"
)

// applyPlain writes a line when a stage ends and, for stages that take long,
// one when it has been running for a minute, and so on. It writes no control
// characters.
type applyPlain struct {
	applyHuman
	locked
	running map[*engine.Stage]*runningStage
	told    map[string]bool // errors, and what stages wait for
	every   time.Duration
	now     func() time.Time
	done    chan struct{}
	ended   chan struct{}
}

type runningStage struct {
	since, told time.Time
	last        engine.Event
}

func newApplyPlain(h applyHuman) *applyPlain {
	return &applyPlain{
		applyHuman: h, running: map[*engine.Stage]*runningStage{}, told: map[string]bool{}, every: time.Minute, now: time.Now,
	}
}

func (v *applyPlain) begin(s *workspace.Session, p *engine.Plan) {
	fmt.Fprint(v.err, crossLine(s.Experiment))
	fmt.Fprintln(v.err, summaryLine(workspace.Summarise(p), s.Experiment.Budget))
	// A staged cross is applied several times with one view.
	v.done, v.ended = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(v.ended)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-v.done:
				return
			case <-ticker.C:
				v.remind()
			}
		}
	}()
}

// remind says which stages are still running.
func (v *applyPlain) remind() {
	v.Lock()
	defer v.Unlock()
	now := v.now()
	for s, r := range v.running {
		if now.Sub(r.told) < v.every {
			continue
		}
		r.told = now
		text := ""
		if r.last.Type == engine.EventProgress && r.last.Total > 0 {
			text = fmt.Sprintf(", %d of %d %s", r.last.Done, r.last.Total, r.last.Unit)
		}
		fmt.Fprintf(v.err, "%s: still running after %s%s\n", s.Address, now.Sub(r.since).Round(time.Second), text)
	}
}

func (v *applyPlain) event(e engine.Event) {
	v.Lock()
	defer v.Unlock()
	switch e.Type {
	case engine.EventStart:
		now := v.now()
		v.running[e.Stage] = &runningStage{since: now, told: now}
	case engine.EventProgress:
		if r := v.running[e.Stage]; r != nil {
			r.last = e
		}
	case engine.EventComplete:
		delete(v.running, e.Stage)
		if e.Completion == engine.Executed {
			fmt.Fprintf(v.err, "%s — %s\n", eventText(e), e.Reason)
		}
	case engine.EventWaiting:
		// Who refuses a stage is asked again, for others of its kind too, and says the same.
		text := eventText(e)
		if why := cmp.Or(e.Message, text); !v.told[why] {
			v.told[why] = true
			fmt.Fprintln(v.err, text)
		}
	case engine.EventWarning:
		fmt.Fprintf(v.err, "warning: %s\n", eventText(e))
	case engine.EventErrored:
		delete(v.running, e.Stage)
		v.errored(e)
	case engine.EventBlocked:
	default:
		fmt.Fprintln(v.err, eventText(e))
	}
}

func (v *applyPlain) interrupted() {
	v.Lock()
	defer v.Unlock()
	v.applyHuman.interrupted()
}

// errored says that a stage failed, and the beginning of why when that is new:
// the rest stands at the end. One that was interrupted has not failed.
func (v *applyPlain) errored(e engine.Event) {
	if errors.Is(e.Err, errInterrupted) {
		fmt.Fprintf(v.err, "%s: interrupted\n", e.Stage.Address)
		return
	}
	first, _, _ := strings.Cut(e.Err.Error(), "\n")
	if v.told[first] {
		fmt.Fprintf(v.err, "%s: failed\n", e.Stage.Address)
		return
	}
	v.told[first] = true
	fmt.Fprintf(v.err, "%s: failed: %s\n", e.Stage.Address, first)
}

func (v *applyPlain) end(out *engine.Outcomes) {
	close(v.done)
	<-v.ended
	v.outcome(out)
}
