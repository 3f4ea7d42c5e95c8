package queuetest

import (
	"slices"
	"sync"
	"time"

	"raglab/engine/fleet"
)

func shareCases() []testCase {
	return []testCase{
		{"two runs share", twoRunsShare},
		{"attach", attach},
		{"attach at once", attachAtOnce},
		{"done before the plan", doneBefore},
		{"done after the plan", doneAfter},
		{"failed before the plan", failedBefore},
		{"remade under a reader", remadeUnderReader},
	}
}

// A node of two runs is made once, and both are told.
func twoRunsShare(l *lab) {
	first := l.submit(submission(node("a"), node("b", "a")))
	a := l.claimNode(0, "a")
	second := l.submit(submission(node("a"), node("c", "a")))
	if first == second {
		l.Fatal("two graphs are one run")
	}
	l.finish(0, a)
	for range 2 {
		l.finish(1, l.claim(1))
	}
	l.claimNone(0)
	l.wantNews(first, "a executed", "b executed")
	l.wantNews(second, "a executed", "c executed")
}

// Submitting what is at work attaches.
func attach(l *lab) {
	s := submission(node("a"), node("b", "a"))
	first := l.submit(s)
	l.make(0, "a")
	if second := l.submit(s); second != first {
		l.Errorf("run %d, want %d", second, first)
	}
	other := s
	other.Experiment = "another"
	if third := l.submit(other); third == first {
		l.Error("another experiment attached")
	}
	l.make(0, "b")
	l.claimNone(0)
	l.wantNews(first, "a executed", "b executed")
	s.Planned = time.Now().Add(-time.Hour)
	if again := l.submit(s); again == first {
		l.Error("a submission attached to a run that has ended")
	}
}

func attachAtOnce(l *lab) {
	s := submission(randomGraph(40)...)
	ids := make([]fleet.RunID, 12)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			var err error
			if ids[i], err = l.Workers[i%len(l.Workers)].Submit(l.soon(), s); err != nil {
				l.Errorf("submit: %v", err)
			}
		})
	}
	all.Wait()
	if slices.Sort(ids); ids[0] != ids[len(ids)-1] {
		l.Fatalf("one graph is the runs %v", ids)
	}
	l.drain(6, ids[0], func(w int, c *fleet.Claim) error {
		return l.Workers[w].Finish(l.soon(), c, result(c.Address, c.Address))
	})
	l.wantRun(ids[0], fleet.RunDone, 0, 0, 0, 40, 0, 0)
}

// What ended before the plan looked is queued again: the plan knows better.
func doneBefore(l *lab) {
	s := submission(node("a"), node("b", "a"))
	l.submit(s)
	l.make(0, "a", "b")
	s.Planned = time.Now().Add(time.Hour)
	run := l.submit(s)
	l.claimNode(0, "a")
	l.claimNone(1)
	l.wantRun(run, fleet.RunWorking, 1, 0, 1, 0, 0, 0)
}

// What was done since the plan looked is kept.
func doneAfter(l *lab) {
	s := submission(node("a"), node("b", "a"))
	l.submit(s)
	l.make(0, "a", "b")
	s = submission(node("a"), node("c", "a"))
	s.Planned = time.Now().Add(-time.Hour)
	run := l.submit(s)
	l.make(0, "c")
	all := l.wantNews(run, "a elsewhere", "c executed")
	if n := all[0]; n.Key != result("a", "").Key || len(n.Outputs) != 1 || n.Outputs[0] != result("a", "a").Outputs[0] {
		l.Errorf("notice %+v", n)
	}
	m := result("a", "a").Made
	s = submission(node("a"), node("d", "a"))
	s.Planned = time.Now().Add(-time.Hour)
	s.Nodes[0].Made = &m
	run = l.submit(s)
	l.make(0, "d")
	l.wantNews(run, "d executed")
}

// A failure does not outlive the next plan, and the attempts begin anew.
func failedBefore(l *lab) {
	s := submission(node("a"), node("b", "a"))
	s.Attempts = 2
	l.submit(s)
	l.fail(0, l.claimNode(0, "a"), mayPass)
	l.fail(0, l.claimNode(0, "a"), mayPass)
	s.Planned = time.Now().Add(time.Hour)
	run := l.submit(s)
	c := l.claimNode(0, "a")
	if c.Attempt != 1 {
		l.Errorf("attempt %d, want 1", c.Attempt)
	}
	l.fail(0, c, mayPass)
	l.make(1, "a", "b")
	l.wantNews(run, "a again", "a executed", "b executed")
}

// A node that is queued again is waited for by what has not begun.
func remadeUnderReader(l *lab) {
	first := l.submit(submission(node("a"), node("b", "a")))
	l.make(0, "a")
	s := submission(node("a"), node("c", "a"))
	s.Planned = time.Now().Add(time.Hour)
	second := l.submit(s)
	a := l.claimNode(0, "a")
	l.claimNone(1)
	l.finish(0, a)
	l.finish(0, l.claim(0))
	l.finish(0, l.claim(0))
	for _, run := range []fleet.RunID{first, second} {
		if r := l.run(run); r.State != fleet.RunDone || r.Done != 2 {
			l.Errorf("run %d is %s with %d done", run, r.State, r.Done)
		}
	}
}
