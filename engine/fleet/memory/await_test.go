package memory

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
)

func nodeOf(name string, needs ...string) fleet.Node {
	n := fleet.Node{Key: cache.Key(cache.DigestOf([]byte(name))), Address: name, Kind: "make", Class: fleet.CPU, Priority: 2}
	for _, need := range needs {
		n.Needs = append(n.Needs, cache.Key(cache.DigestOf([]byte(need))))
	}
	return n
}

func submit(t *testing.T, q *Queue, nodes ...fleet.Node) fleet.RunID {
	t.Helper()
	id, err := q.Submit(t.Context(), fleet.Submission{Experiment: nodes[0].Address, Planned: q.clock.Now(), Attempts: 3, Deaths: 3, Nodes: nodes})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// still is a clock that others move.
type still struct {
	now   time.Time
	calls []func()
}

func (c *still) Now() time.Time { return c.now }

func (c *still) AfterFunc(d time.Duration, f func()) func() bool {
	at, asked := c.now.Add(d), true
	c.calls = append(c.calls, func() {
		if asked && !c.now.Before(at) {
			asked = false
			f()
		}
	})
	return func() bool { was := asked; asked = false; return was }
}

// pass lets time pass.
func (c *still) pass(d time.Duration) {
	c.now = c.now.Add(d)
	for _, call := range slices.Clone(c.calls) {
		call()
	}
}

var cpu = []fleet.Class{fleet.CPU}

// Who waits is called back once, in the order of asking, and not after having given up.
func TestAwait(t *testing.T) {
	t.Parallel()
	q := New(Options{Clock: &still{}})
	var got []string
	ask := func(worker string) func() bool {
		return q.Await(fleet.Offer{Worker: worker, Classes: cpu}, func(c *fleet.Claim) { got = append(got, worker+" "+c.Address) })
	}
	first, gone, third := ask("first"), ask("gone"), ask("third")
	if !gone() || gone() {
		t.Error("giving up did not work, or worked twice")
	}
	submit(t, q, nodeOf("a"))
	submit(t, q, nodeOf("b"))
	submit(t, q, nodeOf("c"))
	if want := []string{"first a", "third b"}; !slices.Equal(got, want) {
		t.Errorf("handed out %v, want %v", got, want)
	}
	if first() || third() {
		t.Error("who had been served gave up")
	}
}

// What is delayed is handed out by the clock alone.
func TestClock_delays(t *testing.T) {
	t.Parallel()
	clock := &still{now: time.Unix(1e9, 0)}
	q := New(Options{Clock: clock})
	submit(t, q, nodeOf("a"))
	claims := 0
	var last *fleet.Claim
	ask := func() {
		q.Await(fleet.Offer{Worker: "w", Classes: cpu}, func(c *fleet.Claim) { claims, last = claims+1, c })
	}
	ask()
	if err := q.Fail(t.Context(), last, fleet.Failure{Text: "no", MayPass: true, After: time.Minute}); err != nil {
		t.Fatal(err)
	}
	ask()
	clock.pass(59 * time.Second)
	if claims != 1 {
		t.Fatal("handed out before its time")
	}
	clock.pass(time.Second)
	if claims != 2 || last.Attempt != 2 {
		t.Errorf("%d claims, the last is attempt %d; want 2 and 2", claims, last.Attempt)
	}
}

// Lines do not grow with offers that were served elsewhere.
func TestAwait_linesStayShort(t *testing.T) {
	t.Parallel()
	q := New(Options{Clock: &still{}})
	cancel := q.Await(fleet.Offer{Worker: "idle", Classes: []fleet.Class{fleet.Accelerator}}, func(*fleet.Claim) { t.Error("served") })
	for i := range 1000 {
		submit(t, q, nodeOf(fmt.Sprint("n", i)))
		q.Await(fleet.Offer{Worker: "busy", Classes: []fleet.Class{fleet.CPU, fleet.Accelerator}}, func(c *fleet.Claim) {
			if err := q.Finish(context.Background(), c, fleet.Result{Made: engine.Made{Key: c.Key}}); err != nil {
				t.Error(err)
			}
		})
	}
	if n := len(q.waiting.lines[fleet.Accelerator]); n > 50 {
		t.Errorf("%d stand in line, of whom one waits", n)
	}
	if !cancel() {
		t.Error("who was never served cannot give up")
	}
}

// A reader of what was lost is not backed up while that is made again.
func TestBackUp_notWithoutItsNeeds(t *testing.T) {
	t.Parallel()
	clock := &still{now: time.Unix(1e9, 0)}
	q := New(Options{Clock: clock, Backups: fleet.Backups{Samples: 1, AtLeast: time.Second}})
	submit(t, q, nodeOf("a"), nodeOf("b", "a"), nodeOf("c", "a"))
	claim := func(worker string) (got *fleet.Claim) {
		q.Await(fleet.Offer{Worker: worker, Classes: cpu}, func(c *fleet.Claim) { got = c })
		return got
	}
	finish := func(c *fleet.Claim) {
		if err := q.Finish(t.Context(), c, fleet.Result{Made: engine.Made{Key: c.Key, Outputs: []cache.Blob{{Name: "out"}}}, Completion: engine.Executed, Wall: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	finish(claim("w1"))
	slow, finder := claim("w1"), claim("w2")
	if err := q.Lose(t.Context(), finder, []fleet.Loss{{Key: finder.Needs[0]}}); err != nil {
		t.Fatal(err)
	}
	a := claim("w2")
	var second *fleet.Claim
	q.Await(fleet.Offer{Worker: "w3", Classes: cpu}, func(c *fleet.Claim) { second = c })
	clock.pass(time.Minute)
	if second != nil && second.Key == slow.Key {
		t.Fatal("what needs a lost result was claimed a second time")
	}
	// The lost one itself may be.
	if second == nil || second.Key != a.Key || !second.Again {
		t.Errorf("the second claim is %+v, want one of %s", second, a.Address)
	}
}

// The heap gives nodes in order, whatever is taken out between.
func TestHeap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := &heap{before: func(a, b *node) bool { return a.before(b, a.since.Compare(b.since)) }}
		var inside []*node
		for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
			if len(inside) > 0 && rapid.IntRange(0, 2).Draw(t, "remove") == 0 {
				at := rapid.IntRange(0, len(inside)-1).Draw(t, "which")
				h.remove(inside[at])
				if inside[at].in != nil {
					t.Fatal("a node that was taken out says that it is inside")
				}
				inside = slices.Delete(inside, at, at+1)
			} else {
				n := &node{Node: nodeOf(fmt.Sprint(i)), since: time.Unix(rapid.Int64Range(0, 3).Draw(t, "since"), 0)}
				n.Priority = rapid.IntRange(1, 4).Draw(t, "priority")
				h.push(n)
				inside = append(inside, n)
			}
			for place, n := range h.nodes {
				if n.at != place || n.in != h {
					t.Fatalf("the node in place %d says that it is in %d", place, n.at)
				}
				if n.before(h.nodes[0], n.since.Compare(h.nodes[0].since)) {
					t.Fatal("the first is not the first")
				}
			}
			if len(h.nodes) != len(inside) {
				t.Fatalf("%d nodes inside, want %d", len(h.nodes), len(inside))
			}
		}
	})
}
