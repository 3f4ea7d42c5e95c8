package engine

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

func drawn(t *testing.T, g *Graph, as Drawing) string {
	t.Helper()
	var b bytes.Buffer
	if err := g.Draw(&b, as); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGraph_Draw(t *testing.T) {
	t.Parallel()
	l := &lab{TB: t, graph: NewGraph()}
	fetch := l.add(pureKind, `fetch[файли "a" \ b]`, "0")
	var shards []*Stage
	for i := range 3 {
		shards = append(shards, l.add(pureKind, fmt.Sprintf("chunk[fixed]#%03d", i), fmt.Sprint(i), fetch))
	}
	index := l.add(pureKind, "index[fixed bm25]", "i", shards...)
	l.add(pureKind, "index[the same]", "i", shards...)
	l.add(pureKind, "search[c#]", "s", index, fetch)
	golden(t, "graph.dot", drawn(t, l.graph, Dot))
	golden(t, "graph.mermaid", drawn(t, l.graph, Mermaid))
}

func TestGraph_drawEmpty(t *testing.T) {
	t.Parallel()
	if got := drawn(t, NewGraph(), Mermaid); got != "flowchart LR\n" {
		t.Errorf("an empty graph is drawn as %q", got)
	}
}

func TestGraph_drawErrors(t *testing.T) {
	t.Parallel()
	if err := NewGraph().Draw(&bytes.Buffer{}, "svg"); err == nil {
		t.Error("an svg was drawn")
	}
	if err := NewGraph().Draw(brokenWriter{}, Dot); !errors.Is(err, errBroken) {
		t.Errorf("a broken writer gives %v", err)
	}
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }
