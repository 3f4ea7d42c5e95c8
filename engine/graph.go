package engine

import (
	"fmt"
	"slices"
	"strings"

	"raglab/cache"
)

// Graph is a set of stages in which inputs come before what reads them. It is
// built by one goroutine and then only read.
type Graph struct {
	Stages []*Stage

	byKey     map[cache.Key]*Stage
	byAddress map[string]*Stage
	taken     map[string]int   // how often an address was asked for by different stages
	fields    map[string]Field // by encoding, see share
	edges     int
	buf       []byte
}

// NewGraph returns an empty graph.
func NewGraph() *Graph {
	return &Graph{byKey: map[cache.Key]*Stage{}, byAddress: map[string]*Stage{}, taken: map[string]int{}, fields: map[string]Field{}}
}

// Add puts a stage whose inputs are all in the graph into it, and returns the
// stage that stands for it: an earlier one when its plan key is the same. A
// different stage whose address is taken gets a number behind it. Add panics
// when an input is not in the graph or has no such output.
func (g *Graph) Add(s *Stage) *Stage {
	for _, in := range s.Inputs {
		g.mustHave(s, in)
	}
	sortFields(s.Fields)
	s.planKey, g.buf = planKey(g.buf, s)
	if same, ok := g.byKey[s.planKey]; ok {
		if same.Address != s.Address {
			g.alias(same, s.Address)
		}
		return same
	}
	s.Fields = g.share(s.Fields)
	s.Address = g.free(s.Address)
	s.index = len(g.Stages)
	g.Stages = append(g.Stages, s)
	g.byKey[s.planKey] = s
	g.byAddress[s.Address] = s
	g.edges += len(s.Inputs)
	return s
}

// share puts fields that the graph has already in the place of equal ones, so that what
// they are made of is held once: stages differ from others in one or two of them.
func (g *Graph) share(fields []Field) []Field {
	for i, f := range fields {
		g.buf = appendField(g.buf[:0], f)
		same, ok := g.fields[string(g.buf)]
		if !ok {
			same = f
			g.fields[string(g.buf)] = f
		}
		fields[i] = same
	}
	if cap(fields) == len(fields) {
		return fields
	}
	return slices.Clone(fields)
}

func (g *Graph) mustHave(s *Stage, in Input) {
	if i := in.From.index; i >= len(g.Stages) || g.Stages[i] != in.From {
		panic(fmt.Sprintf("engine: input %s of %s comes from %s, which is not in the graph", in.Name, s.Address, in.From.Address))
	}
	if !slices.Contains(in.From.Kind.Outputs, in.Output) {
		panic(fmt.Sprintf("engine: input %s of %s is output %q of %s, which has none of that name", in.Name, s.Address, in.Output, in.From.Address))
	}
}

// free is an address, with a number behind it when it is taken.
func (g *Graph) free(address string) string {
	for wanted := address; ; {
		if _, ok := g.byAddress[address]; !ok {
			return address
		}
		g.taken[wanted]++
		address = fmt.Sprintf("%s~%d", wanted, g.taken[wanted]+1)
	}
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

// ByKey returns the stage of that plan key.
func (g *Graph) ByKey(k cache.Key) (*Stage, bool) {
	s, ok := g.byKey[k]
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

// splitShard splits an address into the stage's and the shard's part of it: "#"
// and a number, or nothing.
func splitShard(address string) (base, shard string) {
	i := strings.LastIndexByte(address, '#')
	if i < 0 || i == len(address)-1 || strings.Trim(address[i+1:], "0123456789") != "" {
		return address, ""
	}
	return address[:i], address[i:]
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

// WithoutShard is an address without the number of a shard: what the shards of
// one stage have in common.
func WithoutShard(address string) string {
	base, _ := splitShard(address)
	return base
}
