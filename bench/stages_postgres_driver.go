package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
	"raglab/engine/fleet/river"
	"raglab/engine/fleet/sim"
)

// The steps of stagesPostgresDriver.
const (
	stagesSubmitPostgres  = "submit to Postgres"
	stagesFinishPostgres  = "finish what a fifth of them wait for"
	stagesReleasePostgres = "finish it, until all of those are ready"
	stagesDrainPostgres   = "claim and finish on Postgres"
)

// stagesPostgresWorkers are how many workers claim, stagesPostgresSlots how many nodes
// each at a time.
const (
	stagesPostgresWorkers = 2
	stagesPostgresSlots   = 8
)

// stagesPostgresDriver: DIR ASSETS COUNT CLAIMS. Starts a server of its own in DIR,
// submits COUNT stages to it, and has workers claim and finish CLAIMS of them, doing
// nothing.
func stagesPostgresDriver(ctx context.Context, args []string) (err error) {
	if len(args) != 4 {
		return errors.New("stages-postgres takes four arguments")
	}
	count, claims, err := numbers(args[2], args[3])
	if err != nil {
		return err
	}
	d := &onPostgres{clock: &clock{reps: 1, threads: 2}, dir: args[0]}
	drop, err := d.connect(ctx, args[1])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	if err := d.submitStages(ctx, count); err != nil {
		return err
	}
	if err := d.drainStages(ctx, claims); err != nil {
		return err
	}
	return d.print()
}

// submitStages submits an experiment, and measures how large the queue's tables are then.
func (d *onPostgres) submitStages(ctx context.Context, count int) error {
	q, err := river.Open(ctx, river.Options{DB: d.db, Version: "bench"})
	if err != nil {
		return err
	}
	defer func() { _ = q.Close(context.WithoutCancel(ctx)) }() // the server is dropped
	submission := experimentOf(count).Submission(true)
	s, err := d.time(stagesSubmitPostgres, len(submission.Nodes), func() error {
		submission.Planned = time.Now()
		_, err := q.Submit(ctx, submission)
		return err
	})
	if err != nil {
		return err
	}
	var bytes int64
	if err := d.db.Pool().QueryRow(ctx, `select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint from pg_class c
		where c.relkind = 'r' and c.relnamespace = $1::regnamespace`, d.db.Schema()).Scan(&bytes); err != nil {
		return fmt.Errorf("ask for the size of the tables: %w", err)
	}
	s.IndexMB = float64(bytes) / 1e6
	return nil
}

// experimentOf is the experiment of so many stages that both drivers bring about.
func experimentOf(count int) sim.Shape { return sim.Experiment(1, count/5, 8, count*3/80) }

// drainStages has workers finish the first node, for which all shards wait, and then claim
// and finish nodes until so many are done.
func (d *onPostgres) drainStages(ctx context.Context, claims int) error {
	var workers []*river.Queue
	for i := range stagesPostgresWorkers {
		q, err := river.Open(ctx, river.Options{
			DB: d.db, Version: "bench", Name: fmt.Sprint("bench", i), Backups: fleet.Backups{Off: true},
			Slots: map[fleet.Class]int{fleet.CPU: stagesPostgresSlots},
		})
		if err != nil {
			return err
		}
		defer func() { _ = q.Close(context.WithoutCancel(ctx)) }() // the server is dropped
		workers = append(workers, q)
	}
	if err := d.release(ctx, workers[0]); err != nil {
		return err
	}
	_, err := d.time(stagesDrainPostgres, claims, func() error { return drainOn(ctx, workers, claims) })
	return err
}

// release finishes the first node: how long that takes, and how long until what waits for
// it is ready.
func (d *onPostgres) release(ctx context.Context, q *river.Queue) error {
	c, err := q.Claim(ctx, fleet.Offer{Worker: "bench0", Classes: []fleet.Class{fleet.CPU}})
	if err != nil {
		return err
	}
	var finished time.Duration
	s, err := d.time(stagesReleasePostgres, 0, func() error {
		began := time.Now()
		if err := finishNext(ctx, q, c); err != nil {
			return err
		}
		finished = time.Since(began)
		return d.awaitReleased(ctx)
	})
	if err == nil {
		d.samples = append(d.samples, sample{Tool: s.Tool, Step: stagesFinishPostgres, Threads: s.Threads, Wall: finished.Seconds()})
	}
	return err
}

// awaitReleased waits until the queue owes nobody the end of a node.
func (d *onPostgres) awaitReleased(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for owes := true; owes; {
		if err := d.db.Pool().QueryRow(ctx, `select exists (select from fleet_spread)`).Scan(&owes); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// drainOn lets every slot of the workers claim and finish, until so many are claimed.
func drainOn(ctx context.Context, workers []*river.Queue, claims int) error {
	var left atomic.Int64
	left.Store(int64(claims))
	var all sync.WaitGroup
	errs := make([]error, len(workers)*stagesPostgresSlots)
	for i := range errs {
		q, name := workers[i%len(workers)], fmt.Sprint("bench", i%len(workers))
		all.Go(func() {
			for errs[i] == nil && left.Add(-1) >= 0 {
				errs[i] = makeNext(ctx, q, name)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// makeNext claims a node and finishes it at once.
func makeNext(ctx context.Context, q fleet.Queue, name string) error {
	c, err := q.Claim(ctx, fleet.Offer{Worker: name, Classes: []fleet.Class{fleet.CPU}})
	if err != nil {
		return err
	}
	return finishNext(ctx, q, c)
}

// finishNext finishes a node that was claimed.
func finishNext(ctx context.Context, q fleet.Queue, c *fleet.Claim) error {
	return q.Finish(ctx, c, fleet.Result{
		Made:       engine.Made{Key: c.Key, Outputs: []cache.Blob{{Name: "out", Digest: cache.Digest(c.Key), Size: 1}}},
		Completion: engine.Executed, Wall: time.Millisecond,
	})
}
