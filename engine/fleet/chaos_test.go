package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/executortest"
	"raglab/engine/fleet"
	"raglab/engine/fleet/fleettest"
	"raglab/engine/fleet/memory"
)

// moody is a store that refuses every nth request.
type moody struct {
	engine.Store
	every   int64
	asked   atomic.Int64
	refused atomic.Int64
}

func (m *moody) refuse() error {
	if m.asked.Add(1)%m.every != 0 {
		return nil
	}
	m.refused.Add(1)
	return fmt.Errorf("503 slow down: %w", cache.ErrUnavailable)
}

func (m *moody) Create(ctx context.Context) (cache.Writer, error) {
	if err := m.refuse(); err != nil {
		return nil, err
	}
	return m.Store.Create(ctx)
}

func (m *moody) Open(ctx context.Context, d cache.Digest) (io.ReadCloser, error) {
	if err := m.refuse(); err != nil {
		return nil, err
	}
	return m.Store.Open(ctx, d)
}

func (m *moody) ReadAll(ctx context.Context, d cache.Digest) ([]byte, error) {
	if err := m.refuse(); err != nil {
		return nil, err
	}
	return m.Store.ReadAll(ctx, d)
}

func (m *moody) Stat(ctx context.Context, d cache.Digest) (int64, error) {
	if err := m.refuse(); err != nil {
		return 0, err
	}
	return m.Store.Stat(ctx, d)
}

func (m *moody) Get(ctx context.Context, k cache.Key) (*cache.Record, error) {
	if err := m.refuse(); err != nil {
		return nil, err
	}
	return m.Store.Get(ctx, k)
}

func (m *moody) Put(ctx context.Context, r *cache.Record) (*cache.Record, error) {
	if err := m.refuse(); err != nil {
		return nil, err
	}
	return m.Store.Put(ctx, r)
}

func (m *moody) Delete(ctx context.Context, k cache.Key) error {
	if err := m.refuse(); err != nil {
		return err
	}
	return m.Store.Delete(ctx, k)
}

func planOf(t testing.TB, store cache.Store, g *engine.Graph) *engine.Plan {
	t.Helper()
	p, err := (&engine.Planner{Store: store, Ledger: engine.Ledger{}, Log: hclog.NewNullLogger()}).Plan(t.Context(), g, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func localOver(store engine.Store) *engine.Local {
	return &engine.Local{
		Store: store, Capacity: engine.Resources{CPU: 4}, Now: time.Now, Log: hclog.NewNullLogger(),
		Events: func(engine.Event) {}, Backoff: func(int) time.Duration { return 0 },
	}
}

// results are the outputs of stages that are done, by address.
func results(t testing.TB, store cache.Store, out *engine.Outcomes, g *engine.Graph) map[string]string {
	t.Helper()
	m := map[string]string{}
	for i, s := range g.Stages {
		if out.State[i] != engine.StateDone {
			t.Fatalf("%s is %s; failures: %v", s.Address, out.State[i], out.Failures)
		}
		raw, err := store.ReadAll(t.Context(), out.Outputs[i][0].Digest)
		if err != nil {
			t.Fatal(err)
		}
		m[s.Address] = string(raw)
	}
	return m
}

// Workers come and go at random, most of them with a power cut, and the store refuses
// every tenth request: what comes out is what one machine makes, nothing wrong is in the
// cache, and no more is done twice than there were faults.
func TestExecutor_chaos(t *testing.T) {
	t.Parallel()
	const layers, width = 8, 25
	want := func() map[string]string {
		store, g := openStore(t), engine.NewGraph()
		fleettest.Layered(g, layers, width, 5*time.Millisecond, nil)
		out, err := localOver(store).Apply(t.Context(), planOf(t, store, g))
		if err != nil {
			t.Fatal(err)
		}
		return results(t, store, out, g)
	}()

	q, store := memory.New(memory.Options{}), openStore(t)
	weather := &moody{Store: store, every: 10}
	crew := fleettest.New(t, fleettest.Options{
		Store: store, Queue: q, Workers: 4,
		Worker: func(name string) (fleet.Queue, func()) { return q, func() { q.Kill(name) } },
		Adjust: func(w *fleet.Worker) { w.Local.Store = weather },
	})
	var mu sync.Mutex
	runs := map[cache.Key]int{}
	g := engine.NewGraph()
	fleettest.Layered(g, layers, width, 5*time.Millisecond, func(do executortest.Do) executortest.Do {
		return func(ctx context.Context, t *engine.Task) error {
			mu.Lock()
			runs[t.Key]++
			mu.Unlock()
			return do(ctx, t)
		}
	})
	plan := planOf(t, store, g)
	crew.Publish(g)

	faults := &meddler{crew: crew, rng: rand.New(rand.NewPCG(3, 4))}
	stop := faults.begin(t, 30*time.Millisecond)
	ex := crew.Executor(executortest.Settings{Events: func(engine.Event) {}})
	ex.Attempts, ex.Deaths = 50, 50
	out, err := ex.Apply(t.Context(), plan)
	stop()
	if err != nil {
		t.Fatal(err)
	}
	if got := results(t, store, out, g); !maps.Equal(got, want) {
		t.Error("the fleet came to other results than one machine")
	}
	again := 0
	for _, n := range runs {
		again += n - 1
	}
	// A worker that dies may have had two stages at work and one more ahead.
	most := int(weather.refused.Load()) + 3*faults.kills
	if again > most {
		t.Errorf("%d runs were repeats; %d refusals and %d kills explain %d", again, weather.refused.Load(), faults.kills, most)
	}
	wantSound(t, store, g)
	t.Logf("%d stages, %d keys, %d repeats; %d of %d requests refused, %d workers killed, %d drained",
		len(g.Stages), len(runs), again, weather.refused.Load(), weather.asked.Load(), faults.kills, faults.drains)
	if faults.kills == 0 || weather.refused.Load() == 0 {
		t.Error("nothing was tried")
	}
}

// wantSound wants every record of the cache whole, and nothing left to plan.
func wantSound(t *testing.T, store *cache.Local, g *engine.Graph) {
	t.Helper()
	keys, err := store.Keys(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		rec, miss, err := cache.Lookup(t.Context(), store, k)
		if err != nil || miss.Reason != cache.Hit {
			t.Errorf("record %s: %v, %v", k.Short(), miss, err)
			continue
		}
		for _, b := range rec.Outputs {
			if _, err := store.ReadAll(t.Context(), b.Digest); err != nil {
				t.Error(err)
			}
		}
	}
	if p := planOf(t, store, g); p.Changes() {
		t.Errorf("%d stages are left to run", p.Count(engine.WillRun)+p.Count(engine.Maybe))
	}
}

// meddler lets workers come and go.
type meddler struct {
	crew          *fleettest.Crew
	rng           *rand.Rand
	kills, drains int
}

func (m *meddler) begin(t *testing.T, every time.Duration) (stop func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				m.meddle()
			case <-over:
				return
			case <-t.Context().Done():
				return
			}
		}
	}()
	return func() { close(over); <-ended }
}

func (m *meddler) meddle() {
	names := m.crew.Names()
	switch {
	case len(names) < 2 || len(names) < 6 && m.rng.IntN(2) == 0:
		m.crew.Start()
	case m.rng.IntN(3) == 0:
		m.crew.Drain(names[m.rng.IntN(len(names))])
		m.drains++
	default:
		m.crew.Kill(names[m.rng.IntN(len(names))])
		m.kills++
	}
}

// A store that is gone for good fails a stage as the store's failure, and nothing more is
// begun.
func TestExecutor_storeFails(t *testing.T) {
	t.Parallel()
	crew, _, store := crewOf(t, 2, nil)
	g := engine.NewGraph()
	full := errors.New("no space left on device")
	s := g.Add(executortest.NewStage(executortest.Pure, "make[a]", "a", func(context.Context, *engine.Task) error {
		return &engine.StoreError{Err: full}
	}))
	g.Add(executortest.NewStage(executortest.Pure, "make[b]", "b", executortest.Constant, s))
	out, err := crew.Executor(executortest.Settings{Events: func(engine.Event) {}}).Apply(t.Context(), planOf(t, store, g))
	if err != nil {
		t.Fatal(err)
	}
	var mine *engine.StoreError
	if err := out.Err(); !errors.As(err, &mine) || !strings.Contains(err.Error(), full.Error()) || executortest.Runs(s) != engine.DefaultAttempts {
		t.Errorf("failed with %v after %d runs", err, executortest.Runs(s))
	}
	if out.Interrupted || out.State[1] == engine.StateDone {
		t.Errorf("interrupted %v, states %q", out.Interrupted, out.State)
	}
}
