package workspace

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"time"

	"raglab/cache"
	"raglab/cache/shared"
	"raglab/engine"
	"raglab/engine/fleet"
	"raglab/engine/fleet/river"
)

// Queue takes part in the queue of stages on the Postgres that RAGLAB_DSN names, or on
// raglab's own, which serves one machine. It must be closed.
type Queue struct {
	*river.Queue
	database *Database
}

// QueueOptions say how to take part.
type QueueOptions struct {
	// Slots are how many stages of each class this process claims at a time; none for
	// one that claims nothing.
	Slots map[fleet.Class]int
	// Name is the worker's; empty is HOST:PID.
	Name string
}

// Queue connects to the queue.
func (w *Workspace) Queue(ctx context.Context, o QueueOptions) (*Queue, error) {
	d, err := w.Database(nil)
	if err != nil {
		return nil, err
	}
	db, err := d.Connect(ctx)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	q, err := river.Open(ctx, river.Options{DB: db, Slots: o.Slots, Name: o.Name, Version: w.Version, Log: w.Log})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the queue: %w", err), d.Close())
	}
	return &Queue{q, d}, nil
}

// Own tells whether the queue is on raglab's own server, which no other machine reaches.
func (q *Queue) Own() bool { return q.database.Own() }

// Close leaves the queue.
func (q *Queue) Close() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), 10*time.Second, errors.New("the server did not answer"))
	defer cancel()
	return errors.Join(q.Queue.Close(ctx), q.database.Close())
}

// Away says that an apply hands its stages to a queue.
type Away struct {
	Queue  fleet.Queue
	Loaded Loaded
	// Submitted is told which run it is; nil tells nobody.
	Submitted func(fleet.RunID)
}

// handOut is the executor of an apply whose stages others run. Told to stop, it leaves the
// run at work.
func (s *Session) handOut(o ApplyOptions, events func(engine.Event)) (*fleet.Executor, error) {
	if o.LockTimeout > 0 {
		return nil, errors.New("-lock-timeout is about processes that share a cache; stages handed to a queue wait for nobody")
	}
	if err := s.shares(); err != nil {
		return nil, err
	}
	return &fleet.Executor{
		Queue: o.Away.Queue, Push: s.pusher(), Experiment: s.Experiment.Name, By: by(o.Reason),
		Bundle: func(ctx context.Context, _ *engine.Plan) (cache.Digest, error) {
			rec, err := s.bundle(ctx, o.Away.Loaded)
			if err != nil {
				return cache.Digest{}, err
			}
			if p := s.pusher(); p != nil {
				err = p.Push(ctx, rec.Key)
			}
			return cache.Digest(rec.Key), err
		},
		FailFast: o.FailFast, Verify: o.Verify, Limits: s.limits(), Detach: true, Submitted: o.Away.Submitted,
		LimitsOf:  func(st *engine.Stage) []string { return st.Limits },
		Budget:    time.Duration(s.Experiment.Budget.Seconds * float64(time.Second)),
		BudgetUSD: s.Experiment.Budget.USD, PaidUSD: s.paid,
		Now: time.Now, Log: s.Log, Events: events,
	}, nil
}

// shares returns what keeps this workspace from handing results to other machines.
func (w *Workspace) shares() error {
	if store := w.Store.Shared(); store != nil && store.Mode() != shared.Write {
		return fmt.Errorf("the store %s is opened to be read only, and results move through it: set RAGLAB_STORE_MODE=write, or -store-mode write", store.Name())
	}
	return nil
}

// by says whose a run is.
func by(command string) string {
	who := "somebody"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	return fmt.Sprintf("%s@%s, %s", who, hostName(), command)
}

// ServeOptions say what a worker does.
type ServeOptions struct {
	// Queue was opened with slots, and names the worker.
	Queue *Queue
	// Capacity is what stages may use together.
	Capacity engine.Resources
	Classes  []fleet.Class
	// Ahead is how many stages of each class are claimed to fetch their inputs.
	Ahead int
	// Grace bounds how long stages may go on once Drain is closed.
	Grace time.Duration
	Drain <-chan struct{}
	// Ended is told how each stage ended here, by several goroutines at a time.
	Ended func(fleet.End)
	// Idle drains the worker once it had nothing to do for that long; 0 never does.
	Idle time.Duration
}

// Capacity is what stages may use together on this machine.
func (w *Workspace) Capacity() engine.Resources {
	return engine.Resources{CPU: w.Threads, Memory: memory(), Network: 4, Accelerator: 1}
}

// Serve makes stages for others until ctx ends or Drain is closed.
func (w *Workspace) Serve(ctx context.Context, o ServeOptions) error {
	if err := errors.Join(w.shares(), w.sweepTrees(ctx)); err != nil {
		return err
	}
	queue, drain := fleet.Queue(o.Queue), o.Drain
	if o.Idle > 0 {
		watched := newIdleQueue(queue, o.Idle, o.Drain)
		defer watched.stop()
		queue, drain = watched, watched.idle
	}
	by := provenance(w.Options)
	by["worker"] = o.Queue.Name()
	worker := &fleet.Worker{
		Name: o.Queue.Name(), Queue: queue, Source: bundles{w}, Classes: o.Classes, Ahead: o.Ahead, Lease: o.Queue, Grace: o.Grace,
		Local: engine.Local{Store: w.store(), Capacity: o.Capacity, Now: time.Now, Log: w.Log, Provenance: by},
		Push:  w.pusher(), Fetch: w.fetcher(), Ended: o.Ended, Log: w.Log,
	}
	return worker.Run(ctx, drain)
}

// bundles builds the graphs of bundles.
type bundles struct{ w *Workspace }

// Graph implements [fleet.Source].
func (s bundles) Graph(ctx context.Context, bundle cache.Digest) (fleet.Project, error) {
	return s.w.Project(ctx, bundle)
}
