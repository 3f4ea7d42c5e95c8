package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"raglab/axes"
	"raglab/axes/retriever"
	"raglab/internal/npy"
)

// exactRow measures exact dense search.
func exactRow() row {
	return row{
		name: "exact", does: "exact dense search: the 100 largest of all inner products, in one batch and one by one",
		set: func(ctx context.Context, b *bench) (*trial, error) {
			if b.peers.missing != "" {
				return &trial{missing: "the vectors are made by a script of the peers', which are " + b.peers.missing}, nil
			}
			n, q := b.size(100_000, 20_000), b.size(1000, 200)
			dir, err := b.made(fmt.Sprintf("vectors-%d", n), func(dir string) error {
				return b.peers.make(ctx, "dense_peer.py", "--make", dir, digits(n), digits(q))
			})
			if err != nil {
				return nil, err
			}
			base, queries := filepath.Join(dir, "base.npy"), filepath.Join(dir, "queries.npy")
			t := &trial{
				input: fmt.Sprintf("%s vectors of 384 dimensions, %s questions", grouped(float64(n)), grouped(float64(q))),
				own:   b.driver("exact", base, queries, b.inner(), digits(b.o.cores)),
			}
			for _, tool := range []struct {
				name, tool string
				goal       goal
			}{
				{"numpy", "numpy", ahead(1)},
				{"faiss", "faiss", ahead(1)},
				{"faiss-haswell", "faiss (OPENBLAS*", ahead(1)},
				{"usearch", "usearch", goal{}},
			} {
				t.peers = append(t.peers, b.peers.tool(tool.name, "dense_peer.py", base, queries, "--reps", b.inner()))
				for _, step := range []struct {
					name string
					goal goal
				}{{"exact batch", tool.goal}, {"exact one by one", goal{}}} {
					t.comparisons = append(t.comparisons, exactComparisons(tool.name, tool.tool, step.name, b.o.cores, step.goal)...)
				}
			}
			return t, nil
		},
	}
}

func exactComparisons(name, tool, stepName string, cores int, g goal) []comparison {
	var out []comparison
	for _, t := range counts(cores) {
		own, theirs := step{raglabTool, stepName, t}, step{tool, stepName, t}
		c := comparison{figure: stepName, threads: t, unit: perSecond("questions"), peer: name, own: own.rate(), theirs: theirs.rate(), goal: g}
		if stepName == "exact batch" {
			c.agree = func(a, b []sample) (string, bool) {
				x, okX := own.find(a)
				y, okY := theirs.find(b)
				if !okX || !okY {
					return "", true
				}
				return fmt.Sprintf("recall10 %.4f, %.4f", x.Recall10, y.Recall10), min(x.Recall10, y.Recall10) > 0.999
			}
		}
		out = append(out, c)
	}
	return out
}

// exactDriver: base.npy queries.npy REPS CORES.
func exactDriver(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return errors.New("exact takes four arguments")
	}
	reps, cores, err := numbers(args[2], args[3])
	if err != nil {
		return err
	}
	rows, dim, err := readVectors(args[1])
	if err != nil {
		return err
	}
	var queries []axes.Query
	for v := range slices.Chunk(rows, dim) {
		queries = append(queries, axes.Query{Vector: v})
	}
	truth, err := bruteForce(args[0], queries)
	if err != nil {
		return err
	}
	c := &clock{reps: reps}
	for _, t := range counts(cores) {
		if err := exactSearch(ctx, c, args[0], queries, t, truth); err != nil {
			return err
		}
	}
	return c.print()
}

func exactSearch(ctx context.Context, c *clock, base string, queries []axes.Query, threads int, truth map[int][]uint32) error {
	c.use(threads)
	kind, _ := axes.Find(retriever.Leaves, "exact")
	leaf, err := kind.New(kind.Params(), axes.Env{Threads: threads})
	if err != nil {
		return err
	}
	searcher, err := openIndex(ctx, leaf, base, nil)
	if err != nil {
		return err
	}
	defer searcher.Close()
	var found [][]axes.Hit
	s, err := c.time("exact batch", len(queries), func() (err error) {
		found, err = searchAll(ctx, searcher, queries)
		return err
	})
	if err != nil {
		return err
	}
	s.Recall10 = recall10(truth, found)
	few := queries[:min(100, len(queries))]
	_, err = c.time("exact one by one", len(few), func() error {
		for _, q := range few {
			if _, err := searcher.Search(ctx, q, depth, nil); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

func readVectors(path string) ([]float32, int, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	vectors, err := npy.Read(f, info.Size())
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", path, err)
	}
	return vectors.Wide(), vectors.Dim, nil
}

// bruteForce finds the ten best rows of a few questions in the plainest way.
func bruteForce(base string, queries []axes.Query) (map[int][]uint32, error) {
	rows, dim, err := readVectors(base)
	if err != nil {
		return nil, err
	}
	best := map[int][]uint32{}
	rng := rand.New(rand.NewPCG(3, 3))
	for range min(20, len(queries)) {
		q := rng.IntN(len(queries))
		var hits []axes.Hit
		for i := range len(rows) / dim {
			var sum float64
			for j, x := range rows[i*dim : (i+1)*dim] {
				sum += float64(x) * float64(queries[q].Vector[j])
			}
			hits = append(hits, axes.Hit{Ordinal: uint32(i), Score: sum})
		}
		slices.SortFunc(hits, func(a, b axes.Hit) int {
			if a.Before(b) {
				return -1
			}
			return 1
		})
		best[q] = nil
		for _, h := range hits[:min(10, len(hits))] {
			best[q] = append(best[q], h.Ordinal)
		}
	}
	return best, nil
}

// recall10 is the share of the ten best rows that were found among the first ten.
func recall10(truth map[int][]uint32, found [][]axes.Hit) float64 {
	hit, all := 0, 0
	for q, best := range truth {
		for _, h := range found[q][:min(10, len(found[q]))] {
			if slices.Contains(best, h.Ordinal) {
				hit++
			}
		}
		all += len(best)
	}
	return float64(hit) / float64(all)
}
