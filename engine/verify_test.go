package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
)

// random is a step that never gives the same bytes twice.
func random() func(context.Context, *Task) error {
	return func(_ context.Context, t *Task) error {
		return t.Write("out", []byte(fmt.Sprintf("roll %d", rolls.Add(1))))
	}
}

var rolls atomic.Int64

// sameRoll is a tolerance: all rolls are as good as each other.
func sameRoll(_ string, old, again io.Reader) error {
	for _, r := range []io.Reader{old, again} {
		b, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(string(b), "roll ") {
			return fmt.Errorf("%q is no roll", b)
		}
	}
	return nil
}

// verified is what was said of each stage that was made again.
func verified(l *lab) map[string]string {
	got := map[string]string{}
	for _, e := range l.took() {
		if e.Type == EventVerified {
			got[e.Stage.Address] = "same"
			if e.Err != nil {
				got[e.Stage.Address] = e.Err.Error()
			}
		}
	}
	return got
}

func TestApply_verify(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	tolerant := *volatileKind
	tolerant.Same = sameRoll
	strict := *volatileKind
	strict.Same = func(string, io.Reader, io.Reader) error { return errors.New("cosine 0.31") }
	a := l.add(pureKind, "make[same]", "a")
	l.addStep(volatileKind, "roll[bytes]", "b", random())
	l.addStep(&tolerant, "roll[tolerant]", "c", random())
	l.addStep(&strict, "roll[strict]", "d", random())
	end := l.add(pureKind, "make[end]", "e", l.graph.Stages...)
	before := l.outputs(l.done())
	l.took()

	l.ex.Verify = 1
	out := l.done()
	got := verified(l)
	if len(got) != 5 || got["make[same]"] != "same" || got["make[end]"] != "same" || got["roll[tolerant]"] != "same" {
		t.Errorf("verified: %q", got)
	}
	if !strings.Contains(got["roll[bytes]"], "in the cache and") || got["roll[strict]"] != "output out: cosine 0.31" {
		t.Errorf("verified: %q", got)
	}
	if out.Verified != 5 || len(out.Different) != 2 || out.Different[0].Stage.Address != "roll[bytes]" || out.Executed != 0 || out.Cached != 5 {
		t.Errorf("%d verified, %d different, %d executed, %d cached", out.Verified, len(out.Different), out.Executed, out.Cached)
	}
	if runs(a) != 2 || runs(end) != 2 {
		t.Errorf("ran %d and %d times", runs(a), runs(end))
	}
	for address, text := range l.outputs(out) {
		if text != before[address] {
			t.Errorf("%s became %q: verification replaced %q", address, text, before[address])
		}
	}
	if l.plan().Changes() {
		t.Error("verification changed the records")
	}
}

// A share takes the same keys each time, and about so many.
func TestApply_verifyShare(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for i := range 300 {
		l.add(pureKind, fmt.Sprintf("make[%d]", i), fmt.Sprint(i))
	}
	l.done()
	l.took()
	var first map[string]string
	for _, share := range []float64{0.2, 0.2, 0, 1} {
		l.ex.Verify = share
		out := l.done()
		got := verified(l)
		if n := float64(len(got)); n < share*300-40 || n > share*300+40 || out.Verified != len(got) {
			t.Errorf("a share of %v took %v of 300", share, n)
		}
		switch {
		case first == nil:
			first = got
		case share == 0.2 && fmt.Sprint(got) != fmt.Sprint(first):
			t.Error("the same share took other stages")
		}
	}
}

// Verification sees fresh work, tries again what may pass, and reports what
// cannot be made again.
func TestApply_verifyFails(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	broken := false
	l.addStep(pureKind, "make[fresh]", "a", func(_ context.Context, t *Task) error {
		if t.Fresh != broken {
			return fmt.Errorf("fresh is %v", t.Fresh)
		}
		return t.Write("out", nil)
	})
	flakyRun := l.addStep(pureKind, "make[flaky]", "b", func(ctx context.Context, t *Task) error {
		if broken {
			return flaky(2, constant)(ctx, t)
		}
		return constant(ctx, t)
	})
	l.addStep(pureKind, "make[broken]", "c", func(ctx context.Context, t *Task) error {
		if broken {
			return errBad
		}
		return constant(ctx, t)
	})
	l.addStep(pureKind, "make[panics]", "d", func(ctx context.Context, t *Task) error {
		if broken {
			panic("oh")
		}
		return constant(ctx, t)
	})
	l.done()
	l.took()
	broken = true
	l.ex.Verify = 1
	out := l.done()
	got := verified(l)
	if got["make[fresh]"] != "same" || got["make[flaky]"] != "same" || runs(flakyRun) != 4 {
		t.Errorf("verified: %q, the flaky one ran %d times", got, runs(flakyRun))
	}
	if got["make[broken]"] != "make again: bad input" || !strings.HasPrefix(got["make[panics]"], "make again: panic: oh") {
		t.Errorf("verified: %q", got)
	}
	if len(out.Failures) != 0 || len(out.Different) != 2 {
		t.Errorf("%d failures, %d different", len(out.Failures), len(out.Different))
	}
}

// An interrupted verification has found nothing.
func TestApply_verifyInterrupted(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for i := range 20 {
		s := newStage(volatileKind, fmt.Sprintf("roll[%d]", i), fmt.Sprint(i), random())
		l.graph.Add(s)
	}
	l.done()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	for _, s := range l.graph.Stages {
		s.Work = &step{do: func(ctx context.Context, _ *Task) error {
			cancel(ErrStopped)
			<-ctx.Done()
			return ctx.Err()
		}}
	}
	l.ex.Verify = 1
	out := l.applyPlan(ctx, l.plan())
	if !out.Interrupted || out.Verified != 0 || len(out.Different) != 0 || len(out.Failures) != 0 {
		t.Errorf("%d verified, %d different, %d failed", out.Verified, len(out.Different), len(out.Failures))
	}
	l.wantDone(out)
}

// An input that verification finds lost is made again.
func TestApply_verifyFindsLoss(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.add(pureKind, "make[a]", "a")
	b := l.add(pureKind, "make[b]", "b", a)
	l.add(pureKind, "make[c]", "c", a, b)
	before := l.outputs(l.done())
	p := l.plan()
	corrupt(t, l.blobPath(l.applyPlan(t.Context(), p), a))
	l.ex.Verify = 1
	l.ex.Capacity.CPU = 1
	out := l.done()
	if got := l.outputs(out); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("got %q, want %q", got, before)
	}
	if len(out.Different) > 0 {
		t.Errorf("different: %v", out.Different)
	}
}

// Work that is planned goes before verification.
func TestApply_verifyComesLast(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.ex.Capacity.CPU = 1
	for i := range 5 {
		l.add(pureKind, fmt.Sprintf("make[old %d]", i), fmt.Sprint(i))
	}
	l.done()
	for i := range 5 {
		l.add(pureKind, fmt.Sprintf("make[new %d]", i), fmt.Sprint("new", i))
	}
	l.took()
	l.ex.Verify = 1
	l.done()
	made := 0
	for _, e := range l.took() {
		switch e.Type {
		case EventComplete:
			made++
		case EventVerified:
			if made < 5 {
				t.Fatalf("%s was verified before all was made", e.Stage.Address)
			}
		}
	}
}
