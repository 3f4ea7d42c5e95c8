package executortest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"raglab/engine"
)

// crowds are several at once, and workers that die.
func crowds() []testCase {
	return []testCase{
		{"50 appliers", appliers},
		{"killed", killed},
	}
}

// counting counts the runs of stages by address, in whatever graph they are.
type counting struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counting) do(do Do) Do {
	return func(ctx context.Context, t *engine.Task) error {
		c.mu.Lock()
		c.n[t.Address]++
		c.mu.Unlock()
		return do(ctx, t)
	}
}

// Of what 50 appliers of overlapping graphs want at once, each key is made once.
func appliers(b *bench) {
	const all, window, layers = 50, 8, 3
	c := &counting{n: map[string]int{}}
	var crowd sync.WaitGroup
	for k := range all {
		one := b.another()
		// Applier k wants the columns k to k+window of one great graph.
		before := make([]*engine.Stage, window+layers)
		for layer := range layers {
			now := make([]*engine.Stage, window+layers-layer)
			for i := range now {
				address := fmt.Sprintf("make[%d,%d]", layer, k+i)
				var from []*engine.Stage
				if layer > 0 {
					from = before[i : i+2]
				}
				now[i] = one.addStep(Pure, address, address, c.do(Join(address, len(from))), from...)
			}
			before = now[:len(now)-1]
			if layer == 0 {
				before = now
			}
		}
		p := one.plan()
		crowd.Go(func() {
			out := one.applyPlan(b.Context(), p)
			one.wantDone(out)
			if n := one.plan(); n.Changes() {
				b.Errorf("something is left to do:\n%s", sayPlan(n))
			}
		})
	}
	crowd.Wait()
	for address, n := range c.n {
		if n != 1 {
			b.Errorf("%s was made %d times", address, n)
		}
	}
	if len(c.n) < all {
		b.Errorf("%d keys were made", len(c.n))
	}
}

// A stage whose worker dies is made by another one.
func killed(b *bench) {
	if b.Kill == nil {
		b.Skip("stages run in the process that applies")
	}
	var times atomic.Int32
	s := b.addStep(Pure, "make[a]", "a", func(ctx context.Context, t *engine.Task) error {
		if times.Add(1) == 1 {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return Constant(ctx, t)
	})
	b.add("make[b]", "b", s)
	b.watch = func(e engine.Event) {
		if e.Type == engine.EventStart && e.Stage == s && e.Attempt == 1 {
			b.Kill("make[a]")
		}
	}
	out := b.done()
	if times.Load() != 2 || out.Executed != 2 {
		b.Errorf("ran %d times, executed %d", times.Load(), out.Executed)
	}
	lines := b.story()["make[a]"]
	if len(lines) != 4 || lines[0] != "start 1 [new]" || lines[2] != "start 2 [new]" || lines[3] != "executed 2 [new]" {
		b.Errorf("told %q", lines)
	}
	b.watch = nil
	b.wantNothingLeft()
}
