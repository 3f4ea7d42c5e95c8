package fleet_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"raglab/engine"
	"raglab/engine/executortest"
	"raglab/engine/fleet"
)

// What a stage costs beyond its own work, from claim to end, with a queue in memory:
// three workers with a thread each, and stages that do nothing but wait.
func BenchmarkWorker(b *testing.B) {
	const stages, workers, work = 600, 3, 20 * time.Millisecond
	for b.Loop() {
		crew, _, store := crewOf(b, workers, func(w *fleet.Worker) { w.Local.Capacity = engine.Resources{CPU: 1} })
		g := engine.NewGraph()
		for i := range stages {
			g.Add(executortest.NewStage(executortest.Pure, fmt.Sprintf("make[%d]", i), fmt.Sprint(i), func(_ context.Context, t *engine.Task) error {
				<-time.After(work)
				return t.Write("out", []byte(t.Address))
			}))
		}
		began := time.Now()
		out, err := crew.Executor(executortest.Settings{Events: func(engine.Event) {}}).Apply(b.Context(), planOf(b, store, g))
		if err != nil || out.Executed != stages {
			b.Fatal(out, err)
		}
		bound := stages * work / workers
		b.ReportMetric(100*(float64(time.Since(began))/float64(bound)-1), "%overhead")
	}
}
