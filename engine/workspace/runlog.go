package workspace

import (
	"encoding/json"
	"fmt"
	"io"
	"syscall"
	"time"

	"raglab/cache"
	"raglab/engine"
)

// LogLine is one line of a run log: the first tells of the apply, one follows
// for each stage that did not simply stay in the cache, and the last sums up.
// An apply that was killed has no last line.
type LogLine struct {
	Type string    `json:"type"` // "begin", "stage" or "end"
	Time time.Time `json:"time"`

	// Of the first line.
	Version  int    `json:"version,omitempty"`
	Program  string `json:"program,omitempty"`
	Command  string `json:"command,omitempty"`
	Stages   int    `json:"stages,omitempty"`
	Planned  int    `json:"planned,omitempty"`
	Spec     string `json:"spec,omitempty"`
	PID      int    `json:"pid,omitempty"`
	Machine  string `json:"machine,omitempty"`
	Finished bool   `json:"-"`

	// Of a stage's line.
	Address string        `json:"address,omitempty"`
	Key     string        `json:"key,omitempty"`
	State   string        `json:"state,omitempty"` // executed, hit, shared, elsewhere, failed, blocked, interrupted
	Reason  engine.Reason `json:"reason,omitzero"`
	WallMS  float64       `json:"wall_ms,omitempty"`
	CPUMS   float64       `json:"cpu_ms,omitempty"`
	Bytes   int64         `json:"bytes,omitempty"`
	Attempt int           `json:"attempt,omitempty"`
	Error   string        `json:"error,omitempty"`
	Inputs  []string      `json:"inputs,omitempty"`
	// Where is the worker that ran it; empty for the process that wrote the log.
	Where string `json:"where,omitempty"`

	// Of the last line.
	Executed    int   `json:"executed,omitempty"`
	Cached      int   `json:"cached,omitempty"`
	Failed      int   `json:"failed,omitempty"`
	Interrupted bool  `json:"interrupted,omitempty"`
	OverBudget  bool  `json:"over_budget,omitempty"`
	PeakBytes   int64 `json:"peak_bytes,omitempty"`
	// PaidUSD is what runs were billed for.
	PaidUSD float64 `json:"paid_usd,omitempty"`
}

// logVersion is the version of the run log's form.
const logVersion = 1

// runLog writes an apply's log. An apply that has nothing to do leaves none.
type runLog struct {
	run  *cache.RunLog
	err  error
	hide func(string) string // keeps secrets out of texts
}

func (s *Session) openLog(plan *engine.Plan, o ApplyOptions) (*runLog, error) {
	todo := plan.Count(engine.WillRun) + plan.Count(engine.Maybe) + plan.Count(engine.Blocked)
	if todo == 0 && o.Verify == 0 {
		return &runLog{hide: s.Experiment.Redact()}, nil
	}
	now := time.Now()
	run, err := s.Cache.CreateRun(s.Experiment.Name, cache.NewRunID(now))
	if err != nil {
		return nil, fmt.Errorf("begin run log: %w", err)
	}
	l := &runLog{run: run, hide: s.Experiment.Redact()}
	l.write(LogLine{
		Type: "begin", Time: now.UTC(), Version: logVersion, Program: s.Version, Command: l.hide(o.Reason),
		Stages: len(plan.Stages), Planned: todo, Spec: s.Experiment.Digest, PID: syscall.Getpid(), Machine: machine(),
	})
	return l, nil
}

func (l *runLog) write(line LogLine) {
	if l.run != nil && l.err == nil {
		l.err = l.run.Append(line)
	}
}

// event notes what came of a stage; interrupted says that the apply was when a
// stage ended with an error.
func (l *runLog) event(e engine.Event, interrupted bool) {
	line := LogLine{Type: "stage", Time: e.Time.UTC(), Key: e.Key.String(), Reason: e.Reason, Where: e.Where}
	switch e.Type {
	case engine.EventComplete:
		line.State, line.WallMS, line.CPUMS = string(e.Completion), millis(e.Wall), millis(e.CPU)
		line.Bytes, line.Attempt = e.Bytes, e.Attempt
		for _, in := range e.Stage.Inputs {
			line.Inputs = append(line.Inputs, in.From.Address)
		}
	case engine.EventErrored:
		line.State, line.Error = "failed", l.hide(e.Err.Error())
		if interrupted {
			line.State = "interrupted"
		}
	case engine.EventBlocked:
		line.State, line.Error = "blocked", "needs "+e.Message
	default:
		return
	}
	line.Address = e.Stage.Address
	l.write(line)
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (l *runLog) close(out *engine.Outcomes) error {
	if l.run == nil {
		return nil
	}
	line := LogLine{Type: "end", Time: time.Now().UTC(), PeakBytes: peakBytes()}
	if out != nil {
		line.Executed, line.Cached, line.Failed = out.Executed, out.Cached, len(out.Failures)
		line.Interrupted, line.OverBudget = out.Interrupted, out.OverBudget != ""
		line.PaidUSD = out.PaidUSD
	}
	l.write(line)
	err := l.run.Close()
	if l.err != nil {
		err = l.err
	}
	if err != nil {
		return fmt.Errorf("write run log: %w", err)
	}
	return nil
}

// peakBytes is the most memory this process has had.
func peakBytes() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Maxrss * 1024
}

// Log is a run log that was read.
type Log struct {
	ID    string
	Begin LogLine
	// Stages are the lines of stages, in order.
	Stages []LogLine
	// End is nil when the apply was killed.
	End *LogLine
}

// ReadLog reads a run log. A last line that was cut short by a crash is left
// out.
func ReadLog(id string, r io.Reader) (*Log, error) {
	l := &Log{ID: id}
	dec := json.NewDecoder(r)
	for {
		var line LogLine
		if err := dec.Decode(&line); err != nil {
			if l.Begin.Type == "" {
				return nil, fmt.Errorf("read run log %s: %w", id, err)
			}
			return l, nil
		}
		switch line.Type {
		case "begin":
			l.Begin = line
		case "stage":
			l.Stages = append(l.Stages, line)
		case "end":
			l.End = &line
		}
	}
}
