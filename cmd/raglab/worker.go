package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/engine"
	"raglab/engine/fleet"
	"raglab/engine/workspace"
	"raglab/internal/pg"
)

const workerHelp = `Usage: raglab worker [flags]

Makes stages that raglab apply -on river handed to the queue on RAGLAB_DSN, until it
is told to end. Any number of workers may serve a queue, on any machines that reach
the server and the shared store: RAGLAB_STORE with RAGLAB_STORE_MODE=write. Without a
store, workers and apply must share one cache folder; without RAGLAB_DSN the queue is
on raglab's own server, for workers of this machine.

  -serve CLASSES       what to make, as cpu,network (default: cpu and network;
                         accelerator too where it is named)
  -threads N           threads that stages may use together (default: all processors)
  -memory SIZE         memory that they may use together (default: four fifths)
  -ahead N             stages of a class to fetch the inputs of meanwhile (default 1)
  -grace TIME          at the end, wait that long for stages that run (default 2m)
  -idle TIME           end when there was nothing to do for that long (default: never)
  -name NAME           how status and logs call it (default HOST:PID)
  -quiet               no line for each stage made, only for what went wrong
  -cache DIR           use this cache folder (or RAGLAB_CACHE)
  -store URL           use this shared store (or RAGLAB_STORE), opened with
  -store-mode MODE       write (or RAGLAB_STORE_MODE)

The first interrupt lets stages that run come to their end, and hands them back after
-grace; the second hands them back at once.

Exit codes: 0 ended as told, 1 error.
`

func workerCommand() command {
	return command{"worker", "make stages that others hand out", workerHelp, runWorker}
}

type workerArgs struct {
	specArgs
	classes     []fleet.Class
	memory      int64
	ahead       int
	grace, idle time.Duration
	name        string
	quiet       bool
}

func runWorker(ctx context.Context, t terminal, argv []string) int {
	a := workerArgs{classes: []fleet.Class{fleet.CPU, fleet.Network}, ahead: 1, grace: 2 * time.Minute}
	set := flag.NewFlagSet("worker", flag.ContinueOnError)
	a.register(set)
	set.Func("serve", "", func(s string) (err error) { a.classes, err = parseClasses(s); return err })
	set.Func("memory", "", func(s string) (err error) { a.memory, err = parseSize(s); return err })
	set.IntVar(&a.ahead, "ahead", 1, "")
	set.DurationVar(&a.grace, "grace", a.grace, "")
	set.DurationVar(&a.idle, "idle", 0, "")
	set.StringVar(&a.name, "name", "", "")
	set.BoolVar(&a.quiet, "quiet", false, "")
	rest, err := parseFlags(t, set, workerHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	if len(rest) > 0 {
		return t.fail("worker", fmt.Errorf("a worker takes no spec, it serves all that are applied: %s", strings.Join(rest, " ")))
	}
	if a.ahead < 0 {
		return t.fail("worker", fmt.Errorf("-ahead is 0 or more, not %d", a.ahead))
	}
	a.store.Strict = true // a result that only this machine can read is none to the others
	if t.log.GetLevel() > hclog.Warn {
		t.log.SetLevel(hclog.Warn) // nobody watches what it does, so that its log must say
	}
	w, err := a.workspace(t, "raglab worker", false)
	if err != nil {
		return t.fail("worker", err)
	}
	defer closing(t, w.Close)
	if err := a.serve(ctx, t, w); err != nil {
		return t.fail("worker", err)
	}
	return exitOK
}

// parseClasses reads cpu,network.
func parseClasses(s string) ([]fleet.Class, error) {
	var classes []fleet.Class
	for word := range strings.SplitSeq(s, ",") {
		switch c := fleet.Class(strings.TrimSpace(word)); c {
		case fleet.CPU, fleet.Network, fleet.Accelerator:
			classes = append(classes, c)
		default:
			return nil, fmt.Errorf("%q is not one of cpu, network and accelerator", word)
		}
	}
	return classes, nil
}

// slots are how many stages of each class are claimed at a time.
func (a *workerArgs) slots(has engine.Resources) map[fleet.Class]int {
	of := map[fleet.Class]int{fleet.CPU: has.CPU, fleet.Network: has.Network, fleet.Accelerator: has.Accelerator}
	slots := map[fleet.Class]int{}
	for _, c := range a.classes {
		slots[c] = max(of[c], 1) + a.ahead
	}
	return slots
}

// serve works until it is told to end: the first interrupt, which ends ctx, lets
// stages come to their end; the second stops them.
func (a *workerArgs) serve(ctx context.Context, t terminal, w *workspace.Workspace) error {
	has := w.Capacity()
	if a.memory > 0 {
		has.Memory = a.memory
	}
	q, err := a.queue(ctx, t, w, workspace.QueueOptions{Slots: a.slots(has), Name: a.name})
	if err != nil {
		return err
	}
	defer closing(t, q.Close)
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	again := secondInterrupt(ctx, func() { stop(errInterrupted) })
	defer again()
	fmt.Fprintf(t.err, "worker %s serves %s\n", q.Name(), joined(a.classes))
	err = w.Serve(work, workspace.ServeOptions{
		Queue: q, Capacity: has, Classes: a.classes, Ahead: a.ahead, Grace: a.grace, Idle: a.idle, Drain: ctx.Done(),
		Ended: a.ended(t),
	})
	if errors.Is(err, errInterrupted) {
		err = nil // as told
	}
	return err
}

// ended says how stages ended, a line each.
func (a *workerArgs) ended(t terminal) func(fleet.End) {
	return func(e fleet.End) {
		var text string
		switch {
		case e.Failure != nil:
			text = "failed: " + e.Failure.Text
		case e.Returned != "":
			text = "given back: " + e.Returned
		case e.Result == nil || a.quiet:
			return
		case e.Result.Completion == engine.Executed:
			text = "done in " + rounded(e.Result.Wall.Seconds())
		default:
			text = "found in the store"
		}
		fmt.Fprintf(t.err, "%s: %s\n", e.Claim.Address, text) // one write: lines stay whole
	}
}

// queue opens the queue, and waits for a server that does not answer: a worker that is
// started with its server, or while that restarts, is not to give up.
func (a *workerArgs) queue(ctx context.Context, t terminal, w *workspace.Workspace, o workspace.QueueOptions) (*workspace.Queue, error) {
	for told := false; ; told = true {
		q, err := w.Queue(ctx, o)
		if err == nil || !pg.IsTransient(err) || ctx.Err() != nil {
			return q, err
		}
		if !told {
			t.warn(fmt.Sprintf("waiting for the queue: %v", err))
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}

func joined(classes []fleet.Class) string {
	words := make([]string, len(classes))
	for i, c := range classes {
		words[i] = string(c)
	}
	return strings.Join(words, ", ")
}

// secondInterrupt calls stop at the first interrupt that comes once ctx has ended.
func secondInterrupt(ctx context.Context, stop func()) (end func()) {
	signals, over := make(chan os.Signal, 2), make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
		case <-over:
			return
		}
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		select {
		case <-signals:
			stop()
		case <-over:
		}
	}()
	return func() {
		close(over)
		signal.Stop(signals)
	}
}
