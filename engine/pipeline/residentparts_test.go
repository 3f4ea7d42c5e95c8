package pipeline

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"raglab/axes"
	"raglab/engine"
)

// partsInShop is a graph of an index in two parts, in a shop, and a search of it.
func partsInShop(t *testing.T, leaf inShop, questions ...queryLine) (g *engine.Graph, parts []*engine.Stage, search *engine.Stage) {
	t.Helper()
	s, order := sharding{2, 2}, []string{"a", "b", "c", "d", "e", "f"}
	g = engine.NewGraph()
	in := func(name string, b []byte) engine.Input {
		return engine.Input{Name: name, From: constant(g, name, b), Output: "out"}
	}
	join := &engine.Stage{
		Address: "join[shop]", Kind: joinKind, Needs: engine.Resources{CPU: 1}, Work: joinWork{s},
		Inputs: []engine.Input{in("order", plainLines(t, order...))},
	}
	asked := []engine.Input{in("queries", plainLines(t, questions...))}
	for i := range s.parts {
		var ids []string
		var chunks []axes.Chunk
		for _, id := range order {
			if s.partOf(id) == i {
				ids, chunks = append(ids, id), append(chunks, axes.Chunk{Doc: id, Text: "river " + id}, axes.Chunk{Doc: id, N: 1, Text: id + " lake"})
			}
		}
		order, part := in(shardName("order", i), plainLines(t, ids...)), in(shardName("part", i), lines(t, chunks...))
		order.Name, part.Name = "order", "chunks-000"
		parts = append(parts, g.Add(&engine.Stage{
			Address: shardAddress("index", i, "shop"), Kind: indexKindPure, Work: indexWork{leaf, words{}, s.part(i)}, Needs: engine.Resources{CPU: 1},
			Residence: leaf.shop, Inputs: []engine.Input{order, part},
		}))
		join.Inputs = append(join.Inputs, engine.Input{Name: shardName("chunks", i), From: parts[i], Output: "chunks"})
		asked = append(asked, engine.Input{Name: shardName("index", i), From: parts[i], Output: "index"})
	}
	join = g.Add(join)
	search = g.Add(&engine.Stage{
		Address: "search[shop]", Kind: searchKindPure, Work: searchWork{leaf, words{}, 9}, Needs: engine.Resources{CPU: 1},
		Inputs: append(asked, engine.Input{Name: "ordinals", From: join, Output: "ordinals"}, engine.Input{Name: "chunks", From: join, Output: "chunks"}),
	})
	return g, parts, search
}

// TestResident_partIsGone: of an index in parts the one whose table is lost is built
// again, in the same apply, and no other.
func TestResident_partIsGone(t *testing.T) {
	t.Parallel()
	l, store := newLab(t), &shop{tables: map[string][]string{}}
	leaf := inShop{shop: store}
	g, parts, search := partsInShop(t, leaf, queryLine{"q1", "river"}, queryLine{"q2", "e"}, queryLine{"q3", "nothing"})
	out := l.apply(t, g, nothing)
	if err := out.Err(); err != nil || store.builds != 2 {
		t.Fatal(err, store.builds)
	}
	blob, _ := out.Output(search, "run")
	first, err := l.store.ReadAll(t.Context(), blob.Digest)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		if !strings.Contains(string(first), " "+id+"#0 ") {
			t.Errorf("chunk 0 of %s is not found:\n%s", id, first)
		}
	}
	for i, part := range parts {
		before := slices.Collect(maps.Keys(store.tables))
		g, _, search := partsInShop(t, leaf, queryLine{"q1", "river"}, queryLine{"q9", []string{"a", "b"}[i]})
		l.warnings = nil
		out := l.apply(t, g, func() {
			if err := store.Remove(t.Context(), out.Keys[part.Index()]); err != nil {
				t.Fatal(err)
			}
		})
		if err := out.Err(); err != nil || store.builds != 3+i || out.State[search.Index()] != engine.StateDone {
			t.Errorf("part %d: %v after %d builds", i, err, store.builds)
		}
		if after := slices.Collect(maps.Keys(store.tables)); len(after) != len(before) {
			t.Errorf("part %d: tables %q became %q", i, before, after)
		}
		if len(l.warnings) != 1 || !strings.Contains(l.warnings[0], "input "+shardName("index", i)+" (index[shop]#") {
			t.Errorf("part %d: warnings %q", i, l.warnings)
		}
	}
}
