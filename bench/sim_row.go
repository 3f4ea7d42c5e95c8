package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"raglab/engine/fleet"
	"raglab/engine/fleet/sim"
)

// simWorkers are how many workers the simulations have.
const simWorkers = 1000

// simCase is a simulation of the row sim. Its figure is the makespan over what no
// scheduler can beat: the longest path, or the work over the workers.
type simCase struct {
	name, graph string
	config      sim.Config
}

// simCases are the simulations: what slow runs cost, what backups take back of it, and
// what all faults of a bad day cost then.
func simCases() []simCase {
	off := fleet.Backups{Off: true}
	slow := sim.Config{Priorities: true, Slow: 0.01, Slowdown: 10}
	slowAlone := slow
	slowAlone.Backups = off
	bad := slow
	bad.LifeSpan, bad.Detect, bad.Stay, bad.Away, bad.Loss, bad.Retry = time.Hour, 5*time.Second, time.Hour, time.Minute, 0.002, 0.01
	return []simCase{
		{"all well", "experiment", sim.Config{Priorities: true, Backups: off}},
		{"1 % of the runs 10 × as long, no backups", "experiment", slowAlone},
		{"1 % of the runs 10 × as long", "experiment", slow},
		{"and workers that die, come and go, results that are lost, failures that pass", "experiment", bad},
		{"all well, no priorities", "random", sim.Config{Backups: off}},
		{"all well", "random", sim.Config{Priorities: true, Backups: off}},
		{"1 % of the runs 10 × as long, no backups", "random", slowAlone},
		{"1 % of the runs 10 × as long", "random", slow},
		{"and workers that die, come and go, results that are lost, failures that pass", "random", bad},
	}
}

// simShapes are the graphs: an experiment in shards, and one that is random.
func simShapes(shards int) map[string]sim.Shape {
	return map[string]sim.Shape{"experiment": sim.Experiment(1, shards, 8, 25), "random": sim.Random(1, 6*shards, 2*shards)}
}

// simRow simulates a thousand workers on a virtual clock.
func simRow() row {
	return row{
		name: "sim", does: "the scheduler with 1,000 simulated workers on a virtual clock: makespan over what cannot be beaten",
		set: func(_ context.Context, b *bench) (*trial, error) {
			shards := b.size(5000, 2000)
			t := &trial{
				input: fmt.Sprintf("experiment: %s shards, 8 indexes, 200 configurations; random: %s stages of ten kinds", grouped(float64(shards)), grouped(float64(6*shards))),
				own:   b.driver("sim", digits(shards)),
			}
			for _, c := range simCases() {
				s := step{tool: raglabTool, name: c.step()}
				t.comparisons = append(t.comparisons,
					comparison{figure: c.step(), unit: times, own: s.of(func(s sample) float64 { return s.Over })},
					comparison{figure: "the same, over a schedule that knows all times", unit: times, own: s.of(func(s sample) float64 { return s.OverOracle })})
			}
			return t, nil
		},
	}
}

func (c simCase) step() string { return c.graph + ": " + c.name }

// simDriver: SHARDS.
func simDriver(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("sim takes one argument")
	}
	shards, _, err := numbers(args[0], "1")
	if err != nil {
		return err
	}
	shapes := simShapes(shards)
	c := &clock{reps: 1, threads: 1}
	for _, one := range simCases() {
		config := one.config
		config.Seed, config.Workers = 1, simWorkers
		var r sim.Report
		s, err := c.time(one.step(), 0, func() (err error) {
			r, err = sim.Run(ctx, shapes[one.graph], config)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", one.step(), err)
		}
		s.Over, s.OverOracle = r.Over(), float64(r.Makespan)/float64(r.Oracle)
	}
	return c.print()
}
