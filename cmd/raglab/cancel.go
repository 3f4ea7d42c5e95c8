package main

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"time"

	"raglab/engine/fleet"
	"raglab/engine/workspace"
)

const cancelHelp = `Usage: raglab cancel RUN|EXPERIMENT [flags]

Ends a run that raglab apply -on river submitted: by its number, as raglab status
shows it, or all of an experiment. No further stage of it is begun, unless another run
wants it; those that run come to their end. What was made stays.

  -now                 stop stages that run, too
  -cache DIR           use this cache folder (or RAGLAB_CACHE)

Exit codes: 0 done, 1 error, or there is no such run at work.
`

func cancelCommand() command {
	return command{"cancel", "end a run that was handed to a queue", cancelHelp, runCancel}
}

func runCancel(ctx context.Context, t terminal, argv []string) int {
	var a specArgs
	var stop bool
	set := flag.NewFlagSet("cancel", flag.ContinueOnError)
	a.register(set)
	set.BoolVar(&stop, "now", false, "")
	rest, err := parseFlags(t, set, cancelHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	if len(rest) != 1 {
		fmt.Fprint(t.err, cancelHelp)
		return exitError
	}
	err = a.asking(ctx, t, "raglab cancel", func(q *workspace.Queue) error {
		runs, err := atWork(ctx, q, rest[0])
		if err != nil {
			return err
		}
		for _, r := range runs {
			if err := q.Hold(ctx, r.ID, stop); err != nil {
				return fmt.Errorf("end run %d: %w", r.ID, err)
			}
			fmt.Fprintf(t.out, "run %d of %s has ended: %d of its stages were done\n", r.ID, r.Experiment, r.Done)
		}
		return nil
	})
	if err != nil {
		return t.fail("cancel", err)
	}
	return exitOK
}

// atWork finds the runs at work that a number or a name means.
func atWork(ctx context.Context, q fleet.Queue, which string) ([]fleet.RunStatus, error) {
	s, err := q.Status(ctx, time.Now())
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseInt(which, 10, 64)
	var found []fleet.RunStatus
	for _, r := range s.Runs {
		if r.State == fleet.RunWorking && (err == nil && int64(r.ID) == number || r.Experiment == which) {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no run %s is at work; raglab status shows those that are", which)
	}
	return found, nil
}
