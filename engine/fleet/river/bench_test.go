package river_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/executortest"
	"raglab/engine/fleet"
	"raglab/internal/pg/pgtest"
)

// BenchmarkProcesses is what the queue adds to work that is no work: 3,000 stages that
// sleep 20 ms, by three worker processes of one slot each, so that 20 s is the bound.
// The time is from the submission to the end; overhead is what it is above the bound.
func BenchmarkProcesses(b *testing.B) {
	const nodes, workers, sleep = 3000, 3, 20 * time.Millisecond
	for b.Loop() {
		b.StopTimer()
		q, job := atSchema(b, pgtest.Config(b), shiftJob{Slots: 1, Sleep: sleep})
		var s said
		var started []*process
		for i := range workers {
			job.Name = fmt.Sprint("worker", i)
			p := startWorker(b, &s, job)
			p.awaitReady()
			started = append(started, p)
		}
		b.StartTimer()
		began := time.Now()
		await(b, q, submit(b, q, layers(nodes, 100)))
		b.StopTimer()
		took := time.Since(began)
		var cpu time.Duration
		for _, p := range started {
			p.stop()
			cpu += p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
		}
		bound := nodes * sleep / workers
		b.ReportMetric(100*float64(took-bound)/float64(bound), "overhead-%")
		b.ReportMetric(float64(cpu.Microseconds())/nodes, "worker-cpu-µs/stage")
		b.StartTimer()
	}
}

// BenchmarkSubmit submits graphs of a hundred thousand nodes, two needs each.
func BenchmarkSubmit(b *testing.B) {
	db := pgtest.Connect(b)
	q := openAlone(b, db)
	const nodes = 100_000
	i := 0
	for b.Loop() {
		b.StopTimer()
		s := layers(nodes, 1000)
		i++
		s.Experiment = fmt.Sprint("submit", i)
		for n := range s.Nodes {
			s.Nodes[n].Key[0], s.Nodes[n].Key[1] = byte(i), byte(i>>8)
			for k := range s.Nodes[n].Needs {
				s.Nodes[n].Needs[k][0], s.Nodes[n].Needs[k][1] = byte(i), byte(i>>8)
			}
		}
		b.StartTimer()
		submit(b, q, s)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/nodes, "µs/node")
}

// BenchmarkWorkers is what a stage costs beyond its own work with the queue, the
// executor and the workers that raglab runs: 3,000 stages that wait for 20 ms, in layers
// of 100 that need two of the layer before, over three workers with a thread each.
func BenchmarkWorkers(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		crew, store := crewOf(b, func(w *fleet.Worker) { w.Local.Capacity, w.Ahead = engine.Resources{CPU: 1}, 1 })
		plan := waiting(b, store)
		b.StartTimer()
		applyAll(b, crew.Executor(executortest.Settings{Events: func(engine.Event) {}}), plan)
	}
}

// BenchmarkAlone is the same work in one process, by three at a time: what the cache and
// the engine cost.
func BenchmarkAlone(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		store, err := cache.OpenLocal(b.TempDir(), cache.Options{NoSync: true}) // as the crew
		if err != nil {
			b.Fatal(err)
		}
		plan := waiting(b, store)
		b.StartTimer()
		applyAll(b, &engine.Local{
			Store: store, Capacity: engine.Resources{CPU: benchWorkers}, Now: time.Now, Log: hclog.NewNullLogger(), Events: func(engine.Event) {},
		}, plan)
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// The work of both benchmarks.
const (
	benchStages, benchWide, benchWorkers = 3000, 100, 3
	benchWork                            = 20 * time.Millisecond
)

// waiting plans the stages that wait.
func waiting(b *testing.B, store engine.Store) *engine.Plan {
	b.Helper()
	g := engine.NewGraph()
	var before, layer []*engine.Stage
	for i := range benchStages {
		var from []*engine.Stage
		if len(before) > 0 {
			from = []*engine.Stage{before[i%benchWide], before[(i+1)%benchWide]}
		}
		do := func(_ context.Context, t *engine.Task) error {
			<-time.After(benchWork)
			return t.Write("out", []byte(t.Address))
		}
		layer = append(layer, g.Add(executortest.NewStage(executortest.Pure, fmt.Sprintf("make[%d]", i), fmt.Sprint(i), do, from...)))
		if len(layer) == benchWide {
			before, layer = layer, nil
		}
	}
	planner := &engine.Planner{Store: store, Ledger: engine.Ledger{}, Log: hclog.NewNullLogger()}
	plan, err := planner.Plan(b.Context(), g, nil)
	if err != nil {
		b.Fatal(err)
	}
	return plan
}

// applyAll applies a plan and reports what it took beyond the stages' own work.
func applyAll(b *testing.B, x engine.Executor, plan *engine.Plan) {
	b.Helper()
	began := time.Now()
	out, err := x.Apply(b.Context(), plan)
	if err != nil || out.Executed != benchStages {
		b.Fatal(out, err)
	}
	const bound = benchStages * benchWork / benchWorkers
	b.ReportMetric(100*(float64(time.Since(began))/float64(bound)-1), "overhead-%")
}
