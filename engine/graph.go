package engine

import (
	"fmt"
	"strings"

	"raglab/cache"
)

// Graph is a set of stages in which inputs come before what reads them. It is
// built by one goroutine and then only read.
type Graph struct {
	Stages []*Stage

	byKey     map[cache.Key]*Stage
	byAddress map[string]*Stage
	edges     int
	buf       []byte
}

// NewGraph returns an empty graph.
func NewGraph() *Graph {
	return &Graph{byKey: map[cache.Key]*Stage{}, byAddress: map[string]*Stage{}}
}

// Add puts a stage whose inputs are all in the graph into it, and returns the
// stage that stands for it: an earlier one when its plan key is the same. A
// different stage whose address is taken gets a number behind it.
func (g *Graph) Add(s *Stage) *Stage {
	sortFields(s.Fields)
	s.planKey, g.buf = planKey(g.buf, s)
	if same, ok := g.byKey[s.planKey]; ok {
		if same.Address != s.Address {
			g.alias(same, s.Address)
		}
		return same
	}
	for n, taken := 2, s.Address; ; n++ {
		if _, ok := g.byAddress[s.Address]; !ok {
			break
		}
		s.Address = fmt.Sprintf("%s~%d", taken, n)
	}
	s.index = len(g.Stages)
	g.Stages = append(g.Stages, s)
	g.byKey[s.planKey] = s
	g.byAddress[s.Address] = s
	g.edges += len(s.Inputs)
	return s
}

func (g *Graph) alias(s *Stage, address string) {
	if _, ok := g.byAddress[address]; ok {
		return
	}
	g.byAddress[address] = s
	s.also = append(s.also, address)
}

// Edges is the number of inputs of all stages together.
func (g *Graph) Edges() int { return g.edges }

// Find returns the stage of that address.
func (g *Graph) Find(address string) (*Stage, bool) {
	s, ok := g.byAddress[address]
	return s, ok
}

// Match returns the stages whose address, or another name of theirs, equals the
// pattern or begins with it followed by "[" or "#".
func (g *Graph) Match(pattern string) []*Stage {
	var out []*Stage
	for _, s := range g.Stages {
		if matches(s.Address, pattern) {
			out = append(out, s)
			continue
		}
		for _, a := range s.also {
			if matches(a, pattern) {
				out = append(out, s)
				break
			}
		}
	}
	return out
}

func matches(address, pattern string) bool {
	rest, ok := strings.CutPrefix(address, pattern)
	return ok && (rest == "" || rest[0] == '[' || rest[0] == '#')
}

// Closure returns, by index, the stages that the given ones need, themselves
// included.
func (g *Graph) Closure(roots []*Stage) []bool {
	need := make([]bool, len(g.Stages))
	for _, s := range roots {
		need[s.index] = true
	}
	// Inputs stand before their readers, so one pass from the end is enough.
	for i := len(g.Stages) - 1; i >= 0; i-- {
		if need[i] {
			for _, in := range g.Stages[i].Inputs {
				need[in.From.index] = true
			}
		}
	}
	return need
}
