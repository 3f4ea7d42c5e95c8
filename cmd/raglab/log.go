package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"raglab/cache"
	"raglab/engine/workspace"
)

const logHelp = `Usage: raglab log [EXPERIMENT [RUN]] [flags]

Shows what applies did. Without arguments lists the runs of all experiments,
newest first; with an experiment, its runs; with a run, or "last", what ran, why,
how long it took and under which key.

  -slowest             order a run's stages by time
  -critical-path       show the chain of stages that the run had to wait for
  -json                one JSON object a line
  -cache DIR           use this cache folder (or RAGLAB_CACHE)

Exit codes: 0 done, 1 error.
`

func logCommand() command {
	return command{"log", "show what applies ran, why and how long", logHelp, runLog}
}

type logArgs struct {
	specArgs
	slowest, critical, json bool
}

func runLog(_ context.Context, t terminal, argv []string) int {
	var a logArgs
	set := flag.NewFlagSet("log", flag.ContinueOnError)
	a.register(set)
	set.BoolVar(&a.slowest, "slowest", false, "")
	set.BoolVar(&a.critical, "critical-path", false, "")
	set.BoolVar(&a.json, "json", false, "")
	rest, err := parseFlags(t, set, logHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	w, err := a.workspace(t, "raglab log", true)
	if err != nil {
		return t.fail("log", err)
	}
	defer closing(t, w.Close)
	switch len(rest) {
	case 0, 1:
		err = a.list(t, w.Cache, rest)
	case 2:
		err = a.show(t, w.Cache, rest[0], rest[1])
	default:
		err = errors.New("give an experiment and a run")
	}
	if err != nil {
		return t.fail("log", err)
	}
	return exitOK
}

// listed is a run in the list of runs.
type listed struct {
	Type       string             `json:"type"` // "run"
	Experiment string             `json:"experiment"`
	ID         string             `json:"id"`
	State      string             `json:"state"`
	Begin      workspace.LogLine  `json:"begin"`
	End        *workspace.LogLine `json:"end,omitempty"`
}

// list shows one line for each run.
func (a logArgs) list(t terminal, c *cache.Local, experiments []string) error {
	all := len(experiments) == 0
	if all {
		var err error
		if experiments, err = c.Experiments(); err != nil {
			return err
		}
	}
	var runs []listed
	width := 0
	for _, e := range experiments {
		found, err := listRuns(t, c, e)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			width = max(width, utf8.RuneCountInString(e))
		}
		runs = append(runs, found...)
	}
	if len(runs) == 0 && !all {
		return fmt.Errorf("there is no run of %s", experiments[0])
	}
	slices.SortStableFunc(runs, func(x, y listed) int { return cmp.Compare(y.ID, x.ID) })
	enc := json.NewEncoder(t.out)
	for _, r := range runs {
		if a.json {
			if err := enc.Encode(r); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(t.out, "%-*s %s  %s  %s\n", width, r.Experiment, r.ID, r.Begin.Time.Local().Format(time.DateTime), r.State)
	}
	return nil
}

// listRuns reads the logs of an experiment. One that cannot be read is told of.
func listRuns(t terminal, c *cache.Local, experiment string) ([]listed, error) {
	runs, err := c.Runs(experiment)
	if err != nil {
		return nil, err
	}
	var out []listed
	for _, r := range runs {
		l, err := readRunLog(c, experiment, r.ID)
		if err != nil {
			t.warn(err.Error())
			continue
		}
		out = append(out, listed{"run", experiment, r.ID, runState(l), l.Begin, l.End})
	}
	return out, nil
}

// runState is how a run ended, in words.
func runState(l *workspace.Log) string {
	executed, failed := 0, 0
	for _, s := range l.Stages {
		switch s.State {
		case "executed":
			executed++
		case "failed":
			failed++
		}
	}
	text := fmt.Sprintf("%d of %d stages planned, %d run", l.Begin.Planned, l.Begin.Stages, executed)
	switch {
	case l.End == nil:
		return text + ", killed or still going"
	case l.End.Interrupted:
		return text + ", interrupted"
	case l.End.OverBudget:
		return text + ", stopped by its budget"
	case failed > 0:
		return fmt.Sprintf("%s, %d failed", text, failed)
	}
	return fmt.Sprintf("%s in %s", text, rounded(l.End.Time.Sub(l.Begin.Time).Seconds()))
}

func readRunLog(c *cache.Local, experiment, id string) (*workspace.Log, error) {
	r, err := c.OpenRun(experiment, id)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return workspace.ReadLog(id, r)
}

func (a logArgs) show(t terminal, c *cache.Local, experiment, id string) error {
	if id == "last" {
		runs, err := c.Runs(experiment)
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			return fmt.Errorf("there is no run of %s", experiment)
		}
		id = runs[0].ID
	}
	l, err := readRunLog(c, experiment, id)
	if err != nil {
		return err
	}
	stages := l.Stages
	switch {
	case a.critical:
		stages = criticalPath(stages)
	case a.slowest:
		stages = slices.Clone(stages)
		slices.SortStableFunc(stages, func(x, y workspace.LogLine) int { return cmp.Compare(y.WallMS, x.WallMS) })
	}
	if a.json {
		enc := json.NewEncoder(t.out)
		for _, s := range stages {
			if err := enc.Encode(s); err != nil {
				return err
			}
		}
		return nil
	}
	fmt.Fprintf(t.out, "%s %s, %s\n%s\n", experiment, id, runState(l), l.Begin.Command)
	for _, s := range stages {
		line := fmt.Sprintf("%-11s %9s  %s  %s", s.State, duration(s.WallMS), short(s.Key), s.Address)
		if s.Where != "" {
			line += "  on " + s.Where
		}
		if why := cmp.Or(s.Error, s.Reason.String()); why != "" {
			line += "  — " + strings.ReplaceAll(why, "\n", " ")
		}
		fmt.Fprintln(t.out, line)
	}
	return nil
}

func duration(ms float64) string {
	if ms == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f ms", ms)
}

func short(key string) string { return key[:min(12, len(key))] }

// criticalPath is the chain of stages that ran, each an input of the next, that
// took longest together: no number of processors would have made it shorter.
func criticalPath(stages []workspace.LogLine) []workspace.LogLine {
	type end struct {
		total float64
		from  int
	}
	place := map[string]int{}
	ends := make([]end, len(stages))
	best := -1
	for i, s := range stages {
		ends[i] = end{s.WallMS, -1}
		for _, in := range s.Inputs {
			if j, ok := place[in]; ok && ends[j].total+s.WallMS > ends[i].total {
				ends[i] = end{ends[j].total + s.WallMS, j}
			}
		}
		place[s.Address] = i
		if best < 0 || ends[i].total > ends[best].total {
			best = i
		}
	}
	var path []workspace.LogLine
	for i := best; i >= 0; i = ends[i].from {
		path = append(path, stages[i])
	}
	slices.Reverse(path)
	return path
}
