package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"raglab/engine/fleet"
	"raglab/engine/workspace"
)

const statusHelp = `Usage: raglab status [flags]

Shows what the queue on RAGLAB_DSN works on: runs that raglab apply -on river
submitted, from wherever, how far they are, which stages run where, and the workers.

  -since TIME          runs that ended since, too, as 2h (default 1h)
  -cache DIR           use this cache folder (or RAGLAB_CACHE)
  -json                one JSON object

raglab apply -on river SPEC attaches to a run of the same spec; raglab cancel ends one.

Exit codes: 0 done, 1 error.
`

func statusCommand() command {
	return command{"status", "what a queue works on, and who", statusHelp, runStatus}
}

func runStatus(ctx context.Context, t terminal, argv []string) int {
	var a specArgs
	since, asJSON := time.Hour, false
	set := flag.NewFlagSet("status", flag.ContinueOnError)
	a.register(set)
	set.Func("since", "", func(s string) (err error) { since, err = parseAge(s); return err })
	set.BoolVar(&asJSON, "json", false, "")
	rest, err := parseFlags(t, set, statusHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	if len(rest) > 0 {
		return t.fail("status", fmt.Errorf("status takes no argument, it shows all runs: %s", strings.Join(rest, " ")))
	}
	now := time.Now()
	err = a.asking(ctx, t, "raglab status", func(q *workspace.Queue) error {
		s, err := q.Status(ctx, now.Add(-since))
		if err != nil {
			return err
		}
		if asJSON {
			return writeFleetJSON(t.out, s)
		}
		writeFleet(t.out, s, now)
		return nil
	})
	if err != nil {
		return t.fail("status", err)
	}
	return exitOK
}

// asking opens the queue for a command that claims nothing.
func (a *specArgs) asking(ctx context.Context, t terminal, name string, do func(*workspace.Queue) error) error {
	w, err := a.workspace(t, name, true)
	if err != nil {
		return err
	}
	q, err := w.Queue(ctx, workspace.QueueOptions{})
	if err != nil {
		return errors.Join(err, w.Close())
	}
	return errors.Join(do(q), q.Close(), w.Close())
}

func writeFleet(w io.Writer, s fleet.Status, now time.Time) {
	if len(s.Runs) == 0 {
		fmt.Fprintln(w, "No run is at work.")
	}
	for _, r := range s.Runs {
		writeRun(w, r, now)
	}
	if len(s.Workers) == 0 {
		fmt.Fprintln(w, "\nNo worker serves the queue: raglab worker starts one.")
		return
	}
	fmt.Fprintf(w, "\n%s:\n", plural(len(s.Workers), "worker", "workers"))
	for _, k := range s.Workers {
		fmt.Fprintf(w, "  %s: %s, %s, raglab %s, for %s\n", k.Name, joined(k.Classes), plural(k.Claims, "stage", "stages"), k.Version, age(now.Sub(k.Since)))
	}
	for _, r := range s.Runs {
		writeUnserved(w, s, r)
	}
}

// fleetVersion rises when a field of the JSON form changes its meaning or goes.
const fleetVersion = 1

func writeFleetJSON(w io.Writer, s fleet.Status) error {
	s.Runs, s.Workers = append([]fleet.RunStatus{}, s.Runs...), append([]fleet.WorkerStatus{}, s.Workers...) // [], not null
	return json.NewEncoder(w).Encode(struct {
		Version int `json:"version"`
		fleet.Status
	}{fleetVersion, s})
}

func writeRun(w io.Writer, r fleet.RunStatus, now time.Time) {
	all := r.Waiting + r.Ready + r.Claimed + r.Done + r.Failed + r.Blocked
	fmt.Fprintf(w, "run %d: %s, %s: %d of %d stages done", r.ID, r.Experiment, r.State, r.Done, all)
	for _, c := range []struct {
		n    int
		what string
	}{{r.Claimed, "running"}, {r.Ready, "ready"}, {r.Waiting, "waiting"}, {r.Failed, "failed"}, {r.Blocked, "blocked"}} {
		if c.n > 0 {
			fmt.Fprintf(w, ", %d %s", c.n, c.what)
		}
	}
	if r.Ended.IsZero() {
		fmt.Fprintf(w, "; begun %s ago by %s\n", age(now.Sub(r.Begun)), r.By)
	} else {
		fmt.Fprintf(w, "; ended %s ago after %s, begun by %s\n", age(now.Sub(r.Ended)), age(r.Ended.Sub(r.Begun)), r.By)
	}
	for _, n := range r.Running {
		fmt.Fprintf(w, "  %s: on %s for %s", n.Address, n.Worker, age(now.Sub(n.Since)))
		if n.Total > 0 {
			fmt.Fprintf(w, ", %d of %d %s", n.Done, n.Total, n.Unit)
		}
		if n.Attempt > 1 {
			fmt.Fprintf(w, ", attempt %d", n.Attempt)
		}
		fmt.Fprintln(w)
	}
}

// age is a duration as people say it.
func age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// submitted tells of a run that was handed to a queue, and when nobody serves that.
func (a *applyArgs) submitted(ctx context.Context, t terminal, q *workspace.Queue) func(fleet.RunID) {
	return func(id fleet.RunID) {
		if t.events != nil {
			t.events.emit("submitted", fmt.Sprintf("run %d", id), "run", int64(id))
			return
		}
		if !a.quiet && a.progress != "quiet" {
			fmt.Fprintf(t.err, "Run %d is on the queue; raglab status shows it from anywhere, raglab cancel %d ends it.\n", id, id)
		}
		s, err := q.Status(ctx, time.Now())
		if err != nil {
			return
		}
		if len(s.Workers) == 0 {
			fmt.Fprintln(t.err, "No worker serves the queue yet: raglab worker starts one.")
			return
		}
		for _, r := range s.Runs {
			if r.ID == id {
				writeUnserved(t.err, s, r)
			}
		}
	}
}

// writeUnserved says what of a run waits for a worker that is not there.
func writeUnserved(w io.Writer, s fleet.Status, r fleet.RunStatus) {
	if un := s.Unserved(r); len(un) > 0 && len(s.Workers) > 0 {
		fmt.Fprintf(w, "No worker serves what run %d needs: raglab worker -serve %s starts one.\n", r.ID, strings.ReplaceAll(joined(un), " ", ""))
	}
}
