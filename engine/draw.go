package engine

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Drawing is a way to write a graph.
type Drawing string

// The drawings.
const (
	Dot     Drawing = "dot"     // for Graphviz
	Mermaid Drawing = "mermaid" // for Markdown
)

// Draw writes the graph with the shards of one stage as one node, in the order
// of the graph.
func (g *Graph) Draw(w io.Writer, as Drawing) error {
	nodes, edges := g.joined()
	out := bufio.NewWriter(w)
	switch as {
	case Dot:
		drawDot(out, nodes, edges)
	case Mermaid:
		drawMermaid(out, nodes, edges)
	default:
		return fmt.Errorf("a graph is drawn as %s or %s, not %q", Dot, Mermaid, as)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("draw graph: %w", err)
	}
	return nil
}

type node struct {
	address string
	stages  int
}

func (n node) label() string {
	if n.stages == 1 {
		return n.address
	}
	return fmt.Sprintf("%s × %d", n.address, n.stages)
}

// joined returns the nodes, and the edges as pairs of their places.
func (g *Graph) joined() (nodes []node, edges [][2]int) {
	place := map[string]int{}
	at := func(s *Stage) int {
		base, _ := splitShard(s.Address)
		i, ok := place[base]
		if !ok {
			i = len(nodes)
			place[base] = i
			nodes = append(nodes, node{address: base})
		}
		return i
	}
	seen := map[[2]int]bool{}
	for _, s := range g.Stages {
		to := at(s)
		nodes[to].stages++
		for _, in := range s.Inputs {
			e := [2]int{at(in.From), to}
			if !seen[e] {
				seen[e] = true
				edges = append(edges, e)
			}
		}
	}
	return nodes, edges
}

func drawDot(out *bufio.Writer, nodes []node, edges [][2]int) {
	out.WriteString("digraph raglab {\n  rankdir = LR\n  node [shape = box]\n")
	for i, n := range nodes {
		fmt.Fprintf(out, "  n%d [label = \"%s\"]\n", i, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(n.label()))
	}
	for _, e := range edges {
		fmt.Fprintf(out, "  n%d -> n%d\n", e[0], e[1])
	}
	out.WriteString("}\n")
}

func drawMermaid(out *bufio.Writer, nodes []node, edges [][2]int) {
	out.WriteString("flowchart LR\n")
	for i, n := range nodes {
		fmt.Fprintf(out, "  n%d[\"%s\"]\n", i, strings.NewReplacer(`"`, "#quot;", "#", "#35;").Replace(n.label()))
	}
	for _, e := range edges {
		fmt.Fprintf(out, "  n%d --> n%d\n", e[0], e[1])
	}
}
