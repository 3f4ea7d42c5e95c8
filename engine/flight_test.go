package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"raglab/cache"
)

// twins adds n stages whose content key is the same although their plan keys
// are not: they read equal bytes of different stages.
func twins(l *lab, n int, do func(context.Context, *Task) error) []*Stage {
	var out []*Stage
	for i := range n {
		from := l.addStep(pureKind, fmt.Sprintf("make[from %d]", i), fmt.Sprint(i), constant)
		out = append(out, l.addStep(pureKind, fmt.Sprintf("make[twin %d]", i), "twin", do, from))
	}
	return out
}

func ranOf(stages []*Stage) int {
	n := 0
	for _, s := range stages {
		n += runs(s)
	}
	return n
}

func TestApply_singleFlight(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.ex.Capacity.CPU = 8
	g := newGate()
	all := twins(l, 50, g.through(join("x")))
	end := l.add(pureKind, "make[end]", "e", all...)
	var settled int
	l.ex.Events = func(e Event) {
		l.event(e)
		// The twin runs until all others have asked for its result.
		if e.Type == EventComplete && strings.HasPrefix(e.Stage.Address, "make[from") {
			if settled++; settled == 50 {
				close(g.leave)
			}
		}
	}
	out := l.done()
	if n := ranOf(all); n != 1 {
		t.Errorf("one piece of work was done %d times", n)
	}
	if out.Executed != 52 || out.Shared != 49 {
		t.Errorf("executed %d, shared %d; want 52 and 49", out.Executed, out.Shared)
	}
	if got := l.read(out, end); got != "e"+strings.Repeat("(x(same))", 50) {
		t.Errorf("the end is %q", got)
	}
}

// When the work that twins share fails, the cause is told once.
func TestApply_sharedFailure(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.ex.Capacity.CPU = 8
	g := newGate()
	all := twins(l, 3, g.through(fails))
	for i, s := range all {
		l.add(pureKind, fmt.Sprintf("make[end %d]", i), fmt.Sprint("end", i), s)
	}
	settled := 0
	l.ex.Events = func(e Event) {
		if e.Type == EventComplete {
			if settled++; settled == 3 {
				close(g.leave)
			}
		}
	}
	out := l.apply()
	count := map[StageState]int{}
	for _, s := range out.State {
		count[s]++
	}
	if len(out.Failures) != 1 || count[StateFailed] != 1 || count[StateBlocked] != 5 || count[StateDone] != 3 {
		t.Errorf("%d failures, states %v", len(out.Failures), count)
	}
}

// A stage found in the cache releases its readers; none of them is begun twice.
// (It was planned to run; another process made it before the apply began.)
func TestApply_foundAfterPlan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	build := func(l *lab) *Stage {
		a := l.add(pureKind, "make[a]", "a")
		b := l.add(pureKind, "make[b]", "b", a)
		c := l.add(pureKind, "make[c]", "c", a)
		l.add(pureKind, "make[d]", "d", b, c)
		return b
	}
	l := labIn(t, dir)
	b := build(l)
	p := l.plan()
	other := labIn(t, dir)
	other.add(pureKind, "make[a]", "a")
	other.done()
	out := l.applyPlan(t.Context(), p)
	l.wantDone(out)
	if runs(b) != 1 || out.Executed != 3 || out.Hits != 1 || out.Shared != 0 {
		t.Errorf("b ran %d times; executed %d, hits %d, shared %d", runs(b), out.Executed, out.Hits, out.Shared)
	}
	if got := l.read(out, l.graph.Stages[3]); got != "d(b(a))(c(a))" {
		t.Errorf("the end is %q", got)
	}
	for _, s := range l.graph.Stages {
		complete := 0
		for _, e := range l.took() {
			if e.Type == EventComplete && e.Stage == s {
				complete++
			}
		}
		if complete > 1 {
			t.Errorf("%s completed %d times", s.Address, complete)
		}
	}
}

// otherHolds takes the lease of a stage's key as another process would.
func otherHolds(l *lab, k cache.Key) *cache.Lease {
	l.Helper()
	other := openStore(l, l.store.Dir(), cache.Options{NoSync: true, Command: "raglab apply other.hcl"})
	lease, err := other.Acquire(l.Context(), k, cache.LeaseRequest{})
	if err != nil {
		l.Fatal(err)
	}
	return lease
}

// Two applies over one cache do the work once: the second waits, says for whom,
// and takes the first one's result. Twins wait with it.
func TestApply_waitsForOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := newGate()
	first, second := labIn(t, dir), labIn(t, dir)
	made := first.addStep(volatileKind, "roll[a]", "a", g.through(random()))
	mine := second.addStep(volatileKind, "roll[a]", "a", random())
	reader := second.add(pureKind, "make[reader]", "r", mine)
	waits := make(chan Event, 100)
	second.ex.Events = func(e Event) {
		second.event(e)
		if e.Type == EventWaiting {
			waits <- e
		}
	}
	firstOut, secondOut := make(chan *Outcomes, 1), make(chan *Outcomes, 1)
	go func() { firstOut <- first.apply() }()
	<-g.entered
	go func() { secondOut <- second.apply() }()
	e := <-waits
	if e.Stage != mine || e.Holder.PID == 0 || e.Key.IsZero() {
		t.Errorf("waiting for %+v", e)
	}
	close(g.leave)
	a, b := <-firstOut, <-secondOut
	first.wantDone(a)
	second.wantDone(b)
	if runs(made) != 1 || runs(mine) != 0 || b.Hits != 1 || b.Executed != 1 {
		t.Errorf("ran %d and %d times, hits %d", runs(made), runs(mine), b.Hits)
	}
	if got, want := second.read(b, reader), "r("+first.read(a, made)+")"; got != want {
		t.Errorf("the second has %q, want %q", got, want)
	}
	if n := strings.Count(tell(second.took()), "apply_waiting"); n != 1 {
		t.Errorf("told %d times that it waits", n)
	}
}

// A holder that gives up without a result: the one who waited makes it, and
// those who share its key share the result.
func TestApply_otherGivesUp(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	all := twins(l, 3, join("x"))
	probe := newStage(pureKind, "make[probe]", "twin", nil, all[0].Inputs[0].From)
	key, _ := contentKey(nil, probe, probe.Fields, []cache.Blob{{Name: "out", Digest: cache.DigestOf([]byte("same"))}})
	lease := otherHolds(l, key)
	l.ex.Events = func(e Event) {
		l.event(e)
		if e.Type == EventWaiting {
			if err := lease.Release(); err != nil {
				t.Error(err)
			}
		}
	}
	out := l.done()
	if ranOf(all) != 1 || out.Executed != 4 || out.Shared+out.Hits != 2 {
		t.Errorf("ran %d times, executed %d, shared %d, hits %d", ranOf(all), out.Executed, out.Shared, out.Hits)
	}
}

// While a key is locked, everything that does not need it goes on: to look
// whether it is free takes nothing, even for a stage that wants all threads.
func TestApply_lockedStageHoldsNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	locked := newStage(pureKind, "make[locked]", "l", join("l"))
	locked.Needs = l.ex.Capacity
	l.graph.Add(locked)
	lease := otherHolds(l, l.plan().Stages[0].Key)
	chained := make(chan struct{})
	l.addStep(pureKind, "make[long]", "long", func(_ context.Context, t *Task) error {
		<-chained
		return t.Write("out", nil)
	})
	var from []*Stage
	for i := range 20 {
		from = []*Stage{l.add(pureKind, fmt.Sprintf("make[%d]", i), fmt.Sprint(i), from...)}
	}
	left := len(l.graph.Stages) - 1
	l.ex.Events = func(e Event) {
		if e.Type != EventComplete {
			return
		}
		if e.Stage == from[0] {
			close(chained)
		}
		if left--; left == 0 {
			if err := lease.Release(); err != nil {
				t.Error(err)
			}
		}
	}
	l.done()
}

func TestApply_lockTimeout(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.ex.LockTimeout = 1
	s := l.add(pureKind, "make[a]", "a")
	l.add(pureKind, "make[reader]", "r", s)
	other := l.add(pureKind, "make[b]", "b")
	lease := otherHolds(l, l.plan().Stages[0].Key)
	out := l.apply()
	if err := out.Err(); !errors.Is(err, cache.ErrLocked) || !strings.Contains(err.Error(), "raglab apply other.hcl") {
		t.Errorf("error %v", err)
	}
	if out.State[0] != StateFailed || out.State[1] != StateBlocked || out.State[other.Index()] != StateDone {
		t.Errorf("states %v", out.State)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	l.done()
}

// Another process cannot be waited for when the apply is told to stop.
func TestApply_interruptedWhileItWaits(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.add(pureKind, "make[a]", "a")
	lease := otherHolds(l, l.plan().Stages[0].Key)
	defer func() { _ = lease.Release() }()
	ctx, cancel := context.WithCancelCause(t.Context())
	l.ex.Events = func(e Event) {
		if e.Type == EventWaiting {
			cancel(ErrStopped)
		}
	}
	out := l.applyPlan(ctx, l.plan())
	if !out.Interrupted || len(out.Failures) != 0 || out.State[0] == StateDone || out.State[0] == StateFailed {
		t.Errorf("interrupted %v, failures %v, state %v", out.Interrupted, out.Failures, out.State)
	}
}
