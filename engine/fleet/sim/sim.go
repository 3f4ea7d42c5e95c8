package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
	"raglab/engine/fleet/memory"
)

// Config says what happens in a simulation. The zero value of a fault is its absence.
type Config struct {
	Seed    uint64
	Workers int
	// Slow is the share of runs that take Slowdown times as long, as on a machine that
	// is not well. Another run of the same stage is drawn anew.
	Slow     float64
	Slowdown float64
	// LifeSpan is how long a worker lives on average. What it had is found lost after
	// Detect, and another worker joins then.
	LifeSpan, Detect time.Duration
	// Stay is how long a worker stays on average before it finishes what it has and
	// leaves, and Away how long until another joins.
	Stay, Away time.Duration
	// Loss is the share of runs that find a result of a need lost.
	Loss float64
	// Retry is the share of runs that fail in a way that passes.
	Retry float64
	// Priorities gives nodes the priorities of [fleet.Priorities].
	Priorities bool
	Backups    fleet.Backups
}

const (
	// renewEvery is how often a worker says that it still works, and learns that it
	// need not any more.
	renewEvery = 10 * time.Second
	// found is the part of a run after which a loss is found, or a failure happens.
	found = 0.2
)

// Report is what came of a simulation.
type Report struct {
	Nodes    int
	Makespan time.Duration
	// Path is the longest path, Work the work over the workers. The greater of them is
	// what no scheduler can beat, were no run slow and no worker lost.
	Path, Work time.Duration
	// Oracle is what a good schedule takes that knows all times beforehand.
	Oracle time.Duration
	// Claims are all that were handed out: Nodes and what faults and backups caused.
	Claims, Backups, BackupsWon, Deaths, Orphaned, Losses, Retries int
	// Busy is the share of the workers' time that they worked, and Wasted the share of
	// the work that came to nothing.
	Busy, Wasted float64
	// Events is how many events the clock had.
	Events int
}

// Bound is what no scheduler can beat.
func (r Report) Bound() time.Duration { return max(r.Path, r.Work) }

// Over is the makespan over the bound.
func (r Report) Over() float64 { return float64(r.Makespan) / float64(r.Bound()) }

// world is a simulation while it runs.
type world struct {
	Config
	shape  Shape
	clock  *clock
	random *rand.Rand
	queue  *memory.Queue
	ledger *ledger
	place  map[cache.Key]int
	run    fleet.RunID
	names  int
	begun  time.Time
	ended  bool
	busy   time.Duration
	wasted time.Duration
	report Report
	err    error
}

// Run simulates a plan to its end. The error says what was broken that must hold.
func Run(ctx context.Context, shape Shape, c Config) (Report, error) {
	w := &world{
		Config: c, shape: shape, clock: newClock(), random: rand.New(rand.NewPCG(c.Seed, 2)),
		place: make(map[cache.Key]int, len(shape.Wall)),
	}
	w.queue = memory.New(memory.Options{Clock: w.clock, Backups: c.Backups})
	w.ledger = newLedger(w.clock)
	w.begun = w.clock.now
	s := shape.Submission(c.Priorities)
	s.Planned = w.begun
	for i := range s.Nodes {
		w.place[s.Nodes[i].Key] = i
	}
	var err error
	if w.run, err = w.queue.Submit(ctx, s); err != nil {
		return Report{}, err
	}
	for range c.Workers {
		w.join()
	}
	for !w.ended && w.err == nil {
		if err := context.Cause(ctx); err != nil {
			return Report{}, err
		}
		w.report.Events++
		if !w.clock.step() {
			return w.report, errors.New("nothing happens any more, and the work is not done")
		}
	}
	if w.err != nil {
		return w.report, w.err
	}
	return w.conclude(ctx)
}

// fail ends the simulation with what was broken.
func (w *world) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("after %v: %w", w.clock.now.Sub(w.begun), fmt.Errorf(format, args...))
	}
}

// conclude checks that all came to an end, and sums up.
func (w *world) conclude(ctx context.Context) (Report, error) {
	r := &w.report
	r.Nodes = len(w.shape.Wall)
	r.Makespan = w.clock.now.Sub(w.begun)
	r.Path, r.Work = w.shape.bounds(w.Workers)
	r.Oracle = w.shape.oracle(w.Workers)
	r.Busy = float64(w.busy) / float64(r.Makespan) / float64(w.Workers)
	r.Wasted = float64(w.wasted) / float64(w.busy)
	if err := w.ledger.check(r); err != nil {
		return *r, err
	}
	complete := make(map[cache.Key]int, r.Nodes)
	for news := (fleet.News{}); !news.Ended; {
		var err error
		if news, err = w.queue.Follow(ctx, w.run, news.Cursor); err != nil {
			return *r, err
		}
		for _, n := range news.Notices {
			if n.Type == engine.EventComplete {
				complete[n.Node]++
			}
		}
	}
	for k, i := range w.place {
		if complete[k] != 1+w.ledger.remade[k] {
			return *r, fmt.Errorf("%s has %d notices of a result, and its result was lost %d times", w.shape.Plan.Stages[i].Stage.Address, complete[k], w.ledger.remade[k])
		}
	}
	return *r, nil
}
