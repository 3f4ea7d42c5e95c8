package sim_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"raglab/engine/fleet"
	"raglab/engine/fleet/sim"
)

// off is the policy of no backups.
var off = fleet.Backups{Off: true}

// faults are all that can go wrong, at rates that a bad day has.
func faults(c sim.Config) sim.Config {
	c.LifeSpan, c.Detect = time.Hour, 5*time.Second
	c.Stay, c.Away = time.Hour, time.Minute
	c.Loss, c.Retry = 0.002, 0.01
	return c
}

// A thousand workers end in time near to what cannot be beaten, and backups take back
// what slow runs cost.
func TestSim_thousandWorkers(t *testing.T) {
	t.Parallel()
	shape := sim.Experiment(1, 3000, 8, 25)
	run := func(name string, c sim.Config) sim.Report {
		c.Seed, c.Workers, c.Priorities = 1, 1000, true
		r, err := sim.Run(t.Context(), shape, c)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%-18s %.2f × bound, %.2f × oracle: %+v", name, r.Over(), float64(r.Makespan)/float64(r.Oracle), r)
		return r
	}
	well := run("well", sim.Config{Backups: off})
	if well.Over() > 1.6 || well.Claims != well.Nodes || well.Wasted != 0 || well.Makespan < well.Bound() {
		t.Errorf("all well: %.2f × bound, %d claims of %d nodes", well.Over(), well.Claims, well.Nodes)
	}
	slow := run("slow", sim.Config{Slow: 0.01, Slowdown: 10, Backups: off})
	backed := run("slow, backups", sim.Config{Slow: 0.01, Slowdown: 10})
	if backed.Makespan > slow.Makespan/2 || backed.Makespan > well.Makespan*3/2 {
		t.Errorf("slow runs take %v, with backups %v, and without slow runs %v", slow.Makespan, backed.Makespan, well.Makespan)
	}
	if backed.Wasted > 0.05 {
		t.Errorf("%.1f %% of the work with backups was in vain", 100*backed.Wasted)
	}
	bad := run("all faults", faults(sim.Config{Slow: 0.01, Slowdown: 10}))
	if bad.Makespan > 2*well.Makespan || bad.Orphaned == 0 || bad.Losses == 0 || bad.Retries == 0 {
		t.Errorf("with all faults it takes %v, without %v", bad.Makespan, well.Makespan)
	}
}

// Priorities bring a graph with paths of many lengths near to the bound.
func TestSim_priorities(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		shape := sim.Random(seed, 4000, 300)
		run := func(priorities bool) sim.Report {
			r, err := sim.Run(t.Context(), shape, sim.Config{Seed: seed, Workers: 50, Priorities: priorities, Backups: off})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		without, with := run(false), run(true)
		t.Logf("seed %d: %.3f × bound without priorities, %.3f with, %.3f the oracle", seed, without.Over(), with.Over(), float64(with.Oracle)/float64(with.Bound()))
		if with.Over() > 1.06 || with.Makespan > without.Makespan {
			t.Errorf("seed %d: %.3f × bound without priorities, %.3f with", seed, without.Over(), with.Over())
		}
	}
}

// Whatever happens, every stage is made, no two workers have it unless one is the
// other's backup, and what is repeated is what faults account for: Run checks it.
func TestSim_invariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.Float64Range(0, 0.3)
		span := func(name string, least time.Duration) time.Duration {
			if !rapid.Bool().Draw(t, name+" at all") {
				return 0
			}
			return time.Duration(rapid.Int64Range(int64(least), int64(24*time.Hour)).Draw(t, name))
		}
		c := sim.Config{
			Seed: rapid.Uint64().Draw(t, "seed"), Workers: rapid.IntRange(1, 40).Draw(t, "workers"),
			Slow: share.Draw(t, "slow"), Slowdown: 10, Loss: share.Draw(t, "loss"), Retry: share.Draw(t, "retry"),
			LifeSpan: span("life span", 30*time.Minute), Detect: 5 * time.Second, Stay: span("stay", 5*time.Minute), Away: time.Minute,
			Priorities: rapid.Bool().Draw(t, "priorities"),
			Backups:    fleet.Backups{Off: rapid.Bool().Draw(t, "no backups"), Samples: 1, Factor: 1.2, AtLeast: time.Second},
		}
		var shape sim.Shape
		if n := rapid.IntRange(1, 150).Draw(t, "nodes"); rapid.Bool().Draw(t, "random") {
			shape = sim.Random(c.Seed, n, rapid.IntRange(1, 50).Draw(t, "reach"))
		} else {
			shape = sim.Experiment(c.Seed, n, rapid.IntRange(1, 4).Draw(t, "indexes"), rapid.IntRange(1, 4).Draw(t, "configurations"))
		}
		r, err := sim.Run(t.Context(), shape, c)
		if err != nil {
			t.Fatalf("%v: %+v", err, r)
		}
		if r.Makespan < r.Path {
			t.Fatalf("done in %v, the longest path takes %v", r.Makespan, r.Path)
		}
	})
}

// A simulation is a function of its seed.
func TestSim_repeats(t *testing.T) {
	t.Parallel()
	shape := sim.Experiment(7, 200, 3, 5)
	c := faults(sim.Config{Seed: 7, Workers: 50, Slow: 0.05, Slowdown: 10, Priorities: true})
	first, err := sim.Run(t.Context(), shape, c)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := sim.Run(t.Context(), shape, c); err != nil || first != second {
		t.Errorf("%+v, then %+v, %v", first, second, err)
	}
}

// With one worker nothing is lost to waiting: the bound is the work, and is met.
func TestSim_oneWorkerMeetsTheBound(t *testing.T) {
	t.Parallel()
	r, err := sim.Run(t.Context(), sim.Random(3, 300, 20), sim.Config{Seed: 3, Workers: 1, Priorities: true})
	if err != nil || r.Makespan != r.Work || r.Oracle != r.Work || r.Busy != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}
