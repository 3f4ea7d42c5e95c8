package queuetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
)

func followCases() []testCase {
	return []testCase{
		{"follow", follow},
		{"follow while many write", followConcurrent},
		{"follow ends with its context", followContext},
	}
}

// What workers tell arrives with what the queue tells, in order.
func follow(l *lab) {
	run := l.submit(submission(node("a")))
	c := l.claimNode(0, "a")
	for _, n := range []fleet.Notice{
		{Type: engine.EventStart, Key: result("a", "").Key},
		{Type: engine.EventProgress, Done: 3, Total: 10, Unit: "texts"},
		{Type: engine.EventWarning, Message: "slow"},
	} {
		if err := l.Workers[0].Tell(l.soon(), c, n); err != nil {
			l.Fatal(err)
		}
	}
	l.finish(0, c)
	all, news := l.news(run)
	var seen []engine.EventType
	for _, n := range all {
		if n.Node != keyOf("a") || n.Worker != l.Workers[0].Name || n.Attempt != 1 || n.Time.IsZero() {
			l.Errorf("notice %+v", n)
		}
		if n.Type != engine.EventProgress {
			seen = append(seen, n.Type)
		}
	}
	want := []engine.EventType{engine.EventStart, engine.EventWarning, engine.EventComplete}
	if fmt.Sprint(seen) != fmt.Sprint(want) || all[0].Key != result("a", "").Key {
		l.Errorf("the notices say %v, want %v", seen, want)
	}
	if again, err := l.Workers[1].Follow(l.soon(), run, news.Cursor); err != nil || !again.Ended || len(again.Notices) != 0 {
		l.Errorf("after the end: %+v, %v", again, err)
	}
}

// Notices of writers that write at once are neither skipped nor doubled, all followers
// see one order, and going on from any cursor gives the rest.
func followConcurrent(l *lab) {
	const nodes, claimers, warnings = 120, 16, 3
	s := submission(randomGraph(nodes)...)
	run := l.submit(s)
	seen := make([][]fleet.Notice, 3)
	var followers sync.WaitGroup
	for i := range seen {
		followers.Go(func() { seen[i], _ = l.newsFrom(i%len(l.Workers), run, fleet.Cursor{}) })
	}
	l.drain(claimers, run, func(w int, c *fleet.Claim) error {
		for i := range warnings {
			if err := l.Workers[w].Tell(l.soon(), c, fleet.Notice{Type: engine.EventWarning, Message: fmt.Sprint(i)}); err != nil {
				return err
			}
		}
		return l.Workers[w].Finish(l.soon(), c, result(c.Address, c.Address))
	})
	followers.Wait()
	late, _ := l.news(run)
	for i, other := range append(seen, late) {
		l.wantSame(i, seen[0], other)
	}
	count := map[cache.Key]int{}
	for _, n := range seen[0] {
		if want := fmt.Sprint(count[n.Node]); n.Type == engine.EventWarning && n.Message != want {
			l.Errorf("warning %s of %s, want %s: a worker's notices are out of order", n.Message, n.Node, want)
		}
		count[n.Node]++
	}
	for k, n := range count {
		if n != warnings+1 {
			l.Errorf("%d notices about %s, want %d", n, k, warnings+1)
		}
	}
	if len(count) != nodes {
		l.Errorf("notices about %d nodes, want %d", len(count), nodes)
	}
	for at := 0; at < len(late); at += 37 {
		rest, _ := l.newsFrom(at%len(l.Workers), run, late[at].Cursor)
		l.wantSame(at, late[at+1:], rest)
	}
}

func (l *lab) wantSame(which int, want, got []fleet.Notice) {
	l.Helper()
	if len(got) != len(want) {
		l.Errorf("follower %d saw %d notices, another %d", which, len(got), len(want))
		return
	}
	for i := range got {
		if got[i].Cursor != want[i].Cursor || got[i].Node != want[i].Node || got[i].Type != want[i].Type || got[i].Message != want[i].Message {
			l.Errorf("notice %d of follower %d is %+v, of another %+v", i, which, got[i], want[i])
			return
		}
	}
}

func followContext(l *lab) {
	run := l.submit(submission(node("a")))
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(l.soon())
	ended := make(chan error)
	go func() {
		var err error
		for news := (fleet.News{}); err == nil; {
			news, err = l.Workers[1].Follow(ctx, run, news.Cursor)
		}
		ended <- err
	}()
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		l.Errorf("follow ended with %v, want the context's cause", err)
	}
}
