package queuetest

import (
	"raglab/engine"
	"raglab/engine/fleet"
)

func lossCases() []testCase {
	return []testCase{
		{"loss", loss},
		{"loss seen twice", lossSeenTwice},
		{"loss limit", lossLimit},
		{"loss with another result", lossMoved},
	}
}

func (l *lab) lose(w int, c *fleet.Claim, needs ...string) {
	l.Helper()
	var losses []fleet.Loss
	for _, need := range needs {
		losses = append(losses, fleet.Loss{
			Key: keyOf(need), Text: need + " is lost",
			Reason: engine.Reason{Kind: engine.ReasonCorrupt, Field: "out"},
		})
	}
	if err := l.Workers[w].Lose(l.soon(), c, losses); err != nil {
		l.Fatalf("lose: %v", err)
	}
}

// What was lost is made again, and then what wanted it. No attempt is counted.
func loss(l *lab) {
	run := l.submit(submission(node("a"), node("b", "a"), node("c", "b")))
	l.make(0, "a", "b")
	c := l.claimNode(0, "c")
	l.lose(0, c, "b")
	l.wantLost(0, c)
	b := l.claimNode(1, "b")
	if b.Reason.Kind != engine.ReasonCorrupt || b.Attempt != 1 {
		l.Errorf("attempt %d of b is for %q", b.Attempt, b.Reason)
	}
	l.claimNone(0)
	l.lose(1, b, "a")
	l.make(0, "a", "b")
	c = l.claimNode(0, "c")
	if c.Attempt != 1 {
		l.Errorf("attempt %d of c, want 1", c.Attempt)
	}
	l.finish(0, c)
	l.wantNews(run, "a executed", "b executed", "c warning b is lost", "b warning a is lost", "a executed", "b executed", "c executed")
	l.wantRun(run, fleet.RunDone, 0, 0, 0, 3, 0, 0)
}

// Two readers that find one loss cause one run, and others that were ready wait for it.
func lossSeenTwice(l *lab) {
	run := l.submit(submission(node("a"), node("b", "a"), node("c", "a"), node("d", "a")))
	l.make(0, "a")
	first, second := l.claim(0), l.claim(1)
	l.lose(0, first, "a")
	a := l.claimNode(0, "a")
	l.claimNone(1)
	l.lose(1, second, "a")
	l.claimNone(1)
	l.finish(0, a)
	for range 3 {
		l.finish(1, l.claim(1))
	}
	l.claimNone(0)
	l.wantRun(run, fleet.RunDone, 0, 0, 0, 4, 0, 0)
}

// A store that keeps losing a result ends in a failure.
func lossLimit(l *lab) {
	run := l.submit(submission(node("a"), node("b", "a")))
	for range fleet.LostLimit {
		l.make(0, "a")
		l.lose(1, l.claimNode(1, "b"), "a")
	}
	l.make(0, "a")
	l.lose(1, l.claimNode(1, "b"), "a")
	l.claimNone(0)
	all, _ := l.news(run)
	said := say(all)
	if n := len(said); n < 2 || said[n-2] != "a failed" || said[n-1] != "b blocked by a" {
		l.Errorf("the notices say %v", said)
	}
	l.wantRun(run, fleet.RunFailed, 0, 0, 0, 0, 1, 1)
}

// What was made of a result that was lost, and came out different, is made again.
func lossMoved(l *lab) {
	run := l.submit(submission(node("a"), node("b", "a"), node("c", "a")))
	l.finishWith(0, l.claimNode(0, "a"), result("a", "one"))
	l.finish(0, l.claim(0))
	l.lose(0, l.claim(0), "a")
	l.finishWith(0, l.claimNode(0, "a"), result("a", "another"))
	for range 2 {
		c := l.claim(0)
		if got := c.From[keyOf("a")].Outputs; len(got) != 1 || got[0] != result("a", "another").Outputs[0] {
			l.Errorf("%s is to read %v, want the new result", c.Address, got)
		}
		l.finish(0, c)
	}
	l.wantRun(run, fleet.RunDone, 0, 0, 0, 3, 0, 0)
}
