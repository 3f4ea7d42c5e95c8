package queuetest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
)

func releaseCases() []testCase {
	return []testCase{
		{"chain", chain},
		{"diamond", diamond},
		{"made", made},
		{"nothing to do", nothingToDo},
		{"bad submission", badSubmission},
		{"priorities", priorities},
		{"classes", classes},
		{"each once", eachOnce},
	}
}

// A node is claimed when what it needs is done, with the results of that.
func chain(l *lab) {
	run := l.submit(submission(node("a"), node("b", "a"), node("c", "b")))
	l.wantRun(run, fleet.RunWorking, 2, 1, 0, 0, 0, 0)
	a := l.claimNode(0, "a")
	if a.Attempt != 1 || a.Again || len(a.From) != 0 || a.Bundle != submission(node("a"), node("b", "a"), node("c", "b")).Bundle {
		l.Errorf("claim %+v", a)
	}
	l.wantRun(run, fleet.RunWorking, 2, 0, 1, 0, 0, 0)
	l.claimNone(1)
	l.finishWith(0, a, result("a", "content"))
	b := l.claimNode(1, "b")
	if from := b.From[keyOf("a")]; from.Key != result("a", "").Key || len(from.Outputs) != 1 || from.Outputs[0] != result("a", "content").Outputs[0] {
		l.Errorf("b is to read %+v", b.From)
	}
	l.finish(1, b)
	l.make(0, "c")
	all := l.wantNews(run, "a executed", "b executed", "c executed")
	if n := all[0]; n.Key != result("a", "").Key || len(n.Outputs) != 1 || n.Wall != time.Millisecond || n.CPU != time.Millisecond/2 || n.Attempt != 1 || n.Reason.Kind != engine.ReasonNew || n.Worker != l.Workers[0].Name {
		l.Errorf("notice %+v", n)
	}
	l.wantRun(run, fleet.RunDone, 0, 0, 0, 3, 0, 0)
}

func diamond(l *lab) {
	run := l.submit(submission(node("a"), node("b", "a"), node("c", "a"), node("d", "b", "c")))
	l.make(0, "a")
	first, second := l.claim(0), l.claim(1)
	l.claimNone(0)
	l.finish(1, second)
	l.claimNone(0)
	l.finish(0, first)
	d := l.claimNode(1, "d")
	if len(d.From) != 2 {
		l.Errorf("d is to read %+v", d.From)
	}
	l.finish(1, d)
	l.wantRun(run, fleet.RunDone, 0, 0, 0, 4, 0, 0)
}

// What is in the store already is not claimed, and is handed to what reads it.
func made(l *lab) {
	a := node("a")
	m := result("a", "old").Made
	a.Made = &m
	run := l.submit(submission(a, node("b", "a")))
	b := l.claimNode(0, "b")
	if from := b.From[keyOf("a")]; from.Key != m.Key || len(from.Outputs) != 1 || from.Outputs[0] != m.Outputs[0] {
		l.Errorf("b is to read %+v", b.From)
	}
	l.finish(0, b)
	l.wantNews(run, "b executed")
}

func nothingToDo(l *lab) {
	l.wantNews(l.submit(submission()))
	a := node("a")
	m := result("a", "old").Made
	a.Made = &m
	run := l.submit(submission(a))
	l.wantNews(run)
	l.wantRun(run, fleet.RunDone, 0, 0, 0, 1, 0, 0)
	l.claimNone(0)
}

// A submission that is wrong adds nothing.
func badSubmission(l *lab) {
	for what, nodes := range map[string][]fleet.Node{
		"a need behind what needs it": {node("b", "a"), node("a")},
		"a need that is not there":    {node("a"), node("b", "z")},
		"a key twice":                 {node("a"), node("a")},
	} {
		if _, err := l.Workers[0].Submit(l.soon(), submission(nodes...)); err == nil {
			l.Errorf("%s was taken", what)
		}
	}
	l.claimNone(0)
	if _, err := l.Workers[0].Follow(l.soon(), 4711, fleet.Cursor{}); err == nil {
		l.Errorf("a run that is not there was followed")
	}
}

// The order is priority, then since when ready, then key.
func priorities(l *lab) {
	var nodes []fleet.Node
	for p := 4; p >= 1; p-- {
		n := node(fmt.Sprint("p", p))
		n.Priority = p
		nodes = append(nodes, n)
	}
	l.submit(submission(nodes...))
	for p := 1; p <= 4; p++ {
		l.make(p%2, fmt.Sprint("p", p))
	}
	first := node("first")
	second, third := node("second"), node("third")
	if third.Key.String() < second.Key.String() {
		second, third = third, second
	}
	l.submit(submission(first))
	l.submit(submission(third, second))
	l.make(0, "first", second.Address, third.Address)
}

// A worker is given what is of its classes.
func classes(l *lab) {
	cpu, network, accelerator := node("c"), node("n"), node("a")
	cpu.Priority, network.Class, accelerator.Class = 4, fleet.Network, fleet.Accelerator
	l.submit(submission(accelerator, network, cpu))
	c := l.claimOf(0, fleet.CPU)
	if c.Address != "c" || c.Class != fleet.CPU {
		l.Errorf("a worker of cpu was given %s", c.Address)
	}
	l.finish(0, c)
	l.claimNone(0, fleet.CPU)
	got := map[string]bool{}
	for range 2 {
		c := l.claimOf(1, fleet.Network, fleet.Accelerator)
		got[c.Address] = true
		l.finish(1, c)
	}
	if !got["n"] || !got["a"] {
		l.Errorf("a worker of two classes was given %v", got)
	}
}

// Fifty claimers at once make each node once, and none before what it needs.
func eachOnce(l *lab) {
	const nodes, claimers = 300, 50
	run := l.submit(submission(randomGraph(nodes)...))
	var mu sync.Mutex
	ended := map[cache.Key]bool{}
	claimed := map[cache.Key]int{}
	l.drain(claimers, run, func(w int, c *fleet.Claim) error {
		mu.Lock()
		claimed[c.Key]++
		for _, need := range c.Needs {
			if !ended[need] || len(c.From[need].Outputs) != 1 {
				l.Errorf("%s was claimed before what it needs was done", c.Address)
			}
		}
		ended[c.Key] = true
		mu.Unlock()
		return l.Workers[w].Finish(l.soon(), c, result(c.Address, c.Address))
	})
	for k, n := range claimed {
		if n != 1 {
			l.Errorf("%s was claimed %d times", k, n)
		}
	}
	l.wantRun(run, fleet.RunDone, 0, 0, 0, nodes, 0, 0)
	complete := map[cache.Key]int{}
	all, _ := l.news(run)
	for _, n := range all {
		complete[n.Node]++
	}
	if len(complete) != nodes || len(all) != nodes {
		l.Errorf("%d notices about %d nodes, want one about each of %d", len(all), len(complete), nodes)
	}
}

// randomGraph are nodes each of which needs up to three that stand before it.
func randomGraph(n int) []fleet.Node {
	random := rand.New(rand.NewPCG(1, 2))
	nodes := make([]fleet.Node, n)
	for i := range nodes {
		var needs []string
		for range random.IntN(4) {
			if i > 0 {
				needs = append(needs, fmt.Sprint("n", random.IntN(i)))
			}
		}
		nodes[i] = node(fmt.Sprint("n", i), distinct(needs)...)
		nodes[i].Class = everyClass[random.IntN(len(everyClass))]
		nodes[i].Priority = 1 + random.IntN(4)
	}
	return nodes
}

func distinct(names []string) (out []string) {
	seen := map[string]bool{}
	for _, n := range names {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}
