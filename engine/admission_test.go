package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// Whoever comes and goes, no more is out than there is, everybody gets in, and in the
// end all of it is there.
func TestAdmission(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		all := Resources{CPU: rapid.IntRange(1, 4).Draw(rt, "cpu"), Network: rapid.IntRange(0, 2).Draw(rt, "net"), Memory: 10}
		type visit struct {
			needs  Resources
			stay   time.Duration
			leaves time.Duration // gives up then; 0 never
		}
		visits := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) visit {
			return visit{
				Resources{CPU: rapid.IntRange(0, 6).Draw(t, "c"), Network: rapid.IntRange(0, 3).Draw(t, "n"), Memory: int64(rapid.IntRange(0, 20).Draw(t, "m"))},
				time.Duration(rapid.IntRange(1, 5).Draw(t, "stay")) * time.Second,
				time.Duration(rapid.IntRange(0, 9).Draw(t, "leaves")) * time.Second,
			}
		}), 1, 20).Draw(rt, "visits")
		synctest.Test(t, func(t *testing.T) {
			a := NewAdmission(all)
			in := make(chan error, len(visits))
			for _, v := range visits {
				go func() {
					ctx := t.Context()
					if v.leaves > 0 {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeoutCause(ctx, v.leaves, errBad)
						defer cancel()
					}
					release, err := a.Acquire(ctx, v.needs)
					if err == nil {
						a.mu.Lock()
						if a.free.CPU < 0 || a.free.Network < 0 || a.free.Memory < 0 {
							t.Errorf("%+v is free", a.free)
						}
						a.mu.Unlock()
						<-time.After(v.stay)
						release()
						release()
					}
					in <- err
				}()
			}
			for range visits {
				if err := <-in; err != nil && !errors.Is(err, errBad) {
					t.Error(err)
				}
			}
			if a.free != a.all || len(a.ready) > 0 || !a.lines.empty() {
				t.Errorf("left: %+v of %+v, %d wait", a.free, a.all, len(a.ready))
			}
		})
	})
}

// One that wants all threads gets them though small ones keep coming, and one that gives
// up lets those in that stood behind it.
func TestAdmission_wide(t *testing.T) {
	t.Parallel()
	a := NewAdmission(Resources{CPU: 2})
	first, err := a.Acquire(t.Context(), Resources{CPU: 1})
	if err != nil {
		t.Fatal(err)
	}
	wide, wideReady := a.stand(a.Cost(Resources{CPU: 8}))
	_, smallReady := a.stand(a.Cost(Resources{}))
	waiting := func(c chan struct{}) bool {
		select {
		case <-c:
			return false
		default:
			return true
		}
	}
	if !waiting(wideReady) || !waiting(smallReady) {
		t.Fatal("somebody was let in past the first")
	}
	if !a.leave(wide) || waiting(smallReady) {
		t.Error("the small one waits for one that has gone")
	}
	_, wideReady = a.stand(a.Cost(Resources{CPU: 8}))
	first()
	a.release(Resources{CPU: 1}) // the small one's
	if waiting(wideReady) {
		t.Error("the wide one never gets in")
	}
}
