package queuetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
)

// lab is a queue under test, with the words of the cases.
type lab struct {
	Lab
	*testing.T
}

var everyClass = []fleet.Class{fleet.CPU, fleet.Network, fleet.Accelerator}

func keyOf(name string) cache.Key { return cache.Key(cache.DigestOf([]byte("node " + name))) }

// node is a node of that name that needs those of the others.
func node(name string, needs ...string) fleet.Node {
	n := fleet.Node{
		Key: keyOf(name), Address: name, Kind: "make", Version: "1", Class: fleet.CPU, Priority: 2,
		Reason: engine.Reason{Kind: engine.ReasonNew}, Single: true,
	}
	for _, need := range needs {
		n.Needs = append(n.Needs, keyOf(need))
	}
	return n
}

// submission is one of nodes, planned now.
func submission(nodes ...fleet.Node) fleet.Submission {
	var names strings.Builder
	for _, n := range nodes {
		fmt.Fprintf(&names, "%s\n", n.Address)
	}
	return fleet.Submission{
		Experiment: "lab", Graph: cache.DigestOf([]byte(names.String())), Bundle: cache.DigestOf([]byte("bundle " + names.String())),
		By: "somebody", Planned: time.Now(), Attempts: 3, Deaths: 3, Nodes: nodes,
	}
}

// result is what a node of that name comes to.
func result(name, content string) fleet.Result {
	d := cache.DigestOf([]byte(content))
	return fleet.Result{
		Made: engine.Made{
			Key:     cache.Key(cache.DigestOf([]byte("content of " + name))),
			Outputs: []cache.Blob{{Name: "out", Digest: d, Size: int64(len(content))}},
		},
		Completion: engine.Executed, Wall: time.Millisecond, CPU: time.Millisecond / 2,
	}
}

// soon ends when patience does.
func (l *lab) soon() context.Context {
	ctx, cancel := context.WithTimeoutCause(l.Context(), l.Patience, errors.New("patience is at its end"))
	l.Cleanup(cancel)
	return ctx
}

func (l *lab) submit(s fleet.Submission) fleet.RunID {
	l.Helper()
	id, err := l.Workers[0].Submit(l.soon(), s)
	if err != nil {
		l.Fatalf("submit: %v", err)
	}
	return id
}

// claim claims the next node, by the worker of that place.
func (l *lab) claim(w int) *fleet.Claim {
	l.Helper()
	return l.claimOf(w, everyClass...)
}

func (l *lab) claimOf(w int, classes ...fleet.Class) *fleet.Claim {
	l.Helper()
	c, err := l.Workers[w].Claim(l.soon(), fleet.Offer{Worker: l.Workers[w].Name, Classes: classes})
	if err != nil {
		l.Fatalf("claim: %v", err)
	}
	return c
}

// claimNode claims the next node, which is to be that of a name.
func (l *lab) claimNode(w int, name string) *fleet.Claim {
	l.Helper()
	c := l.claim(w)
	if c.Address != name || c.Key != keyOf(name) {
		l.Fatalf("claimed %s, want %s", c.Address, name)
	}
	return c
}

// claimNone sees to it that nothing can be claimed.
func (l *lab) claimNone(w int, classes ...fleet.Class) {
	l.Helper()
	if len(classes) == 0 {
		classes = everyClass
	}
	silence := errors.New("silence")
	ctx, cancel := context.WithTimeoutCause(l.Context(), l.Quiet, silence)
	defer cancel()
	c, err := l.Workers[w].Claim(ctx, fleet.Offer{Worker: l.Workers[w].Name, Classes: classes})
	switch {
	case err == nil:
		l.Fatalf("claimed %s, want nothing", c.Address)
	case !errors.Is(err, silence):
		l.Fatalf("claim ended with %v, want the context's cause", err)
	}
}

func (l *lab) finish(w int, c *fleet.Claim) {
	l.Helper()
	l.finishWith(w, c, result(c.Address, c.Address))
}

func (l *lab) finishWith(w int, c *fleet.Claim, r fleet.Result) {
	l.Helper()
	if err := l.Workers[w].Finish(l.soon(), c, r); err != nil {
		l.Fatalf("finish %s: %v", c.Address, err)
	}
}

func (l *lab) fail(w int, c *fleet.Claim, f fleet.Failure) {
	l.Helper()
	if err := l.Workers[w].Fail(l.soon(), c, f); err != nil {
		l.Fatalf("fail %s: %v", c.Address, err)
	}
}

func (l *lab) hold(run fleet.RunID, stop bool) {
	l.Helper()
	if err := l.Workers[1].Hold(l.soon(), run, stop); err != nil {
		l.Fatalf("hold: %v", err)
	}
}

// make claims and finishes the nodes of these names in this order.
func (l *lab) make(w int, names ...string) {
	l.Helper()
	for _, name := range names {
		l.finish(w, l.claimNode(w, name))
	}
}

// news are all notices of a run, to its end, and what Follow said last.
func (l *lab) news(run fleet.RunID) ([]fleet.Notice, fleet.News) {
	l.Helper()
	return l.newsFrom(0, run, fleet.Cursor{})
}

func (l *lab) newsFrom(w int, run fleet.RunID, after fleet.Cursor) (all []fleet.Notice, last fleet.News) {
	l.Helper()
	ctx := l.soon()
	last.Cursor = after
	for !last.Ended {
		var err error
		if last, err = l.Workers[w].Follow(ctx, run, last.Cursor); err != nil {
			l.Fatalf("follow: %v; until then %v", err, say(all))
		}
		all = append(all, last.Notices...)
	}
	return all, last
}

// say are notices in few words, without what a queue may tell besides.
func say(notices []fleet.Notice) []string {
	names := map[cache.Key]string{}
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		names[keyOf(string(c))] = string(c)
	}
	var out []string
	for _, n := range notices {
		name, ok := names[n.Node]
		if !ok {
			name = n.Node.String()
		}
		switch n.Type {
		case engine.EventStart, engine.EventWaiting, engine.EventProgress:
		case engine.EventComplete:
			out = append(out, fmt.Sprintf("%s %s", name, n.Completion))
		case engine.EventBlocked:
			out = append(out, fmt.Sprintf("%s blocked by %s", name, n.Message))
		case engine.EventErrored:
			out = append(out, fmt.Sprintf("%s %s", name, n.State))
		case engine.EventRetry:
			out = append(out, fmt.Sprintf("%s again", name))
		default:
			out = append(out, fmt.Sprintf("%s %s %s", name, n.Type, n.Message))
		}
	}
	return out
}

// wantNews sees to it that a run has ended with these notices, in this order.
func (l *lab) wantNews(run fleet.RunID, want ...string) []fleet.Notice {
	l.Helper()
	all, _ := l.news(run)
	if got, want := strings.Join(say(all), "; "), strings.Join(want, "; "); got != want {
		l.Errorf("the notices say\n%s\nwant\n%s", got, want)
	}
	return all
}

// run is how a run stands.
func (l *lab) run(id fleet.RunID) fleet.RunStatus {
	l.Helper()
	s, err := l.Workers[0].Status(l.soon(), time.Now().Add(-time.Hour))
	if err != nil {
		l.Fatalf("status: %v", err)
	}
	for _, r := range s.Runs {
		if r.ID == id {
			return r
		}
	}
	l.Fatalf("the status has no run %d", id)
	return fleet.RunStatus{}
}

// wantRun sees to it that a run stands like that: counts of waiting, ready, claimed,
// done, failed and blocked nodes.
func (l *lab) wantRun(id fleet.RunID, state fleet.RunState, counts ...int) {
	l.Helper()
	r := l.run(id)
	got := fmt.Sprint(r.State, []int{r.Waiting, r.Ready, r.Claimed, r.Done, r.Failed, r.Blocked})
	if want := fmt.Sprint(state, counts); got != want {
		l.Errorf("the run is %s, want %s", got, want)
	}
	if ended := state != fleet.RunWorking && state != fleet.RunHeld; ended == r.Ended.IsZero() {
		l.Errorf("a run that is %s ended at %v", r.State, r.Ended)
	}
}

// wantLost sees to it that a claim is its worker's no longer, whatever is done with it.
func (l *lab) wantLost(w int, c *fleet.Claim) {
	l.Helper()
	q, ctx := l.Workers[w].Queue, l.soon()
	for what, err := range map[string]error{
		"renew":  q.Renew(ctx, c),
		"finish": q.Finish(ctx, c, result(c.Address, "late")),
		"fail":   q.Fail(ctx, c, fleet.Failure{Text: "late", Class: fleet.StageFailure}),
		"return": q.Return(ctx, c, "late", 0),
	} {
		if !errors.Is(err, fleet.ErrClaimLost) {
			l.Errorf("%s under a lost claim on %s: %v, want ErrClaimLost", what, c.Address, err)
		}
	}
	for need := range c.From {
		if err := q.Lose(ctx, c, []fleet.Loss{{Key: need}}); !errors.Is(err, fleet.ErrClaimLost) {
			l.Errorf("lose under a lost claim on %s: %v, want ErrClaimLost", c.Address, err)
		}
	}
}
