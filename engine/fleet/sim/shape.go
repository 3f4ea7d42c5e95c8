package sim

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
)

// Shape is a plan to be simulated.
type Shape struct {
	Name string
	Plan *engine.Plan
	// Wall is how long each stage takes on a worker that is well, by its index.
	Wall []time.Duration
}

// builder makes a plan of stages that do nothing but take their time.
type builder struct {
	graph *engine.Graph
	kinds map[string]*engine.Kind
	times []time.Duration // usual for the kind
	seed  *rand.Rand
}

func newBuilder(seed uint64) *builder {
	return &builder{graph: engine.NewGraph(), kinds: map[string]*engine.Kind{}, seed: rand.New(rand.NewPCG(seed, 1))}
}

// add adds a stage of a kind that usually takes so long.
func (b *builder) add(kind, address string, usual time.Duration, from ...*engine.Stage) *engine.Stage {
	k, ok := b.kinds[kind]
	if !ok {
		k = &engine.Kind{Name: kind, Version: "1", Outputs: []string{"out"}, Pure: true, Run: func(context.Context, *engine.Task) error { return nil }}
		b.kinds[kind] = k
	}
	s := &engine.Stage{
		Address: kind + address, Kind: k,
		Fields: []engine.Field{{Class: engine.Params, Path: "name", Value: address}},
	}
	for i, f := range from {
		s.Inputs = append(s.Inputs, engine.Input{Name: fmt.Sprint("in", i), From: f, Output: "out"})
	}
	got := b.graph.Add(s)
	if got == s {
		b.times = append(b.times, usual)
	}
	return got
}

// shape draws how long each stage takes: its usual time, off by a lognormal factor
// with median 1.
func (b *builder) shape(name string, sigma float64) Shape {
	n := len(b.graph.Stages)
	out := Shape{Name: name, Wall: make([]time.Duration, n), Plan: &engine.Plan{Graph: b.graph, Stages: make([]engine.PlannedStage, n)}}
	for i, s := range b.graph.Stages {
		out.Wall[i] = max(time.Millisecond, time.Duration(float64(b.times[i])*math.Exp(sigma*b.seed.NormFloat64())))
		out.Plan.Stages[i] = engine.PlannedStage{
			Stage: s, Outcome: engine.WillRun, Reason: engine.Reason{Kind: engine.ReasonNew}, Estimate: b.times[i],
		}
	}
	return out
}

// Experiment is a cross like those that raglab plans: one corpus in shards that are cut
// and embedded, indexes over all shards, configurations that search an index in parts
// and are scored, and a report. All times are off by a lognormal factor (σ = 0.3).
func Experiment(seed uint64, shards, indexes, configurations int) Shape {
	b := newBuilder(seed)
	fetch := b.add("fetch", "", 30*time.Second)
	embedded := make([]*engine.Stage, shards)
	for i := range embedded {
		chunks := b.add("chunk", fmt.Sprintf("#%d", i), 15*time.Second, fetch)
		embedded[i] = b.add("embed", fmt.Sprintf("#%d", i), 90*time.Second, chunks)
	}
	var scores []*engine.Stage
	for i := range indexes {
		index := b.add("index", fmt.Sprintf("[%d]", i), 60*time.Second, embedded...)
		for c := range configurations {
			search := b.add("search", fmt.Sprintf("[%d,%d]", i, c), 40*time.Second, index)
			scores = append(scores, b.add("score", fmt.Sprintf("[%d,%d]", i, c), 5*time.Second, search))
		}
	}
	b.add("report", "", 5*time.Second, scores...)
	return b.shape("experiment", 0.3)
}

// Random is a graph of n stages in which each reads up to three of those within reach
// before it, of ten kinds whose usual times lie between 2 s and 15 minutes.
func Random(seed uint64, n, reach int) Shape {
	b := newBuilder(seed)
	usual := make([]time.Duration, 10)
	for i := range usual {
		usual[i] = time.Duration(float64(2*time.Second) * math.Pow(450, b.seed.Float64()))
	}
	for i := range n {
		var from []*engine.Stage
		for _, j := range b.choose(i, reach) {
			from = append(from, b.graph.Stages[j])
		}
		k := b.seed.IntN(len(usual))
		b.add(fmt.Sprint("kind", k), fmt.Sprintf("[%d]", i), usual[k], from...)
	}
	return b.shape("random", 0.5)
}

// choose draws up to three different numbers below i, none more than reach below it.
func (b *builder) choose(i, reach int) (chosen []int) {
	for range min(b.seed.IntN(4), i) {
		j := i - 1 - b.seed.IntN(min(i, reach))
		if !contains(chosen, j) {
			chosen = append(chosen, j)
		}
	}
	return chosen
}

func contains(all []int, x int) bool {
	for _, y := range all {
		if x == y {
			return true
		}
	}
	return false
}

// Submission is the plan as a queue takes it, with nodes that may be run twice and
// faults without end. Without priorities all nodes are equally urgent.
func (s Shape) Submission(priorities bool) fleet.Submission {
	out := fleet.Submission{
		Experiment: s.Name, By: "sim", Attempts: 1 << 20, Deaths: 1 << 20,
		Nodes: make([]fleet.Node, len(s.Plan.Stages)),
	}
	ranks := fleet.Priorities(s.Plan)
	for i := range s.Plan.Stages {
		stage := s.Plan.Stages[i].Stage
		n := fleet.Node{
			Key: stage.PlanKey(), Address: stage.Address, Kind: stage.Kind.Name, Version: stage.Kind.Version,
			Needs: make([]cache.Key, len(stage.Inputs)), Class: fleet.CPU, Priority: 2, Reason: s.Plan.Stages[i].Reason,
		}
		if priorities {
			n.Priority = ranks[i]
		}
		for j, in := range stage.Inputs {
			n.Needs[j] = in.From.PlanKey()
		}
		out.Nodes[i] = n
	}
	return out
}

// bounds are what no scheduler can beat: the longest path, and the work over the
// workers.
func (s Shape) bounds(workers int) (path, work time.Duration) {
	ends := make([]time.Duration, len(s.Wall))
	var sum time.Duration
	for i := range s.Plan.Stages {
		var begin time.Duration
		for _, in := range s.Plan.Stages[i].Stage.Inputs {
			begin = max(begin, ends[in.From.Index()])
		}
		ends[i] = begin + s.Wall[i]
		path = max(path, ends[i])
		sum += s.Wall[i]
	}
	return path, sum / time.Duration(workers)
}
