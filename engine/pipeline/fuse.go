package pipeline

import (
	"context"
	"fmt"
	"time"

	"raglab/axes"
	"raglab/axes/retriever"
	"raglab/engine"
	"raglab/engine/artifact"
)

// fuseWork is the work of a fuse stage.
type fuseWork struct {
	fuser retriever.Fuser
	legs  int
	depth int
}

// fuseKind merges the rankings of several runs.
var fuseKind = &engine.Kind{Name: "fuse", Version: "1", Outputs: []string{"run"}, Pure: true, Run: runFuse}

func legName(i int) string { return fmt.Sprintf("leg-%d", i) }

func runFuse(ctx context.Context, t *engine.Task) error {
	w := t.Work.(fuseWork)
	queries, err := readQueries(t)
	if err != nil {
		return err
	}
	legs := make([]artifact.Run, w.legs)
	places := make([]map[string]int, w.legs)
	for i := range legs {
		if legs[i], err = readRun(t, legName(i)); err != nil {
			return fmt.Errorf("leg %d: %w", i, err)
		}
		places[i] = legs[i].By()
	}
	run := newRun(len(queries))
	latency := make(map[string]float64, len(queries))
	names := map[uint32]string{}
	for _, q := range queries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		clear(names)
		rankings := make([][]axes.Hit, w.legs)
		for i, leg := range legs {
			at, ok := places[i][q.ID]
			if !ok {
				continue
			}
			rankings[i] = leg.Hits[at]
			for j, h := range leg.Hits[at] {
				names[h.Ordinal] = leg.Chunks[at][j]
			}
		}
		start := time.Now()
		hits := w.fuser.Fuse(rankings, w.depth)
		latency[q.ID] = milliseconds(time.Since(start))
		if err := run.add(q.ID, hits, nameIn(names)); err != nil {
			return err
		}
	}
	t.Measure("latency_ms", latency)
	return writeRun(t, run.Run)
}

func nameIn(names map[uint32]string) func(uint32) (string, error) {
	return func(ordinal uint32) (string, error) {
		name, ok := names[ordinal]
		if !ok {
			return "", fmt.Errorf("hit %d was in no ranking that went in", ordinal)
		}
		return name, nil
	}
}
