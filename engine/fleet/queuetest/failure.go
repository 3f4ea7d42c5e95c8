package queuetest

import (
	"errors"
	"time"

	"raglab/engine"
	"raglab/engine/fleet"
)

func failureCases() []testCase {
	return []testCase{
		{"retries", retries},
		{"retry delay", retryDelay},
		{"blocking", blocking},
		{"late reader of a failure", lateReader},
		{"fail fast", failFast},
		{"store failure", storeFailure},
		{"give back", giveBack},
		{"death", death},
		{"deaths", deaths},
	}
}

var mayPass = fleet.Failure{Text: "the network is down", Class: fleet.StageFailure, MayPass: true, PaidUSD: 0.5}

// A failure that may pass is tried again until the attempts are used up.
func retries(l *lab) {
	run := l.submit(submission(node("a"), node("b", "a")))
	for attempt := 1; attempt <= 3; attempt++ {
		c := l.claimNode(attempt%2, "a")
		if c.Attempt != attempt {
			l.Errorf("attempt %d is number %d", attempt, c.Attempt)
		}
		l.fail(attempt%2, c, mayPass)
	}
	all := l.wantNews(run, "a again", "a again", "a failed", "b blocked by a")
	l.wantRun(run, fleet.RunFailed, 0, 0, 0, 0, 1, 1)
	for i, n := range all[:3] {
		if n.Failure == nil || n.Failure.Text != mayPass.Text || n.Failure.Class != fleet.StageFailure || n.PaidUSD != 0.5 || n.Attempt != i+1 {
			l.Errorf("notice %+v", n)
		}
	}
}

func retryDelay(l *lab) {
	run := l.submit(submission(node("a")))
	delay := 10 * l.Quiet
	start := time.Now()
	f := mayPass
	f.After = delay
	l.fail(0, l.claimNode(0, "a"), f)
	l.claimNone(1)
	c := l.claimNode(0, "a")
	if waited := time.Since(start); waited < delay*9/10 {
		l.Errorf("claimed again after %v, want %v", waited, delay)
	}
	l.finish(0, c)
	l.wantNews(run, "a again", "a executed")
}

// What needs a node that failed is blocked, with the root cause; the rest goes on.
func blocking(l *lab) {
	run := l.submit(submission(node("a"), node("b"), node("c", "a", "b"), node("d", "c"), node("e", "b")))
	a, b := l.claim(0), l.claim(1)
	if a.Address == "b" {
		a, b = b, a
	}
	l.fail(0, a, fleet.Failure{Text: "no such model", Class: fleet.InputFailure})
	l.wantRun(run, fleet.RunWorking, 1, 0, 1, 0, 1, 2)
	l.finish(1, b)
	l.make(0, "e")
	all := l.wantNews(run, "a failed", "c blocked by a", "d blocked by a", "b executed", "e executed")
	if f := all[0].Failure; f == nil || f.Text != "no such model" || f.Class != fleet.InputFailure {
		l.Errorf("the failure is %+v", f)
	}
	l.wantRun(run, fleet.RunFailed, 0, 0, 0, 2, 1, 2)
}

// A run that begins after a failure, with a plan from before it, is told of it, and of
// what it blocks.
func lateReader(l *lab) {
	planned := time.Now().Add(-time.Hour)
	s := submission(node("a"))
	s.Planned = planned
	l.submit(s)
	l.fail(0, l.claimNode(0, "a"), fleet.Failure{Text: "no", Class: fleet.StageFailure})
	s = submission(node("a"), node("b", "a"))
	s.Planned = planned
	run := l.submit(s)
	l.wantNews(run, "a failed", "b blocked by a")
	l.claimNone(0)
}

// FailFast begins nothing more; what is claimed comes to its end.
func failFast(l *lab) {
	s := submission(node("a"), node("b"), node("c"), node("d", "b"))
	s.FailFast = true
	run := l.submit(s)
	first, second := l.claim(0), l.claim(1)
	l.fail(0, first, fleet.Failure{Text: "no", Class: fleet.StageFailure})
	l.claimNone(0)
	if err := l.Workers[1].Renew(l.soon(), second); err != nil {
		l.Errorf("renew what was claimed before the failure: %v", err)
	}
	l.finish(1, second)
	l.claimNone(1)
	all, news := l.news(run)
	failed, executed := 0, 0
	for _, n := range all {
		switch {
		case n.Type == engine.EventErrored && n.Node == first.Key:
			failed++
		case n.Type == engine.EventComplete && n.Node == second.Key:
			executed++
		}
	}
	if failed != 1 || executed != 1 || news.Held {
		l.Errorf("held %v, the notices say %v", news.Held, say(all))
	}
	if r := l.run(run); r.State != fleet.RunFailed || r.Ended.IsZero() {
		l.Errorf("the run is %s, ended at %v", r.State, r.Ended)
	}
}

// A store that fails keeps anything more from being begun.
func storeFailure(l *lab) {
	run := l.submit(submission(node("a"), node("b")))
	l.fail(0, l.claim(0), fleet.Failure{Text: "the disk is full", Class: fleet.StoreFailure})
	l.claimNone(0)
	l.news(run)
}

// Giving a claim back counts no attempt.
func giveBack(l *lab) {
	run := l.submit(submission(node("a")))
	for range 5 {
		c := l.claimNode(0, "a")
		if c.Attempt != 1 {
			l.Errorf("attempt %d, want 1", c.Attempt)
		}
		if err := l.Workers[0].Return(l.soon(), c, "another makes it", 0); err != nil {
			l.Fatal(err)
		}
		l.wantLost(0, c)
	}
	c := l.claimNode(1, "a")
	delay, start := 10*l.Quiet, time.Now()
	if err := l.Workers[1].Return(l.soon(), c, "another makes it", delay); err != nil {
		l.Fatal(err)
	}
	l.claimNone(0)
	c = l.claimNode(1, "a")
	if waited := time.Since(start); waited < delay*9/10 {
		l.Errorf("claimed again after %v, want %v", waited, delay)
	}
	l.finish(1, c)
	l.wantNews(run, "a executed")
}

// kill kills a worker, or leaves the case out.
func (l *lab) kill(w int) {
	l.Helper()
	if l.Workers[w].Kill == nil {
		l.Skip("workers of this lab cannot be killed")
	}
	l.Workers[w].Kill()
}

// What a dead worker had is somebody else's.
func death(l *lab) {
	run := l.submit(submission(node("a"), node("b", "a")))
	c := l.claimNode(0, "a")
	l.kill(0)
	again := l.claimNode(1, "a")
	if err := l.Workers[1].Finish(l.soon(), c, result("a", "late")); !errors.Is(err, fleet.ErrClaimLost) {
		l.Errorf("finish under a dead worker's claim: %v, want ErrClaimLost", err)
	}
	l.finish(1, again)
	l.make(1, "b")
	all, _ := l.newsFrom(1, run, fleet.Cursor{})
	if got := say(all); len(got) != 3 || got[0] != "a again" || got[1] != "a executed" || got[2] != "b executed" {
		l.Errorf("the notices say %v", got)
	}
}

// A node that workers die of fails.
func deaths(l *lab) {
	s := submission(node("a"), node("b", "a"))
	s.Deaths = 1
	run := l.submit(s)
	l.claimNode(0, "a")
	l.kill(0)
	all, _ := l.newsFrom(1, run, fleet.Cursor{})
	if got := say(all); len(got) != 2 || got[0] != "a failed" || got[1] != "b blocked by a" || all[0].Failure == nil || all[0].Failure.Text == "" {
		l.Errorf("the notices say %v", got)
	}
	l.claimNone(1)
}
