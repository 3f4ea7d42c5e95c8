// Package executortest holds the conformance suite of executors: whatever brings a plan
// about, the same stages come to the same results in the same states, told in the same
// events, and are remembered alike.
package executortest

import (
	"testing"
	"time"

	"raglab/cache"
	"raglab/engine"
)

// Lab is where an executor works, as a test has it to itself.
type Lab struct {
	// Store is where plans are made and results read.
	Store *cache.Local
	// Executor returns one that applies plans with those settings. Several may be at
	// work at the same time.
	Executor func(Settings) engine.Executor
	// Publish makes a graph known to whoever runs its stages; nil when the plan is
	// enough.
	Publish func(*engine.Graph)
	// Kill ends a worker that makes a stage of that address, as if its machine had lost
	// power; nil when stages run in the executor's own process.
	Kill func(address string)
}

// Settings are what a test asks of an executor. What is not here is for the lab to
// choose: capacity (at least two threads), how soon attempts follow each other (at once),
// how locked keys are looked at.
type Settings struct {
	Events             func(engine.Event)
	FailFast           bool
	Budget             time.Duration
	BudgetUSD, PaidUSD float64
}

// Run runs the suite. Open gives each test a lab; the suite's tests run in parallel.
func Run(t *testing.T, open func(testing.TB) Lab) {
	t.Helper()
	for _, group := range [][]testCase{basics(), failures(), losses(), endings(), crowds()} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(newBench(t, open(t)))
			})
		}
	}
}

// testCase is one test of the suite.
type testCase struct {
	name string
	run  func(*bench)
}
