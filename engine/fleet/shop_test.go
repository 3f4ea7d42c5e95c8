package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/executortest"
	"raglab/engine/fleet"
	"raglab/engine/fleet/memory"
)

// shop is a worker alone with a queue, in a bubble of virtual time or outside.
type shop struct {
	testing.TB
	q     *memory.Queue
	store *cache.Local
	graph *engine.Graph
	w     *fleet.Worker

	drain chan struct{}
	ended chan error
	stop  context.CancelCauseFunc
}

func newShop(t testing.TB, capacity engine.Resources) *shop {
	s := &shop{TB: t, q: memory.New(memory.Options{}), store: openStore(t), graph: engine.NewGraph(), drain: make(chan struct{})}
	s.w = &fleet.Worker{
		Name: "w", Queue: s.q, Source: s, Log: hclog.NewNullLogger(),
		Local: engine.Local{
			Store: s.store, Capacity: capacity, Now: time.Now, Log: hclog.NewNullLogger(),
			Backoff: func(int) time.Duration { return time.Minute },
		},
	}
	return s
}

// Graph makes the shop the source of its one graph.
func (s *shop) Graph(context.Context, cache.Digest) (fleet.Project, error) { return s, nil }

// Find is as [fleet.Project] says.
func (s *shop) Find(k cache.Key) (*engine.Stage, bool) { return s.graph.ByKey(k) }

// Close is as [fleet.Project] says.
func (s *shop) Close() error { return nil }

func (s *shop) add(address string, needs engine.Resources, do executortest.Do, from ...*engine.Stage) *engine.Stage {
	st := executortest.NewStage(executortest.Pure, address, address, do, from...)
	st.Needs = needs
	return s.graph.Add(st)
}

// open starts the worker.
func (s *shop) open() {
	ctx, stop := context.WithCancelCause(s.Context())
	s.stop, s.ended = stop, make(chan error, 1)
	go func() { s.ended <- s.w.Run(ctx, s.drain) }()
}

// close drains the worker and waits for it.
func (s *shop) close() {
	s.Helper()
	close(s.drain)
	if err := <-s.ended; err != nil {
		s.Errorf("the worker ended with %v", err)
	}
}

// executor applies plans; the events are the caller's when it is over.
func (s *shop) executor(events *[]engine.Event) *fleet.Executor {
	return &fleet.Executor{
		Queue: s.q, Experiment: "x", Now: time.Now, Log: hclog.NewNullLogger(),
		Bundle: func(context.Context, *engine.Plan) (cache.Digest, error) { return cache.Digest{}, nil },
		Events: func(e engine.Event) { *events = append(*events, e) },
	}
}

func (s *shop) apply(ctx context.Context) (*engine.Outcomes, []engine.Event) {
	s.Helper()
	var events []engine.Event
	out, err := s.executor(&events).Apply(ctx, planOf(s, s.store, s.graph))
	if err != nil {
		s.Fatal(err)
	}
	return out, events
}

func (s *shop) wantStates(out *engine.Outcomes, want string) {
	s.Helper()
	if got := strings.Trim(fmt.Sprint(out.State), "[]"); got != want {
		s.Errorf("states are %s, want %s", got, want)
	}
}

// sleep is a stage that takes a time, and counts how much of the machine is in use.
type usage struct {
	mu        sync.Mutex
	now, most engine.Resources
	order     []string
}

func (u *usage) sleep(needs engine.Resources, d time.Duration) executortest.Do {
	return func(ctx context.Context, t *engine.Task) error {
		u.use(needs, 1, t.Address)
		defer u.use(needs, -1, "")
		select {
		case <-time.After(d):
			return t.Write("out", []byte(t.Address))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (u *usage) use(r engine.Resources, sign int, address string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.now.CPU += sign * r.CPU
	u.now.Network += sign * r.Network
	u.now.Memory += int64(sign) * r.Memory
	u.most.CPU, u.most.Network, u.most.Memory = max(u.most.CPU, u.now.CPU), max(u.most.Network, u.now.Network), max(u.most.Memory, u.now.Memory)
	if address != "" {
		u.order = append(u.order, address)
	}
}

var errEnough = errors.New("enough")
