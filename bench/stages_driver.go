package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
	"raglab/engine/fleet/memory"
	"raglab/engine/fleet/sim"
)

// stagesCommand is raglab plan of a spec, the others the steps of stagesDriver.
const (
	stagesCommand = "raglab plan"

	stagesGraph  = "build the graph"
	stagesNew    = "plan, nothing known"
	stagesCached = "plan, everything cached"
	stagesLedger = "update, write and read the ledger"
	stagesSubmit = "submit to the queue in memory"
	stagesDrain  = "claim and finish all, in memory"
)

// stagesDriver: COUNT. Brings a graph of about so many stages through all that plans
// and hands out work, and does none of it.
func stagesDriver(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("stages takes one argument")
	}
	count, err := strconv.Atoi(args[0])
	if err != nil || count < 100 {
		return errors.New("the number of stages must be at least 100")
	}
	c := &clock{reps: 1}
	c.use(2)
	s := &stages{count: count}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{stagesGraph, s.build},
		{stagesNew, s.planNew},
		{stagesCached, s.planCached},
		{stagesLedger, s.keepLedger},
		{stagesSubmit, s.submit},
		{stagesDrain, s.drain},
	} {
		if _, err := c.time(step.name, count, func() error { return step.do(ctx) }); err != nil {
			return err
		}
	}
	return c.print()
}

// stages is a graph on its way through the engine and the queue.
type stages struct {
	count int
	shape sim.Shape
	plan  *engine.Plan
	queue *memory.Queue
}

// build makes an experiment: two fifths of the stages are shards, the rest
// configurations over eight indexes.
func (s *stages) build(context.Context) error {
	s.shape = experimentOf(s.count)
	return nil
}

func (s *stages) planWith(ctx context.Context, store cache.Store, want engine.Outcome) (err error) {
	p := &engine.Planner{Store: store, Log: hclog.NewNullLogger(), SimulateBytes: 1 << 30}
	if s.plan, err = p.Plan(ctx, s.shape.Plan.Graph, nil); err == nil && s.plan.Count(want) < len(s.plan.Stages) {
		err = errors.New("the plan is another than it should be")
	}
	return err
}

func (s *stages) planNew(ctx context.Context) error {
	return s.planWith(ctx, noRecords{}, engine.WillRun)
}

func (s *stages) planCached(ctx context.Context) error {
	return s.planWith(ctx, allRecords{}, engine.Cached)
}

// keepLedger does what an apply does at its end and the next plan at its beginning.
func (s *stages) keepLedger(context.Context) error {
	ledger := engine.Ledger{}.Update(s.plan, s.plan.Known())
	again, err := engine.ParseLedger(ledger.Encode())
	if err == nil && len(again) < len(s.plan.Stages) {
		err = errors.New("the ledger lost stages")
	}
	return err
}

func (s *stages) submit(ctx context.Context) error {
	s.plan = nil
	submission := s.shape.Submission(true)
	submission.Planned = time.Now()
	s.queue = memory.New(memory.Options{Backups: fleet.Backups{Off: true}})
	_, err := s.queue.Submit(ctx, submission)
	return err
}

// drain makes each node by doing nothing, a thousand at a time.
func (s *stages) drain(ctx context.Context) error {
	var held []*fleet.Claim
	offer := fleet.Offer{Worker: "bench", Classes: []fleet.Class{fleet.CPU}}
	for range 1000 {
		s.queue.Await(offer, func(c *fleet.Claim) { held = append(held, c) })
	}
	done := 0
	for ; len(held) > 0; done++ {
		c := held[len(held)-1]
		held = held[:len(held)-1]
		r := fleet.Result{Made: engine.Made{Key: c.Key, Outputs: []cache.Blob{{Name: "out"}}}, Completion: engine.Executed, Wall: time.Second}
		if err := s.queue.Finish(ctx, c, r); err != nil {
			return err
		}
		s.queue.Await(offer, func(c *fleet.Claim) { held = append(held, c) })
	}
	if done < len(s.shape.Wall) {
		return errors.New("the queue ran dry before all was done")
	}
	return nil
}

// noRecords is a store that has nothing, allRecords one that has all results that
// anybody asks for.
type (
	noRecords  struct{ cache.Store }
	allRecords struct{ cache.Store }
)

func (noRecords) Get(context.Context, cache.Key) (*cache.Record, error) {
	return nil, cache.ErrNotFound
}

func (allRecords) Get(_ context.Context, k cache.Key) (*cache.Record, error) {
	return &cache.Record{Key: k, Outputs: []cache.Blob{{Name: "out", Digest: cache.Digest(k), Size: 1}}}, nil
}

func (allRecords) Stat(context.Context, cache.Digest) (int64, error) { return 1, nil }
