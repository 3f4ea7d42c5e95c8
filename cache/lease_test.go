//go:build unix

package cache

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"raglab/internal/childtest"
)

var heldKey = keyOf("held")

func TestAcquire_deadHolderIsNoHolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := childtest.Start(t, "hold", dir)
	if line, err := cmd.Out.ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	l := openTest(t, dir, Options{})
	waiting := make(chan Holder, 10)
	got := make(chan error, 1)
	go func() {
		le, err := l.Acquire(t.Context(), heldKey, LeaseRequest{OnWait: func(h Holder) { waiting <- h }})
		if err == nil {
			err = le.Release()
		}
		got <- err
	}()
	h := <-waiting
	if h.PID != cmd.Process.Pid || h.Command != "raglab apply child.hcl" || h.Host == "" || h.User == "" || h.Since.IsZero() {
		t.Errorf("waiting for %+v, want the child", h)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	_ = cmd.Wait() // it was killed
	if err := <-got; err != nil {
		t.Errorf("after the holder's death: %v", err)
	}
	if waited := time.Since(killed); waited > 5*time.Second {
		t.Errorf("waited %v for a dead holder", waited)
	}
}

func TestAcquire_livingHolderIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := childtest.Start(t, "hold", dir)
	if _, err := cmd.Out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	l := openTest(t, dir, Options{Now: func() time.Time { return time.Now().Add(3 * time.Minute) }})
	for _, timeout := range []time.Duration{-1, 20 * time.Millisecond} {
		_, err := l.Acquire(t.Context(), heldKey, LeaseRequest{Timeout: timeout})
		var locked *LockedError
		if !errors.As(err, &locked) || !errors.Is(err, ErrLocked) {
			t.Fatalf("timeout %v: %v, want a *LockedError", timeout, err)
		}
		if locked.Holder.PID != cmd.Process.Pid || locked.Age < 3*time.Minute {
			t.Errorf("timeout %v: %+v", timeout, locked)
		}
		if text := err.Error(); !strings.Contains(text, "raglab apply child.hcl") || !strings.Contains(text, "for 3m") {
			t.Errorf("timeout %v: %q does not say for whom and how long", timeout, text)
		}
	}
	// Readers of that key do not wait.
	wantMiss(t, l, heldKey)
	if err := cmd.In.Close(); err != nil {
		t.Fatal(err)
	}
	le, err := l.Acquire(t.Context(), heldKey, LeaseRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(le.Release(), cmd.Wait()); err != nil {
		t.Error(err)
	}
}

func TestAcquire_endsWithItsContext(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	le, err := l.Acquire(t.Context(), heldKey, LeaseRequest{})
	if err != nil {
		t.Fatal(err)
	}
	defer le.Release()
	why := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err = l.Acquire(ctx, heldKey, LeaseRequest{OnWait: func(Holder) { cancel(why) }})
	if !errors.Is(err, why) {
		t.Errorf("Acquire: %v, want the cause of the cancel", err)
	}
}

func TestLease_oneHolderAtATime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := openTest(t, dir, Options{}), openTest(t, dir, Options{})
	var inside atomic.Int32
	var all sync.WaitGroup
	for i := range 16 {
		l := []*Local{a, b}[i%2]
		all.Go(func() {
			for range 10 {
				le, err := l.Acquire(t.Context(), heldKey, LeaseRequest{})
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d hold the lease", n)
				}
				for range 200 { // others get into every step of their own
					runtime.Gosched()
				}
				inside.Add(-1)
				if err := le.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	entries, err := os.ReadDir(a.path(leaseDir))
	if err != nil || len(entries) != 2 {
		t.Errorf("%d lock files left, %v; want the two sessions", len(entries), err)
	}
}

func TestLease_context(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	le, err := l.Acquire(t.Context(), heldKey, LeaseRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if err := le.Context().Err(); err != nil {
		t.Errorf("held: %v", err)
	}
	if err := errors.Join(le.Release(), le.Release()); err != nil {
		t.Error(err)
	}
	if cause := context.Cause(le.Context()); !errors.Is(cause, ErrLeaseReleased) {
		t.Errorf("released: %v", cause)
	}
}

func TestLease_releaseAfterCancel(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	why := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	le, err := l.Acquire(ctx, heldKey, LeaseRequest{})
	if err != nil {
		t.Fatal(err)
	}
	cancel(why)
	if cause := context.Cause(le.Context()); !errors.Is(cause, why) {
		t.Errorf("lease: %v, want its parent's cause", cause)
	}
	if err := le.Release(); err != nil {
		t.Error(err)
	}
	if _, err := l.Acquire(t.Context(), heldKey, LeaseRequest{Timeout: -1}); err != nil {
		t.Errorf("after release: %v", err)
	}
}

func TestLease_lostWhenItsFileIsTakenAway(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	l.watchEvery = time.Millisecond
	le, err := l.Acquire(t.Context(), heldKey, LeaseRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(l.path(leaseRel(heldKey))); err != nil {
		t.Fatal(err)
	}
	other, err := l.Acquire(t.Context(), heldKey, LeaseRequest{})
	if err != nil {
		t.Fatal(err)
	}
	<-le.Context().Done()
	if cause := context.Cause(le.Context()); !errors.Is(cause, ErrLeaseLost) {
		t.Errorf("lost: %v", cause)
	}
	if err := le.Release(); err != nil {
		t.Errorf("release of a lost lease: %v", err)
	}
	if err := other.Context().Err(); err != nil {
		t.Errorf("the lease of the other holder ended: %v", err)
	}
	if _, err := l.Acquire(t.Context(), heldKey, LeaseRequest{Timeout: -1}); !errors.Is(err, ErrLocked) {
		t.Errorf("the release of a lost lease freed the other's: %v", err)
	}
	if err := other.Release(); err != nil {
		t.Error(err)
	}
}

func TestFileLock_removesOnlyItsOwnFile(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/lock"
	lost, err := tryLock(path, lockExclusive)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other, err := tryLock(path, lockExclusive)
	if err != nil {
		t.Fatal(err)
	}
	if err := lost.remove(); err != nil {
		t.Error(err)
	}
	if held, err := other.current(); err != nil || !held {
		t.Errorf("the other's file went with the lost lock: %v", err)
	}
	if err := other.remove(); err != nil {
		t.Error(err)
	}
}

// TestFileLock_isNeverWonOnAnUnlinkedFile has waiters open the file that the holder then unlinks.
func TestFileLock_isNeverWonOnAnUnlinkedFile(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/lock"
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 300 {
				lk, err := waitLock(t.Context(), path, lockExclusive)
				if err != nil {
					t.Error(err)
					return
				}
				if held, err := lk.current(); err != nil || !held {
					t.Errorf("won a lock on a file that is gone: %v", err)
				}
				if err := lk.remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
