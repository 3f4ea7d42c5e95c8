package engine

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The events of a stage come in order: it starts, goes on, completes, and
// nothing comes after that.
func TestApply_eventOrder(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	work := func(ctx context.Context, t *Task) error {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i := range 50 {
					t.Progress(i, 50, "texts")
					t.Warn("text %d", i)
					t.Measure("texts", i)
				}
			})
		}
		wg.Wait()
		t.Progress(50, 50, "texts")
		return t.Write("out", []byte(t.Address))
	}
	for i := range 20 {
		var from []*Stage
		if i > 3 {
			from = l.graph.Stages[i-3 : i-1]
		}
		l.addStep(pureKind, fmt.Sprintf("make[%d]", i), fmt.Sprint(i), work, from...)
	}
	l.done()
	at := map[*Stage]EventType{}
	progress := map[*Stage]int{}
	var last time.Time
	for _, e := range l.took() {
		before := at[e.Stage]
		ok := false
		switch e.Type {
		case EventStart:
			ok = before == ""
			for _, in := range e.Stage.Inputs {
				ok = ok && at[in.From] == EventComplete
			}
		case EventProgress:
			ok = before == EventStart || before == EventProgress
			progress[e.Stage]++
		case EventWarning:
			ok = before == EventProgress || before == EventWarning
		case EventComplete:
			ok = before == EventWarning
		}
		if !ok {
			t.Errorf("%s: %s after %q", e.Stage.Address, e.Type, before)
		}
		if e.Time.IsZero() || e.Type == EventComplete && e.Time.Before(last) {
			t.Errorf("%s: %s at %v", e.Stage.Address, e.Type, e.Time)
		}
		at[e.Stage] = e.Type
	}
	for _, s := range l.graph.Stages {
		if at[s] != EventComplete || progress[s] == 0 {
			t.Errorf("%s ended with %q after %d reports", s.Address, at[s], progress[s])
		}
	}
}

// Progress is passed on ten times a second, and at the end.
func TestTask_progressRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.addStep(pureKind, "make[a]", "a", func(_ context.Context, t *Task) error {
			for i := range 1000 {
				<-time.After(time.Millisecond)
				t.Progress(i, 1000, "texts")
			}
			t.Progress(1000, 1000, "texts")
			return t.Write("out", nil)
		})
		l.done()
		var reports []int64
		for _, e := range l.took() {
			if e.Type == EventProgress {
				reports = append(reports, e.Done)
			}
		}
		if len(reports) != 11 || reports[10] != 1000 {
			t.Errorf("reports %v, want ten and the last", reports)
		}
	})
}

// A stage that goes on after it has returned disturbs nobody.
func TestTask_progressAfterEnd(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	end := make(chan struct{})
	var stray sync.WaitGroup
	l.addStep(pureKind, "make[a]", "a", func(_ context.Context, t *Task) error {
		stray.Go(func() {
			<-end
			t.Progress(1, 1, "texts")
		})
		return t.Write("out", nil)
	})
	l.done()
	close(end)
	stray.Wait()
	if got, want := tell(l.took()), "apply_start make[a]\napply_complete make[a] executed\n"; got != want {
		t.Errorf("events\n%s\nwant\n%s", got, want)
	}
}

// No goroutine is left, whatever way an apply ended. A bubble ends only when all
// goroutines that were begun in it have ended.
func TestApply_leavesNoGoroutine(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"done", "failed", "interrupted", "retrying", "locked"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				for i := range 10 {
					do := join("x")
					switch {
					case end == "failed" && i == 3:
						do = fails
					case end == "interrupted" && i > 3:
						do = func(ctx context.Context, _ *Task) error { cancel(ErrStopped); <-ctx.Done(); return ctx.Err() }
					case end == "retrying" && i == 3:
						l.ex.Backoff = func(int) time.Duration { cancel(ErrStopped); return time.Hour }
						do = flaky(9, nil)
					}
					l.addStep(pureKind, fmt.Sprintf("make[%d]", i), fmt.Sprint(i), do)
				}
				p := l.plan()
				if end == "locked" {
					lease := otherHolds(l, p.Stages[9].Key)
					defer func() { _ = lease.Release() }()
					l.ex.LockTimeout = time.Minute
				}
				l.applyPlan(ctx, p)
			})
		})
	}
}

// At no time are there more goroutines than the machine admits stages.
func TestApply_fewGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	l := newLab(t)
	most := 0
	l.ex.Events = func(Event) { most = max(most, runtime.NumGoroutine()) }
	for i := range 300 {
		l.add(pureKind, fmt.Sprintf("make[%d]", i), fmt.Sprint(i))
	}
	l.done()
	// A stage has one, one more while its record is synced, and its lease's.
	if limit := before + 3*l.ex.Capacity.CPU + 2; most > limit {
		t.Errorf("%d goroutines, %d before: more than %d", most, before, limit)
	}
}
