package engine

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

func addresses(stages []*Stage) []string {
	var out []string
	for _, s := range stages {
		out = append(out, s.Address)
	}
	return out
}

func TestGraph_equalStagesAreOne(t *testing.T) {
	t.Parallel()
	l := &lab{TB: t, graph: NewGraph()}
	a := l.add(pureKind, "make[a]", "x")
	b := l.add(pureKind, "make[b]", "x")
	again := l.add(pureKind, "make[a]", "x")
	c := l.add(pureKind, "make[c]", "y", a)
	d := l.add(pureKind, "make[d]", "y", b)
	if a != b || a != again || c != d {
		t.Fatalf("equal stages stay apart: %v", addresses(l.graph.Stages))
	}
	if got := a.Also(); !reflect.DeepEqual(got, []string{"make[b]"}) {
		t.Errorf("Also() = %q, want make[b]", got)
	}
	if l.graph.Edges() != 1 {
		t.Errorf("Edges() = %d, want 1", l.graph.Edges())
	}
	for _, name := range []string{"make[a]", "make[b]"} {
		if s, ok := l.graph.Find(name); !ok || s != a {
			t.Errorf("Find(%s) = %v, %v", name, s, ok)
		}
	}
}

func TestGraph_takenAddress(t *testing.T) {
	t.Parallel()
	l := &lab{TB: t, graph: NewGraph()}
	for i := range 4 {
		l.add(pureKind, "make[a]", fmt.Sprint(i))
	}
	l.add(pureKind, "make[a]~2", "5")
	want := []string{"make[a]", "make[a]~2", "make[a]~3", "make[a]~4", "make[a]~2~2"}
	if got := addresses(l.graph.Stages); !reflect.DeepEqual(got, want) {
		t.Errorf("addresses %q, want %q", got, want)
	}
	for i, a := range want {
		if s, ok := l.graph.Find(a); !ok || s.Index() != i {
			t.Errorf("Find(%s) finds %v", a, s)
		}
	}
}

// An alias never takes the address of a stage that is there.
func TestGraph_aliasOfTakenAddress(t *testing.T) {
	t.Parallel()
	l := &lab{TB: t, graph: NewGraph()}
	a := l.add(pureKind, "make[a]", "1")
	b := l.add(pureKind, "make[b]", "2")
	l.add(pureKind, "make[b]", "1")
	if s, _ := l.graph.Find("make[b]"); s != b || len(a.Also()) != 0 {
		t.Errorf("make[b] is %v, and a is also %q", s.Address, a.Also())
	}
}

func TestGraph_brokenPromises(t *testing.T) {
	t.Parallel()
	panics := func(name string, f func()) {
		defer func() {
			if recover() == nil {
				t.Errorf("%s: no panic", name)
			}
		}()
		f()
	}
	l := &lab{TB: t, graph: NewGraph()}
	in := l.add(pureKind, "make[a]", "1")
	panics("input of no graph", func() { l.add(pureKind, "make[b]", "2", newStage(pureKind, "make[z]", "z", nil)) })
	panics("input of another graph", func() {
		other := &lab{TB: t, graph: NewGraph()}
		l.add(pureKind, "make[b]", "2", other.add(pureKind, "make[a]", "1"))
	})
	panics("output that is not declared", func() {
		s := newStage(pureKind, "make[b]", "2", nil, in)
		s.Inputs[0].Output = "vectors"
		l.graph.Add(s)
	})
}

func TestGraph_Match(t *testing.T) {
	t.Parallel()
	l := &lab{TB: t, graph: NewGraph()}
	for i, a := range []string{"chunk[a]#000", "chunk[a]#001", "chunk[ab]#000", "chunker[a]", "chunk[b]"} {
		l.add(pureKind, a, fmt.Sprint(i))
	}
	l.add(pureKind, "chunk[c]#007", "4") // is chunk[b] too
	for pattern, want := range map[string][]string{
		"chunk":        {"chunk[a]#000", "chunk[a]#001", "chunk[ab]#000", "chunk[b]"},
		"chunk[a]":     {"chunk[a]#000", "chunk[a]#001"},
		"chunk[a]#001": {"chunk[a]#001"},
		"chunk[c]":     {"chunk[b]"},
		"chunk[":       nil,
		"chunk[a":      nil,
		"":             nil,
	} {
		if got := addresses(l.graph.Match(pattern)); !slices.Equal(got, want) {
			t.Errorf("Match(%q) = %q, want %q", pattern, got, want)
		}
	}
}

// randomGraph adds up to n stages with random inputs.
func randomGraph(t *rapid.T, l *lab, n int) {
	for i := range rapid.IntRange(1, n).Draw(t, "stages") {
		var from []*Stage
		if i > 0 {
			for _, at := range rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 0, min(i, 3), rapid.ID).Draw(t, "inputs") {
				from = append(from, l.graph.Stages[at])
			}
		}
		kind := rapid.SampledFrom([]*Kind{pureKind, cheapKind}).Draw(t, "kind")
		l.add(kind, fmt.Sprintf("%s[%d]", kind.Name, i), fmt.Sprint(i), from...)
	}
}

func TestGraph_Closure(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		l := &lab{TB: t, graph: NewGraph()}
		randomGraph(rt, l, 20)
		root := rapid.SampledFrom(l.graph.Stages).Draw(rt, "root")
		want := map[*Stage]bool{}
		var visit func(*Stage)
		visit = func(s *Stage) {
			if !want[s] {
				want[s] = true
				for _, in := range s.Inputs {
					visit(in.From)
				}
			}
		}
		visit(root)
		for i, need := range l.graph.Closure([]*Stage{root}) {
			if need != want[l.graph.Stages[i]] {
				rt.Errorf("closure of %s: %s is %v", root.Address, l.graph.Stages[i].Address, need)
			}
		}
	})
}

// crossGraph is a graph of about n stages in the shape of an experiment: a
// corpus in shards, chunked and embedded in several ways, and runs over them.
func crossGraph(g *Graph, n int) { crossGraphOf(g, n, "", "a value of usual length") }

// crossGraphOf is such a graph with something in its addresses and a parameter of its own.
func crossGraphOf(g *Graph, n int, name, value string) {
	const shards, fields = 16, 12
	text := make([]Field, fields)
	for i := range text {
		text[i] = Field{Params, fmt.Sprintf("factor.parameter_%d", i), value}
		value = "a value of usual length"
	}
	add := func(kind *Kind, address string, id int, in []Input) *Stage {
		f := append(slices.Clone(text), Field{Params, "id", int64(id)})
		return g.Add(&Stage{Address: address, Kind: kind, Fields: f, Inputs: in, Needs: Resources{CPU: 1}, Work: &step{do: join("")}})
	}
	fetch := add(pureKind, "make[corpus]", 0, nil)
	for c := 0; len(g.Stages) < n; c++ {
		var parts []Input
		for i := range shards {
			chunk := add(pureKind, fmt.Sprintf("make[%schunk %d]#%03d", name, c, i), c<<8|i, []Input{{Name: "documents", From: fetch, Output: "out"}})
			parts = append(parts, Input{Name: fmt.Sprintf("chunks%03d", i), From: chunk, Output: "out"})
		}
		index := add(pureKind, fmt.Sprintf("make[%sindex %d]", name, c), c, parts)
		for i := range 16 {
			search := add(pureKind, fmt.Sprintf("make[%ssearch %d %d]", name, c, i), i, []Input{{Name: "index", From: index, Output: "out"}})
			add(pureKind, fmt.Sprintf("make[%sscore %d %d]", name, c, i), i, []Input{{Name: "run", From: search, Output: "out"}})
		}
	}
}

// Edges and memory grow with the stages, and not with their square.
func TestGraph_scale(t *testing.T) {
	per := func(n int) (edges, bytes float64) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		g := NewGraph()
		crossGraph(g, n)
		runtime.ReadMemStats(&after)
		stages := float64(len(g.Stages))
		return float64(g.Edges()) / stages, float64(after.TotalAlloc-before.TotalAlloc) / stages
	}
	edges, bytes := per(1_000)
	for _, n := range []int{10_000, 100_000} {
		e, b := per(n)
		if e > edges*1.2 || b > bytes*1.5 {
			t.Errorf("%d stages: %.2f edges and %.0f bytes a stage; 1000 stages have %.2f and %.0f", n, e, b, edges, bytes)
		}
	}
}

// TestGraph_sharesFields: what equal fields are made of is held once, without room to grow.
func TestGraph_sharesFields(t *testing.T) {
	t.Parallel()
	g, kind := NewGraph(), &Kind{Name: "make", Outputs: []string{"out"}}
	var names []*byte
	for i := range 2 {
		fields := append(make([]Field, 0, 8), Field{Params, strings.Clone("text"), "x"}, Field{Params, "n", int64(i)})
		s := g.Add(&Stage{Address: "make", Kind: kind, Fields: fields})
		names = append(names, unsafe.StringData(s.Fields[1].Path))
		if cap(s.Fields) > 3 {
			t.Errorf("the fields have room for %d", cap(s.Fields))
		}
	}
	if names[0] != names[1] {
		t.Error("equal fields are held twice")
	}
}
