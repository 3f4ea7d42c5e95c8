package main

import (
	"fmt"
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
		applyHuman: h, running: map[*engine.Stage]*runningStage{}, every: time.Minute, now: time.Now,
		done: make(chan struct{}), ended: make(chan struct{}),
	}
}

func (v *applyPlain) begin(s *workspace.Session, p *engine.Plan) {
	fmt.Fprint(v.err, crossLine(s.Experiment))
	fmt.Fprintln(v.err, summaryLine(workspace.Summarise(p), s.Experiment.Budget.Seconds))
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
			fmt.Fprintf(v.err, "%s: done in %s — %s\n", e.Stage.Address, rounded(e.Wall.Seconds()), e.Reason)
		}
	case engine.EventWarning:
		fmt.Fprintf(v.err, "warning: %s\n", eventText(e))
	default:
		if e.Type == engine.EventErrored {
			delete(v.running, e.Stage)
		}
		if e.Type != engine.EventBlocked {
			fmt.Fprintln(v.err, eventText(e))
		}
	}
}

func (v *applyPlain) end(out *engine.Outcomes) {
	close(v.done)
	<-v.ended
	if line := outcomeLine(out); line != "" {
		fmt.Fprintf(v.err, "%s\n\n", line)
	}
}
