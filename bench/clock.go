package main

import (
	"encoding/json"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// raglabTool is the name of raglab's own samples.
const raglabTool = "raglab"

// driverFlag makes this program one of its drivers.
const driverFlag = "-driver"

// clock times the steps of a driver, as the peers' scripts time theirs: each
// repetition after a collection of garbage, the peak of memory over them all.
type clock struct {
	reps    int
	threads int
	samples []sample
}

// use sets how many threads the following steps may use.
func (c *clock) use(threads int) {
	c.threads = threads
	runtime.GOMAXPROCS(threads)
}

// time runs fn again and again and keeps the medians. The work is what one
// repetition does, 0 for one piece of work. The sample may be completed until the
// next step.
func (c *clock) time(name string, work int, fn func() error) (*sample, error) {
	forgetPeak()
	var walls, cpus series
	for range c.reps {
		runtime.GC()
		cpu, start := processCPU(), time.Now()
		if err := fn(); err != nil {
			return nil, err
		}
		walls = append(walls, time.Since(start).Seconds())
		cpus = append(cpus, (processCPU() - cpu).Seconds())
	}
	s := sample{Tool: raglabTool, Step: name, Threads: c.threads, Wall: walls.median(), CPU: cpus.median(), PeakMB: ownPeakMB()}
	if work > 0 {
		s.PerSecond = float64(work) / math.Max(s.Wall, 1e-9)
	}
	c.samples = append(c.samples, s)
	return &c.samples[len(c.samples)-1], nil
}

// print writes the samples for the program that started the driver.
func (c *clock) print() error {
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"rows": c.samples})
}

// forgetPeak makes Linux forget how much memory this process once held.
func forgetPeak() {
	// Elsewhere there is no such file, and the peak is not measured either.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// ownPeakMB is the most memory, in MiB, that this process has held since, 0 where that is
// not known.
func ownPeakMB() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		rest, ok := strings.CutPrefix(line, "VmHWM:")
		if !ok {
			continue
		}
		kb, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
		if err != nil {
			return 0
		}
		return kb / 1024
	}
	return 0
}
