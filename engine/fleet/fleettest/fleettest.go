// Package fleettest runs workers of a fleet within a test's process, for the tests of
// queues, of the executor and of the worker.
package fleettest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/executortest"
	"raglab/engine/fleet"
)

// Options are what a crew works with.
type Options struct {
	// Store is the crew's; plans are made with it.
	Store *cache.Local
	// Queue is what appliers submit to.
	Queue fleet.Queue
	// Worker returns a queue as a worker of that name sees it, and what happens to the
	// queue when the worker's machine loses power.
	Worker func(name string) (q fleet.Queue, lost func())
	// Lease, when set, gives a worker of that name the fleet's leases; nil gives those of
	// a [Leases] that all share.
	Lease func(name string) fleet.Leaser
	// Workers is how many there are; 0 means 3.
	Workers int
	// Adjust, when set, changes a worker before it begins.
	Adjust func(*fleet.Worker)
}

// Crew is workers of this process.
type Crew struct {
	t      testing.TB
	o      Options
	leases *Leases
	source source

	mu      sync.Mutex
	last    int
	workers map[string]*member
	running sync.WaitGroup
}

// member is a worker of a crew.
type member struct {
	name  string
	drain chan struct{}
	kill  context.CancelCauseFunc
	lost  func()
	dark  atomic.Bool   // without power
	gone  chan struct{} // closed once nothing of it runs

	mu   sync.Mutex
	made []string // addresses of what it has claimed
}

var errPower = errors.New("the machine lost power")

// New starts a crew; it ends with the test.
func New(t testing.TB, o Options) *Crew {
	c := &Crew{t: t, o: o, leases: NewLeases(), workers: map[string]*member{}}
	if o.Workers == 0 {
		o.Workers = 3
	}
	for range o.Workers {
		c.Start()
	}
	t.Cleanup(c.end)
	return c
}

// end drains all workers.
func (c *Crew) end() {
	for _, name := range c.Names() {
		c.Drain(name)
	}
	c.running.Wait()
}

// Names are those of the workers that are there.
func (c *Crew) Names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for name := range c.workers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Start starts one more worker, and returns its name.
func (c *Crew) Start() string {
	c.mu.Lock()
	c.last++
	m := &member{name: fmt.Sprintf("w%d", c.last), drain: make(chan struct{}), gone: make(chan struct{})}
	c.workers[m.name] = m
	c.mu.Unlock()
	var q fleet.Queue
	q, m.lost = c.o.Worker(m.name)
	w := c.worker(m.name, &watched{q, m})
	var ctx context.Context
	ctx, m.kill = context.WithCancelCause(context.Background())
	c.running.Go(func() {
		defer close(m.gone)
		if err := w.Run(ctx, m.drain); err != nil && !errors.Is(err, errPower) {
			c.t.Errorf("worker %s: %v", m.name, err)
		}
	})
	return m.name
}

func (c *Crew) worker(name string, q fleet.Queue) *fleet.Worker {
	w := &fleet.Worker{
		Name: name, Queue: q, Source: &c.source, Lease: c.leases, Log: hclog.NewNullLogger(),
		Local: engine.Local{
			Store: c.o.Store, Capacity: engine.Resources{CPU: 2, Memory: 1 << 30, Network: 1}, Now: time.Now,
			Log: hclog.NewNullLogger(), Backoff: func(int) time.Duration { return 0 },
		},
		Ahead: 1, Renew: 20 * time.Millisecond, Poll: 10 * time.Millisecond,
	}
	if c.o.Lease != nil {
		w.Lease = c.o.Lease(name)
	}
	if c.o.Adjust != nil {
		c.o.Adjust(w)
	}
	return w
}

// remove takes a worker off the crew; nil when it has gone.
func (c *Crew) remove(name string) *member {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.workers[name]
	delete(c.workers, name)
	return m
}

// Drain lets a worker finish what it runs and go.
func (c *Crew) Drain(name string) {
	if m := c.remove(name); m != nil {
		close(m.drain)
	}
}

// Kill ends a worker as if its machine had lost power: nothing it does gets through any
// more, and the queue learns of it once it claims nothing either, as a dead one. It waits
// for the worker's stages, and so must not be called by one.
func (c *Crew) Kill(name string) {
	if m := c.remove(name); m != nil {
		m.dark.Store(true)
		m.kill(errPower)
		<-m.gone
		m.lost()
	}
}

// KillAt kills the worker that claimed a stage of that address last.
func (c *Crew) KillAt(address string) {
	for _, name := range c.Names() {
		c.mu.Lock()
		m := c.workers[name]
		c.mu.Unlock()
		if m != nil && m.has(address) {
			c.Kill(name)
			return
		}
	}
}

func (m *member) has(address string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Contains(m.made, address)
}

// Publish makes a graph known to the workers.
func (c *Crew) Publish(g *engine.Graph) { c.source.bundle(g) }

// Executor returns one that submits to the crew's queue.
func (c *Crew) Executor(s executortest.Settings) *fleet.Executor {
	return &fleet.Executor{
		Queue: c.o.Queue, Experiment: c.t.Name(), By: "a test", Now: time.Now, Log: hclog.NewNullLogger(),
		Bundle: func(_ context.Context, p *engine.Plan) (cache.Digest, error) { return c.source.bundle(p.Graph), nil },
		Events: s.Events, FailFast: s.FailFast, Budget: s.Budget, BudgetUSD: s.BudgetUSD, PaidUSD: s.PaidUSD,
	}
}

// Lab is the crew as the suite of executors sees it.
func (c *Crew) Lab() executortest.Lab {
	return executortest.Lab{
		Store:    c.o.Store,
		Executor: func(s executortest.Settings) engine.Executor { return c.Executor(s) },
		Publish:  c.Publish, Kill: c.KillAt,
	}
}

// watched is a worker's way to the queue. It notes what the worker claims, and nothing
// passes once the machine has lost power.
type watched struct {
	fleet.Queue
	by *member
}

func (w *watched) Claim(ctx context.Context, o fleet.Offer) (*fleet.Claim, error) {
	c, err := w.Queue.Claim(ctx, o)
	if err == nil {
		w.by.mu.Lock()
		defer w.by.mu.Unlock()
		w.by.made = append(w.by.made, c.Address)
	}
	return c, err
}

// Lost is as [fleet.Watcher] says, where the queue is one; otherwise nothing is known.
func (w *watched) Lost(c *fleet.Claim) <-chan struct{} {
	if q, ok := w.Queue.(fleet.Watcher); ok {
		return q.Lost(c)
	}
	return nil
}

// pass does something with a claim, if the machine has power.
func (w *watched) pass(do func() error) error {
	if w.by.dark.Load() {
		return fleet.ErrClaimLost
	}
	return do()
}

func (w *watched) Renew(ctx context.Context, c *fleet.Claim) error {
	return w.pass(func() error { return w.Queue.Renew(ctx, c) })
}

func (w *watched) Finish(ctx context.Context, c *fleet.Claim, r fleet.Result) error {
	return w.pass(func() error { return w.Queue.Finish(ctx, c, r) })
}

func (w *watched) Fail(ctx context.Context, c *fleet.Claim, f fleet.Failure) error {
	return w.pass(func() error { return w.Queue.Fail(ctx, c, f) })
}

func (w *watched) Lose(ctx context.Context, c *fleet.Claim, needs []fleet.Loss) error {
	return w.pass(func() error { return w.Queue.Lose(ctx, c, needs) })
}

func (w *watched) Return(ctx context.Context, c *fleet.Claim, why string, after time.Duration) error {
	return w.pass(func() error { return w.Queue.Return(ctx, c, why, after) })
}

func (w *watched) Tell(ctx context.Context, c *fleet.Claim, n fleet.Notice) error {
	return w.pass(func() error { return w.Queue.Tell(ctx, c, n) })
}

// source gives workers the graphs of this process.
type source struct {
	mu      sync.Mutex
	bundles map[*engine.Graph]cache.Digest
	graphs  map[cache.Digest]*engine.Graph
}

// bundle names a graph.
func (s *source) bundle(g *engine.Graph) cache.Digest {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, known := s.bundles[g]
	if !known {
		if s.bundles == nil {
			s.bundles, s.graphs = map[*engine.Graph]cache.Digest{}, map[cache.Digest]*engine.Graph{}
		}
		d = cache.DigestOf(binary.BigEndian.AppendUint64(nil, uint64(len(s.bundles))))
		s.bundles[g], s.graphs[d] = d, g
	}
	return d
}

// Graph is as [fleet.Source] says.
func (s *source) Graph(_ context.Context, bundle cache.Digest) (fleet.Project, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.graphs[bundle]
	if !ok {
		return nil, fmt.Errorf("no bundle %s", bundle.Short())
	}
	return project{g}, nil
}

type project struct{ *engine.Graph }

func (p project) Find(k cache.Key) (*engine.Stage, bool) { return p.ByKey(k) }
func (project) Close() error                             { return nil }

// Leases are a fleet's leases within one process.
type Leases struct {
	mu   sync.Mutex
	held map[cache.Key]bool
}

// NewLeases returns some of which none is held.
func NewLeases() *Leases { return &Leases{held: map[cache.Key]bool{}} }

// Lease is as [fleet.Leaser] says.
func (l *Leases) Lease(_ context.Context, k cache.Key) (func(), bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[k] {
		return nil, false, nil
	}
	l.held[k] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.held, k)
	}, true, nil
}
