// Package queuetest is the conformance suite of [fleet.Queue]: what every queue must
// do, several handles on one queue standing for several processes.
package queuetest

import (
	"testing"
	"time"

	"raglab/engine/fleet"
)

// Worker is a handle on the queue, as one process has it.
type Worker struct {
	fleet.Queue
	// Name is what it offers by.
	Name string
	// Kill ends the worker as a crash of its process would. The cases that need it are
	// left out where it is nil.
	Kill func()
}

// Lab is an empty queue to be tested.
type Lab struct {
	// Workers are handles on the one queue: at least two. Each must be able to hold 20
	// claims of each class at a time, and must not claim ahead of what is asked for.
	Workers []Worker
	// Patience is how long to wait for what must happen; 0 means 20 s.
	Patience time.Duration
	// Quiet is how long nothing has to happen before it is taken for never; 0 means
	// 50 ms.
	Quiet time.Duration
	// Except says of cases, by name, why the queue does not pass them.
	Except map[string]string
}

// Backups is the policy that queues under test are opened with. All nodes of the suite
// are Single, but those of the cases about backups.
func Backups() fleet.Backups {
	return fleet.Backups{Factor: 2, AtLeast: 150 * time.Millisecond, Samples: 3}
}

// Look is how often queues under test look for nodes to back up.
const Look = 20 * time.Millisecond

// Run runs the suite. Open is called once for each case, from parallel tests.
func Run(t *testing.T, open func(t *testing.T) Lab) {
	for _, c := range slicesOf(releaseCases, failureCases, lossCases, claimCases, shareCases, limitCases, followCases, backupCases, statusCases) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := &lab{Lab: open(t), T: t}
			if why, ok := l.Except[c.name]; ok {
				t.Skip(why)
			}
			if l.Patience == 0 {
				l.Patience = 20 * time.Second
			}
			if l.Quiet == 0 {
				l.Quiet = 50 * time.Millisecond
			}
			if len(l.Workers) < 2 {
				t.Fatalf("the lab has %d workers, want at least 2", len(l.Workers))
			}
			c.run(l)
		})
	}
}

// testCase is one promise of the interface.
type testCase struct {
	name string
	run  func(l *lab)
}

func slicesOf(groups ...func() []testCase) []testCase {
	var all []testCase
	for _, g := range groups {
		all = append(all, g()...)
	}
	return all
}
