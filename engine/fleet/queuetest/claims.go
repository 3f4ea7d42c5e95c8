package queuetest

import (
	"context"
	"errors"
	"sync"

	"raglab/engine"
	"raglab/engine/fleet"
)

func claimCases() []testCase {
	return []testCase{
		{"claim ends with its context", claimContext},
		{"claims that are given up lose nothing", claimRace},
		{"one finish", oneFinish},
		{"hold", hold},
		{"hold and stop", holdStop},
		{"hold what is shared", holdShared},
		{"resume what nobody claimed", resumeUnclaimed},
		{"resume", resume},
	}
}

func claimContext(l *lab) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(l.Context())
	var waiters sync.WaitGroup
	for i := range 6 {
		w := l.Workers[i%len(l.Workers)]
		waiters.Go(func() {
			if _, err := w.Claim(ctx, fleet.Offer{Worker: w.Name, Classes: everyClass}); !errors.Is(err, why) {
				l.Errorf("claim ended with %v, want the context's cause", err)
			}
		})
	}
	cancel(why)
	waiters.Wait()
	l.submit(submission(node("a")))
	if _, err := l.Workers[0].Claim(ctx, fleet.Offer{Worker: l.Workers[0].Name, Classes: everyClass}); !errors.Is(err, why) {
		l.Errorf("claim under a context that has ended: %v", err)
	}
	l.make(1, "a")
}

// A node that is ready while claimers give up is claimed by one of them or stays.
func claimRace(l *lab) {
	s := submission(randomGraph(60)...)
	for i := range s.Nodes {
		s.Nodes[i].Needs = nil
	}
	run := l.submit(s)
	got := make(chan *fleet.Claim, len(s.Nodes))
	gaveUp := errors.New("gave up")
	var claimers sync.WaitGroup
	for i := range 40 {
		w := l.Workers[i%len(l.Workers)]
		ctx, cancel := context.WithCancelCause(l.soon())
		claimers.Go(func() {
			c, err := w.Claim(ctx, fleet.Offer{Worker: w.Name, Classes: everyClass})
			switch {
			case err == nil:
				got <- c
			case !errors.Is(err, gaveUp):
				l.Errorf("claim: %v", err)
			}
		})
		claimers.Go(func() { cancel(gaveUp) })
	}
	claimers.Wait()
	close(got)
	for c := range got {
		l.finish(0, c)
	}
	l.drain(4, run, func(w int, c *fleet.Claim) error {
		return l.Workers[w].Finish(l.soon(), c, result(c.Address, c.Address))
	})
	l.wantRun(run, fleet.RunDone, 0, 0, 0, len(s.Nodes), 0, 0)
}

// The first who finishes wins, and nothing comes of a claim that has ended.
func oneFinish(l *lab) {
	run := l.submit(submission(node("a"), node("b", "a")))
	c := l.claimNode(0, "a")
	if err := l.Workers[0].Renew(l.soon(), c); err != nil {
		l.Errorf("renew: %v", err)
	}
	l.finish(0, c)
	l.wantLost(0, c)
	_ = l.Workers[0].Tell(l.soon(), c, fleet.Notice{Type: engine.EventWarning, Message: "late"}) // may be refused
	b := l.claimNode(1, "b")
	if got := b.From[keyOf("a")].Outputs; got[0] != result("a", "a").Outputs[0] {
		l.Errorf("b is to read %v, want the first result", got)
	}
	l.finish(1, b)
	l.wantNews(run, "a executed", "b executed")
}

// A run that is held begins nothing more; what is claimed comes to its end.
func hold(l *lab) {
	run := l.submit(submission(node("a"), node("b"), node("c", "a")))
	a := l.claim(0)
	l.hold(run, false)
	l.claimNone(1)
	if err := l.Workers[0].Renew(l.soon(), a); err != nil {
		l.Errorf("renew what was claimed before the hold: %v", err)
	}
	l.wantRun(run, fleet.RunHeld, 1, 1, 1, 0, 0, 0)
	l.finish(0, a)
	l.claimNone(1)
	all, news := l.news(run)
	if said := say(all); len(said) != 1 || said[0] != a.Address+" executed" || !news.Held {
		l.Errorf("held %v, the notices say %v", news.Held, said)
	}
	l.hold(run, true)
}

// With stop, it ends at once.
func holdStop(l *lab) {
	run := l.submit(submission(node("a"), node("b", "a")))
	a := l.claimNode(0, "a")
	l.hold(run, true)
	l.wantLost(0, a)
	l.claimNone(1)
	if _, news := l.news(run); !news.Held {
		l.Error("a run that was held does not say so")
	}
	l.wantNews(run, "a interrupted")
	if r := l.run(run); r.State != fleet.RunHeld || r.Ended.IsZero() {
		l.Errorf("the run is %s, ended at %v", r.State, r.Ended)
	}
}

// What another run wants goes on.
func holdShared(l *lab) {
	first := l.submit(submission(node("a"), node("b", "a"), node("x")))
	second := l.submit(submission(node("a"), node("b", "a"), node("c", "b")))
	a := l.claim(0)
	for a.Address != "a" {
		l.finish(0, a)
		a = l.claim(0)
	}
	l.hold(first, true)
	if err := l.Workers[0].Renew(l.soon(), a); err != nil {
		l.Fatalf("renew what another run wants: %v", err)
	}
	l.finish(0, a)
	l.make(1, "b", "c")
	l.wantNews(second, "a executed", "b executed", "c executed")
	l.claimNone(0)
	if _, news := l.news(first); !news.Held {
		l.Error("the run that was held does not say so")
	}
}

// What was ready when a run was held, and that nobody asked for since, is claimed for the
// next run, once.
func resumeUnclaimed(l *lab) {
	s := submission(node("a"), node("b", "a"))
	l.hold(l.submit(s), false)
	again := l.submit(s)
	l.make(0, "a", "b")
	l.claimNone(1)
	l.wantNews(again, "a executed", "b executed")
}

// What was left of a run that was held is queued by the next.
func resume(l *lab) {
	s := submission(node("a"), node("b", "a"))
	first := l.submit(s)
	l.claimNode(0, "a")
	l.hold(first, true)
	l.news(first)
	second := l.submit(s)
	if second == first {
		l.Fatal("a submission attached to a run that was held")
	}
	l.make(1, "a", "b")
	l.wantNews(second, "a executed", "b executed")
}
