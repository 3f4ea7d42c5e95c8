package fleettest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/executortest"
)

// Layered adds layers of stages to a graph, each of which reads three of the layer before
// and takes a pause; it is the same graph each time. Around, when set, changes what the
// stages do.
func Layered(g *engine.Graph, layers, width int, pause time.Duration, around func(executortest.Do) executortest.Do) {
	rng := rand.New(rand.NewPCG(1, 2))
	var before []*engine.Stage
	for layer := range layers {
		var now []*engine.Stage
		for i := range width {
			address := fmt.Sprintf("make[%d,%d]", layer, i)
			var from []*engine.Stage
			for range min(3, len(before)) {
				from = append(from, before[rng.IntN(len(before))])
			}
			do := digested(address, len(from), pause)
			if around != nil {
				do = around(do)
			}
			s := executortest.NewStage(executortest.Pure, address, address, do, from...)
			s.Needs = engine.Resources{CPU: 1 + rng.IntN(2)}
			now = append(now, g.Add(s))
		}
		before = now
	}
}

// digested writes a text and the digest of its inputs.
func digested(text string, n int, pause time.Duration) executortest.Do {
	return func(ctx context.Context, t *engine.Task) error {
		all := text
		for i := range n {
			in, err := t.Bytes(fmt.Sprintf("in%d", i))
			if err != nil {
				return err
			}
			all += string(in)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return t.Write("out", []byte(text+" "+cache.DigestOf([]byte(all)).Short()))
	}
}
