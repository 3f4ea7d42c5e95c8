package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// Planning makes much and keeps most of it: collecting less often makes an apply
// with nothing to do a quarter faster. What a large graph keeps must not be held
// several times over, so that less garbage is let lie beside it. Stages run with Go's
// own setting, since memory is what they may be short of.
const (
	runningGC = 100
	// planningGC and leastGC bound the percentage while a plan is made; planningGarbage
	// is how many bytes of garbage are let lie between the two.
	planningGC      = 400
	leastGC         = 50
	planningGarbage = 1 << 30
)

// collector sets how often garbage is collected.
type collector struct {
	mu      sync.Mutex
	running bool
}

// planning begins to set it for planning. It is set anew after each collection.
func (c *collector) planning() {
	debug.SetGCPercent(planningGC)
	c.watch()
}

// watch calls after once the next collection is over: it finds the object unused.
func (c *collector) watch() { runtime.AddCleanup(new([16]byte), (*collector).after, c) }

func (c *collector) after() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(planningPercent(live[0].Value.Uint64()))
	c.watch()
}

// planningPercent is the percentage for a heap in which so many bytes are kept.
func planningPercent(live uint64) int {
	return int(min(planningGC, max(leastGC, 100*planningGarbage/max(1, live))))
}

// run sets it for running stages, for good.
func (c *collector) run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = true
	debug.SetGCPercent(runningGC)
}

// garbage is the process's collector.
var garbage collector
