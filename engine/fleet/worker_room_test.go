package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
)

// A worker runs at a time what its machine has room for, and all of it; a stage that
// wants all threads is not starved; downloads do not wait for the processor.
func TestWorker_resources(t *testing.T) {
	t.Parallel()
	for _, ahead := range []int{0, 1, 5} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop(t, engine.Resources{CPU: 3, Network: 2, Memory: 100})
			s.w.Ahead = ahead
			var u usage
			add := func(address string, needs engine.Resources, d time.Duration) {
				s.add(address, needs, u.sleep(needs, d))
			}
			for i := range 12 {
				add(fmt.Sprintf("small[%02d]", i), engine.Resources{CPU: 1, Memory: 20}, time.Minute)
				add(fmt.Sprintf("fetch[%02d]", i), engine.Resources{Network: 1}, time.Minute)
			}
			add("wide[0]", engine.Resources{CPU: 3, Memory: 20}, time.Minute)
			add("fat[0]", engine.Resources{CPU: 1, Memory: 100}, time.Minute)
			s.open()
			began := time.Now()
			out, _ := s.apply(t.Context())
			took := time.Since(began)
			s.close()
			if out.Executed != 26 {
				t.Errorf("ahead %d: executed %d", ahead, out.Executed)
			}
			if u.most != (engine.Resources{CPU: 3, Network: 2, Memory: 100}) {
				t.Errorf("ahead %d: at most %+v was in use", ahead, u.most)
			}
			// Four minutes of small ones by threes, six of downloads, one wide, one fat.
			if took > 8*time.Minute {
				t.Errorf("ahead %d: it took %v", ahead, took)
			}
		})
	}
}

// A worker whose threads are all taken by one stage claims no more meanwhile, however
// long it took to find out that they would be.
func TestWorker_weighs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, engine.Resources{CPU: 4})
		// Building the graph takes a while.
		s.w.Source = &strangers{
			shop: s, finds: func(int) bool { return true },
			fails: func(int) error { <-time.After(time.Second); return nil },
		}
		var u usage
		for i := range 6 {
			s.add(fmt.Sprintf("wide[%d]", i), engine.Resources{CPU: 4}, func(ctx context.Context, task *engine.Task) error {
				<-time.After(time.Second) // what ended just now is told
				if status, err := s.q.Status(ctx, time.Time{}); err != nil || status.Runs[0].Claimed != 1 {
					t.Errorf("beside a stage that takes all, %d are claimed (%v)", status.Runs[0].Claimed-1, err)
				}
				return u.sleep(engine.Resources{}, time.Minute)(ctx, task)
			})
			s.add(fmt.Sprintf("small[%d]", i), engine.Resources{CPU: 1}, u.sleep(engine.Resources{}, time.Minute))
		}
		s.open()
		out, _ := s.apply(t.Context())
		s.close()
		if out.Executed != 12 {
			t.Errorf("executed %d", out.Executed)
		}
	})
}

// returns counts what is given back.
type returns struct {
	fleet.Queue
	n atomic.Int32
}

func (r *returns) Return(ctx context.Context, c *fleet.Claim, why string, after time.Duration) error {
	r.n.Add(1)
	return r.Queue.Return(ctx, c, why, after)
}

// What a worker has claimed ahead does not wait behind a long stage while another worker
// is idle.
func TestWorker_patience(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop(t, engine.Resources{CPU: 1})
			s.w.Ahead = 2
			returned := &returns{Queue: s.q}
			s.w.Queue = returned
			var u usage
			s.add("long", engine.Resources{CPU: 1}, u.sleep(engine.Resources{}, 20*time.Minute))
			for i := range 5 {
				s.add(fmt.Sprintf("short[%d]", i), engine.Resources{CPU: 1}, u.sleep(engine.Resources{}, time.Minute))
			}
			s.open()
			ended := make(chan error, 1)
			if workers == 2 {
				other := *s.w
				other.Name = "v"
				go func() { ended <- other.Run(t.Context(), s.drain) }()
			} else {
				ended <- nil
			}
			began := time.Now()
			_, events := s.apply(t.Context())
			took := time.Since(began)
			s.close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			for _, e := range events {
				if at := e.Time.Sub(began); workers == 2 && e.Type == engine.EventComplete && e.Stage.Address != "long" && at > 15*time.Minute {
					t.Errorf("%s is done after %v", e.Stage.Address, at)
				}
				if e.Type == engine.EventWaiting {
					t.Errorf("%s is said to wait: %s", e.Stage.Address, e.Message)
				}
			}
			if most := 20*time.Minute + 6*time.Minute; took > most {
				t.Errorf("with %d workers it took %v, want at most %v", workers, took, most)
			}
			// Each stage that ends lets the worker try two more, and a backup each ten seconds.
			if n := returned.n.Load(); n > 150 {
				t.Errorf("with %d workers, stages were given back %d times", workers, n)
			}
		})
	}
}

// fetcher notes what is asked for, and when.
type fetcher struct {
	mu   sync.Mutex
	asks map[cache.Digest]time.Time
}

func (f *fetcher) Fetch(_ context.Context, digests ...cache.Digest) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range digests {
		if _, before := f.asks[d]; !before {
			f.asks[d] = time.Now()
		}
	}
	return errors.New("not to be had")
}

// The inputs of a stage are fetched while the one before it runs. That they could not be
// is no failure yet.
func TestWorker_prefetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, engine.Resources{CPU: 1})
		f := &fetcher{asks: map[cache.Digest]time.Time{}}
		s.w.Fetch, s.w.Ahead = f, 1
		var u usage
		var ends []*engine.Stage
		for i := range 2 {
			a := s.add(fmt.Sprint("a", i), engine.Resources{CPU: 1}, u.sleep(engine.Resources{}, time.Minute))
			ends = append(ends, s.add(fmt.Sprint("b", i), engine.Resources{CPU: 1}, u.sleep(engine.Resources{}, time.Hour), a))
		}
		s.open()
		began := time.Now()
		out, _ := s.apply(t.Context())
		s.close()
		for _, end := range ends {
			at, asked := f.asks[out.Outputs[end.Inputs[0].From.Index()][0].Digest]
			if !asked || at.Sub(began) > 5*time.Minute {
				t.Errorf("the input of %s was asked for after %v (%v)", end.Address, at.Sub(began), asked)
			}
		}
	})
}
