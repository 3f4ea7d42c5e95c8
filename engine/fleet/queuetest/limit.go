package queuetest

import (
	"fmt"
	"runtime"
	"sync"

	"raglab/engine/fleet"
)

func limitCases() []testCase {
	return []testCase{
		{"limits", limits},
		{"limits are given back", limitsGivenBack},
		{"limit over two runs", limitOverRuns},
	}
}

// No more nodes run than a limit admits, over all workers; the others are not kept
// waiting.
func limits(l *lab) {
	var nodes []fleet.Node
	for i := range 60 {
		n := node(fmt.Sprint("n", i))
		for name, every := range map[string]int{"api": 2, "disk": 3} {
			if i%every == 0 {
				n.Limits = append(n.Limits, name)
			}
		}
		nodes = append(nodes, n)
	}
	s := submission(nodes...)
	s.Limits = map[string]int{"api": 3, "disk": 2}
	run := l.submit(s)
	var mu sync.Mutex
	now, most := map[string]int{}, map[string]int{}
	l.drain(16, run, func(w int, c *fleet.Claim) error {
		mu.Lock()
		for _, name := range c.Limits {
			now[name]++
			most[name] = max(most[name], now[name])
		}
		mu.Unlock()
		for range 200 {
			runtime.Gosched()
		}
		mu.Lock()
		for _, name := range c.Limits {
			now[name]--
		}
		mu.Unlock()
		return l.Workers[w].Finish(l.soon(), c, result(c.Address, c.Address))
	})
	for name, limit := range s.Limits {
		if most[name] > limit || most[name] == 0 {
			l.Errorf("%d nodes of %s ran at a time, want at most %d", most[name], name, limit)
		}
	}
	l.wantRun(run, fleet.RunDone, 0, 0, 0, 60, 0, 0)
}

func limited(name string, needs ...string) fleet.Node {
	n := node(name, needs...)
	n.Limits = []string{"api"}
	return n
}

// Every end of a claim gives its place back.
func limitsGivenBack(l *lab) {
	s := submission(node("m"), limited("a", "m"), limited("b", "m"))
	s.Limits = map[string]int{"api": 1}
	run := l.submit(s)
	l.make(0, "m")
	c := l.claim(0)
	l.claimNone(1)
	if err := l.Workers[0].Return(l.soon(), c, "busy", 0); err != nil {
		l.Fatal(err)
	}
	l.fail(0, l.claim(0), mayPass)
	c = l.claim(1)
	l.claimNone(0)
	l.lose(1, c, "m")
	l.make(0, "m")
	l.finish(0, l.claim(0))
	l.claim(0)
	l.hold(run, true)
	s = submission(limited("c"))
	s.Limits = map[string]int{"api": 1}
	l.submit(s)
	l.make(0, "c")
}

// A limit of that name is one limit, whoever submits.
func limitOverRuns(l *lab) {
	for _, name := range []string{"a", "b"} {
		s := submission(limited(name))
		s.Limits = map[string]int{"api": 1}
		l.submit(s)
	}
	c := l.claim(0)
	l.claimNone(1)
	l.finish(0, c)
	l.finish(1, l.claim(1))
}
