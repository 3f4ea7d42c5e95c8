package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/engine"
)

// Worker claims stages of a queue and makes them on this machine. Its fields must not
// change while Run runs.
type Worker struct {
	// Name tells the worker from all others of the queue.
	Name  string
	Queue Queue
	// Source builds the graphs of runs.
	Source Source
	// Local makes the stages: its store, capacity, backoff and provenance count, and
	// nothing that concerns a whole plan. Its Events are not called.
	Local engine.Local
	// Classes are those that it serves; nil means those of which the capacity has
	// something.
	Classes []Class
	// Ahead is how many stages of each class it claims beyond what it can run, to fetch
	// their inputs meanwhile.
	Ahead int
	// Fetch brings inputs here before a stage takes its resources; nil: they are here.
	Fetch Fetcher
	// Push uploads results that were found on this machine alone; nil: nothing is.
	Push Pusher
	// Lease keeps two workers from making the result of one content key at once; nil:
	// only processes that share the store's leases are kept from it.
	Lease Leaser
	// Renew is how often claims are renewed; 0 means every second, or every five with a
	// queue that is a [Watcher]. Poll is how soon a stage is claimed again whose result
	// somebody else makes; 0 means half a second.
	Renew, Poll time.Duration
	// Patience is how long a claimed stage may wait for its resources before it is given
	// back, for workers that may be idle; 0 means 5 s. One that takes several threads,
	// connections or devices waits as long as it takes.
	Patience time.Duration
	// Grace bounds how long stages may go on once the worker drains; 0 means as long as
	// they take.
	Grace time.Duration
	// Ended, when set, is told how each claim ended, by several goroutines at a time, once
	// the queue knows.
	Ended func(End)
	// Log is for developers; required.
	Log hclog.Logger
}

// Why a worker's stages end.
var (
	// ErrDrained is the cause with which the stages of a draining worker are stopped once
	// its grace has passed.
	ErrDrained = errors.New("the worker has been told to end")
	errRested  = errors.New("the worker claims nothing more")
	errWaited  = errors.New("the machine has had no room for the stage")
)

// Run claims and makes stages until drain is closed, which lets those that run come to
// their end within Grace and gives back the others; or until ctx ends, which stops them
// all at once, with its cause, and gives them back. The error is ctx's cause, or about
// closing what stages held.
func (w *Worker) Run(ctx context.Context, drain <-chan struct{}) error {
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	claiming, rest := context.WithCancelCause(work)
	defer rest(nil)
	at := &shift{
		Worker: w, work: work, claiming: claiming,
		room: engine.NewAdmission(w.Local.Capacity), claims: map[*held]struct{}{}, refused: map[refusal]int{}, freed: make(chan struct{}),
	}
	at.graphs.source = w.Source
	var claimers, keeper sync.WaitGroup
	for _, class := range w.classes() {
		claimers.Go(func() { at.serve(class) })
	}
	renewing, rested := context.WithCancelCause(context.WithoutCancel(ctx))
	keeper.Go(func() { at.renew(renewing) })
	select {
	case <-drain:
	case <-ctx.Done():
	}
	rest(errRested)
	claimers.Wait()
	if w.Grace > 0 {
		defer time.AfterFunc(w.Grace, func() { stop(ErrDrained) }).Stop()
	}
	at.stages.Wait()
	rested(nil)
	keeper.Wait()
	return errors.Join(context.Cause(ctx), at.graphs.close())
}

// classes are those to serve.
func (w *Worker) classes() []Class {
	if w.Classes != nil {
		return w.Classes
	}
	out := []Class{CPU}
	if w.Local.Capacity.Network > 0 {
		out = append(out, Network)
	}
	if w.Local.Capacity.Accelerator > 0 {
		out = append(out, Accelerator)
	}
	return out
}

func orElse(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// shift is a worker at work.
type shift struct {
	*Worker
	work     context.Context // of all stages
	claiming context.Context // ends when nothing is begun any more
	room     *engine.Admission
	graphs   graphs
	stages   sync.WaitGroup

	mu      sync.Mutex
	claims  map[*held]struct{}
	refused map[refusal]int // how often
	freed   chan struct{}   // closed when a stage ends
}

// taken is called when a stage has taken its resources; the function that it returns
// gives them back.
func (s *shift) taken(release func()) (free func()) {
	return func() {
		release()
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.freed)
		s.freed = make(chan struct{})
	}
}

// nextFreed is closed when a stage ends next.
func (s *shift) nextFreed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.freed
}

// held is a claim in this worker's hands.
type held struct {
	*Claim
	cancel context.CancelCauseFunc
	hand   *hand
	// weighed says that the hand knows how much the stage takes.
	weighed func()
}

// refusal is what this worker cannot serve.
type refusal struct {
	bundle, kind, version string
}

// hand counts what a worker has claimed of a class, in threads, connections or devices.
type hand struct {
	class Class
	most  int

	mu   sync.Mutex
	has  int
	less chan struct{} // closed when it has less
	// rests, when set, is closed when it may claim again.
	rests <-chan struct{}
}

// rest claims nothing more until a channel is closed.
func (h *hand) rest(until <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rests = until
}

func (h *hand) add(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.has += n
	if n < 0 {
		close(h.less)
		h.less = make(chan struct{})
	}
}

// wait waits until there is room for one more, and takes it.
func (h *hand) wait(ctx context.Context) error {
	for {
		until := h.take()
		if until == nil {
			return nil
		}
		select {
		case <-until:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// take takes room for one, or returns what to wait for.
func (h *hand) take() (until <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.rests:
		h.rests = nil
	default:
	}
	switch {
	case h.rests != nil:
		return h.rests
	case h.has >= h.most:
		return h.less
	}
	h.has++
	return nil
}

// units is how much of a class a stage takes.
func units(c Class, cost engine.Resources) int {
	switch c {
	case Network:
		return cost.Network
	case Accelerator:
		return cost.Accelerator
	}
	return cost.CPU
}

// serve claims stages of a class while there is room for more.
func (s *shift) serve(class Class) {
	all := s.room.Cost(engine.Resources{CPU: 1 << 30, Network: 1 << 30, Accelerator: 1 << 30})
	h := &hand{class: class, most: max(units(class, all), 1) + s.Ahead, less: make(chan struct{})}
	var failing retry
	for h.wait(s.claiming) == nil {
		c, err := s.Queue.Claim(s.claiming, Offer{Worker: s.Name, Classes: []Class{class}})
		if err != nil {
			h.add(-1)
			if s.claiming.Err() != nil {
				return
			}
			s.Log.Warn("claim a stage", "class", class, "error", err)
			failing.again(s.claiming, s.Local.Now(), 0)
			continue
		}
		failing = retry{}
		// Not before it is known how much is left.
		weighed := make(chan struct{})
		s.stages.Go(func() { s.handle(c, h, sync.OnceFunc(func() { close(weighed) })) })
		<-weighed
	}
}

// renew says of all claims that they are worked on, and stops those that are lost.
func (s *shift) renew(ctx context.Context) {
	every := time.Second
	if _, ok := s.Queue.(Watcher); ok {
		every = 5 * time.Second
	}
	every = orElse(s.Renew, every)
	for {
		pause(ctx, every)
		if ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		all := slices.Collect(maps.Keys(s.claims))
		s.mu.Unlock()
		for _, c := range all {
			asking, cancel := timeout(ctx, 10*every, errors.New("the queue does not answer"))
			err := s.Queue.Renew(asking, c.Claim)
			cancel()
			if errors.Is(err, ErrClaimLost) {
				c.cancel(ErrClaimLost)
			} else if err != nil && ctx.Err() == nil {
				s.Log.Warn("renew a claim", "stage", c.Address, "error", err)
			}
		}
	}
}

// hold keeps a claim renewed until it is let go.
func (s *shift) hold(c *held) (letGo func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims[c] = struct{}{}
	unwatch := s.watch(c)
	return func() {
		unwatch()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.claims, c)
	}
}

// watch stops a claim's stage as soon as the queue knows that the claim is lost.
func (s *shift) watch(c *held) (unwatch func()) {
	w, ok := s.Queue.(Watcher)
	if !ok {
		return func() {}
	}
	over := make(chan struct{})
	s.stages.Go(func() {
		select {
		case <-w.Lost(c.Claim):
			c.cancel(ErrClaimLost)
		case <-over:
		}
	})
	return func() { close(over) }
}

// refuse is how to give a stage back that another worker may be able to make: the
// oftener this one has, the later it may be claimed again.
func (s *shift) refuse(c *Claim, why string) ending {
	s.mu.Lock()
	r := refusal{c.Bundle.String(), c.Kind, c.Version}
	after := time.Second << min(s.refused[r], 5)
	s.refused[r]++
	s.mu.Unlock()
	return s.giveBack(c, fmt.Sprintf("worker %s leaves it to others: %s", s.Name, why), after)
}
