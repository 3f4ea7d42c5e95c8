package retriever

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"raglab/axes"
)

// inParts builds an index over every nth chunk of a corpus, n times, and opens these
// parts as one.
func inParts(t *testing.T, l Resident, name string, c *memory, n int) Searcher {
	t.Helper()
	parts := make([]Part, n)
	for p := range parts {
		sub, ordinals := &memory{dim: c.dim}, []uint32{}
		for i := p; i < c.Len(); i += n {
			ordinals = append(ordinals, uint32(i))
			if c.dim > 0 {
				sub.rows = append(sub.rows, c.rows[i*c.dim:(i+1)*c.dim]...)
			} else {
				sub.texts = append(sub.texts, c.texts[i])
			}
		}
		var manifest bytes.Buffer
		if _, err := l.BuildAs(t.Context(), keyOf(fmt.Sprint(name, p)), sub, fields{}, &manifest); err != nil {
			t.Fatal(err)
		}
		parts[p] = Part{Index: manifest.Bytes(), Ordinals: ordinals}
	}
	s, err := OpenParts(t.Context(), l, parts, fields{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestParts_useEachIndex: every table is searched by its own index, in one statement.
func TestParts_useEachIndex(t *testing.T) {
	t.Parallel()
	env, vectors := connected(t), &memory{rows: normals(7, 1500, 8), dim: 8}
	for _, index := range []string{"hnsw", "ivfflat"} {
		s := inParts(t, newVectorLeaf(t, env, func(p *PGVectorParams) { p.Index = index }), index, vectors, 3).(*vectorSearcher)
		plan := explain(t, &s.table, s.statement, s.vectors.Argument(normals(4, 1, 8)), 10)
		for p := range 3 {
			if !strings.Contains(plan, "Index Scan using ix_"+keyOf(fmt.Sprint(index, p))[:40]+"_"+index) {
				t.Errorf("%s: part %d is not searched by its index:\n%s", index, p, plan)
			}
		}
		if len(find(t, s, normals(4, 1, 8), 25)) != 25 {
			t.Errorf("%s: less than 25 hits", index)
		}
	}
}

// TestParts_candidatesAreEachTables: ef_search and probes hold in each of the tables,
// so that parts find at least about as much as one index does.
func TestParts_candidatesAreEachTables(t *testing.T) {
	t.Parallel()
	const n, dim, depth = 4000, 24, 20
	env, c := connected(t), &memory{rows: normals(11, n, dim), dim: dim}
	exact, _ := buildAndOpen(t, newVectorLeaf(t, env, func(p *PGVectorParams) { p.Index = "exact" }), "exact", c, nil)
	questions := normals(12, 40, dim)
	for index, set := range map[string]func(*PGVectorParams){
		"hnsw":    func(p *PGVectorParams) { p.M, p.EFConstruction, p.EFSearch = 6, 20, depth },
		"ivfflat": func(p *PGVectorParams) { p.Index, p.Lists, p.Probes = "ivfflat", 20, 3 },
	} {
		l := newVectorLeaf(t, env, set)
		whole, _ := buildAndOpen(t, l, index, c, nil)
		parts := inParts(t, l, index, c, 4)
		one, four := recall(t, whole, exact, questions, dim, depth), recall(t, parts, exact, questions, dim, depth)
		t.Logf("%s: of %d nearest, one index finds %d and four parts %d", index, 40*depth, one, four)
		if four < one-40*depth/50 || four < 40*depth/5 {
			t.Errorf("%s: four parts find %d, one index %d", index, four, one)
		}
	}
}

// TestParts_cutAtTheDepth: with many equal scores it is the places in the corpus that
// decide, across parts.
func TestParts_cutAtTheDepth(t *testing.T) {
	t.Parallel()
	const n = 50
	env, c := connected(t), &memory{dim: 2}
	words := &memory{}
	for range n {
		c.rows, words.texts = append(c.rows, 0.6, 0.8), append(words.texts, "same word")
	}
	for name, s := range map[string]Searcher{
		"pgvector": inParts(t, newVectorLeaf(t, env, func(p *PGVectorParams) { p.Index = "exact" }), "equal vectors", c, 7),
		"tsvector": inParts(t, newTextLeaf(t, env, nil), "equal texts", words, 7),
	} {
		for _, depth := range []int{1, 6, 7, 8, 29, n, n + 1} {
			hits, err := s.Search(t.Context(), axes.Query{Text: "word", Vector: []float32{1, 0}}, depth, nil)
			if err != nil || len(hits) != min(depth, n) {
				t.Fatalf("%s: %d hits at depth %d: %v", name, len(hits), depth, err)
			}
			for i, h := range hits {
				if int(h.Ordinal) != i {
					t.Fatalf("%s: hit %d at depth %d is %v", name, i+1, depth, h)
				}
			}
		}
	}
}

func TestParts_noneOrOthers(t *testing.T) {
	t.Parallel()
	env := connected(t)
	a, b := &memory{rows: []float32{1, 0}, dim: 2}, &memory{rows: []float32{1, 0, 0}, dim: 3}
	l := newVectorLeaf(t, env, func(p *PGVectorParams) { p.Index = "exact" })
	var parts []Part
	for i, c := range []*memory{a, b} {
		var manifest bytes.Buffer
		if _, err := l.BuildAs(t.Context(), keyOf(fmt.Sprint("dimensions", i)), c, nil, &manifest); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, Part{Index: manifest.Bytes(), Ordinals: []uint32{uint32(i)}})
	}
	for want, parts := range map[string][]Part{"it has no part": nil, "of 2 and of 3 dimensions": parts} {
		if _, err := l.OpenParts(t.Context(), parts, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	other := newVectorLeaf(t, env, func(p *PGVectorParams) { p.Index, p.Type = "exact", "halfvec" })
	if _, err := other.OpenParts(t.Context(), parts[:1], nil); err == nil || !strings.Contains(err.Error(), "other parameters") {
		t.Errorf("%v", err)
	}
	if _, err := newTextLeaf(t, env, nil).OpenParts(t.Context(), parts[:1], nil); err == nil {
		t.Error("a table of vectors was opened as one of texts")
	}
}
