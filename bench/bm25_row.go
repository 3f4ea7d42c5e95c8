package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
)

// bm25Row measures lexical indexing and search.
func bm25Row() row {
	return row{
		name: "bm25", does: "BM25: tokenise and index, then the best 100 for each question",
		set: func(ctx context.Context, b *bench) (*trial, error) {
			documents := b.size(100_000, 20_000)
			t, dir, err := b.corpus(ctx, documents, 1000)
			if err != nil || t.missing != "" {
				return t, err
			}
			docs, queries, qrels := filepath.Join(dir, "docs.jsonl"), filepath.Join(dir, "queries.jsonl"), filepath.Join(dir, "qrels.tsv")
			t.own = b.driver("bm25", docs, queries, qrels, b.inner(), digits(b.o.cores))
			for _, name := range []string{"lucene", "tantivy", "bm25s", "rank-bm25"} {
				p := b.peers.tool(name, "bm25_peer.py", docs, queries, "--qrels", qrels, "--reps", b.inner())
				p.once = name == "rank-bm25"
				t.peers = append(t.peers, p)
			}
			t.peers[0] = withLucene(t.peers[0], b.peers)
			t.comparisons = bm25Comparisons(b.o.cores)
			return t, nil
		},
	}
}

// withLucene says that Lucene is not set up where its jars or java are missing.
func withLucene(p peer, f peerFolder) peer {
	if p.missing == "" && !f.holds("lucene/lucene-core-*.jar") {
		p.missing = "not set up: no jars in the peers' environment (setup.sh gets them by java and mvn)"
	}
	return without(p, "java")
}

// corpus makes a corpus by the peers' script.
func (b *bench) corpus(ctx context.Context, documents, questions int) (*trial, string, error) {
	if b.peers.missing != "" {
		return &trial{missing: "the corpus is made by a script of the peers', which are " + b.peers.missing}, "", nil
	}
	dir, err := b.made(fmt.Sprintf("corpus-%d", documents), func(dir string) error {
		return b.peers.make(ctx, "make_corpus.py", dir, digits(documents), "--queries", digits(questions))
	})
	return &trial{input: fmt.Sprintf("%s documents of about 120 words, %s questions", grouped(float64(documents)), grouped(float64(questions)))}, dir, err
}

// indexStep and searchStep are raglab's.
func indexStep(threads int) step  { return step{raglabTool, "tokenise+index", threads} }
func searchStep(threads int) step { return step{raglabTool, "search", threads} }

func bm25Comparisons(cores int) []comparison {
	var out []comparison
	docs, questions := perSecond("docs"), perSecond("questions")
	// Rates: bm25s and rank-bm25 work on one thread in two steps, the others in one.
	twoSteps := func(tool string) (a, b step) { return step{tool, "tokenise", 1}, step{tool, "index", 1} }
	for _, t := range counts(cores) {
		for _, tool := range []string{"lucene", "tantivy"} {
			g := goal{}
			if tool == "lucene" {
				g = ahead(1)
			}
			out = append(out, comparison{
				figure: "tokenise and index", threads: t, unit: docs, peer: tool, goal: g,
				own: indexStep(t).rate(), theirs: step{tool + "*", "tokenise+index", t}.rate(),
			})
		}
		if t == 1 {
			for _, tool := range []string{"bm25s", "rank-bm25"} {
				out = append(out, comparison{
					figure: "tokenise and index", threads: t, unit: docs, peer: tool,
					own: indexStep(t).rate(), theirs: rateOfBoth(twoSteps(tool)),
				})
			}
		}
	}
	for _, t := range counts(cores) {
		g := goal{}
		if t == 1 {
			g = ahead(10_000.0 / 8543)
		}
		search := func(tool, name string, g goal) comparison {
			return comparison{
				figure: "search", threads: t, unit: questions, goal: g, agree: sameHits(t, tool, name),
				own: searchStep(t).rate(), theirs: step{tool, name, t}.rate(),
			}
		}
		for _, c := range []struct {
			peer string
			comparison
		}{
			{"bm25s", search("bm25s numba", "search", g)},
			{"lucene", search("lucene*", "search+ids", goal{})},
			{"tantivy", search("tantivy", "search+ids", goal{})},
		} {
			c.comparison.peer = c.peer
			out = append(out, c.comparison)
		}
	}
	out = append(out, comparison{
		figure: "search", threads: 1, unit: questions, peer: "rank-bm25",
		own: searchStep(1).rate(), theirs: step{"rank-bm25", "search", 1}.rate(),
	})
	for _, c := range []struct{ peer, tool, name string }{{"bm25s", "bm25s numba", "search"}, {"lucene", "lucene*", "search+ids"}, {"tantivy", "tantivy", "search+ids"}} {
		out = append(out, comparison{
			figure: "index size", unit: megabytes, peer: c.peer,
			own: indexStep(1).index(), theirs: step{c.tool, c.name, 1}.index(),
		})
	}
	out = append(out, comparison{
		figure: "peak memory, indexing", unit: mebibytes, peer: "bm25s", own: indexStep(1).peak(), theirs: peakOfBoth(twoSteps("bm25s")),
	})
	for _, tool := range []string{"lucene", "tantivy"} {
		out = append(out, comparison{
			figure: "peak memory, indexing", unit: mebibytes, peer: tool, own: indexStep(1).peak(), theirs: step{tool + "*", "tokenise+index", 1}.peak(),
		})
	}
	return append(out, comparison{figure: "open index", threads: 1, unit: seconds, own: step{raglabTool, "open", 1}.wall()})
}

// sameHits compares the shares of questions whose document is among the first
// ten. Tools that round lengths or break ties otherwise differ by little.
func sameHits(threads int, tool, name string) func(own, theirs []sample) (string, bool) {
	return func(own, theirs []sample) (string, bool) {
		a, okA := searchStep(threads).find(own)
		b, okB := step{tool, name, threads}.find(theirs)
		if !okA || !okB {
			return "", true
		}
		return fmt.Sprintf("hit10 %.4f, %.4f", a.Hit10, b.Hit10), math.Abs(a.Hit10-b.Hit10) <= 0.01
	}
}

// millionRow measures what an index over a million documents takes.
func millionRow() row {
	return row{
		name: "million", does: "memory of BM25 over 1,000,000 documents, which are read from their file while they are indexed",
		needs: func(o options) bool { return o.million },
		set: func(ctx context.Context, b *bench) (*trial, error) {
			documents := b.size(1_000_000, 20_000)
			t, dir, err := b.corpus(ctx, documents, 1000)
			if err != nil || t.missing != "" {
				return t, err
			}
			t.own = b.driver("bm25-stream", filepath.Join(dir, "docs.jsonl"), filepath.Join(dir, "queries.jsonl"), filepath.Join(dir, "qrels.tsv"))
			gigabytes := func(s step) reading {
				return s.of(func(s sample) float64 { return s.PeakMB * (1 << 20) / 1e9 })
			}
			gb := unit{name: "GB"}
			t.comparisons = []comparison{
				{figure: "peak memory, indexing", threads: 1, unit: gb, own: gigabytes(indexStep(1)), goal: under(2, gb)},
				{figure: "peak memory, search", threads: 1, unit: gb, own: gigabytes(searchStep(1)), goal: under(2, gb)},
				{figure: "read, tokenise and index", threads: 1, unit: seconds, own: indexStep(1).wall()},
				{figure: "search", threads: 1, unit: perSecond("questions"), own: searchStep(1).rate()},
				{figure: "index size", unit: megabytes, own: indexStep(1).index()},
			}
			return t, nil
		},
	}
}
