package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"raglab/axes"
	"raglab/axes/retriever"
	"raglab/axes/text"
)

// depth is how many hits are asked for, as of the peers.
const depth = 100

// bm25Driver: docs.jsonl queries.jsonl qrels.tsv REPS CORES. Texts are in memory
// before anything is timed, as the peers' are.
func bm25Driver(ctx context.Context, args []string) error {
	if len(args) != 5 {
		return errors.New("bm25 takes five arguments")
	}
	docs, err := readRecords(args[0])
	if err != nil {
		return err
	}
	texts, ids := make(texts, len(docs)), make([]string, len(docs))
	for i, d := range docs {
		texts[i], ids[i] = d.Title+" "+d.Text, d.ID
		docs[i] = textRecord{}
	}
	docs = nil
	reps, cores, err := numbers(args[3], args[4])
	if err != nil {
		return err
	}
	x := lexicalTest{corpus: texts, id: func(i uint32) string { return ids[i] }, clock: &clock{reps: reps}}
	if err := x.read(args[1], args[2]); err != nil {
		return err
	}
	defer x.close()
	for _, t := range counts(cores) {
		if err := x.measure(ctx, t); err != nil {
			return err
		}
	}
	return x.clock.print()
}

// bm25StreamDriver: docs.jsonl queries.jsonl qrels.tsv. Documents are read while
// they are indexed and never all in memory.
func bm25StreamDriver(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return errors.New("bm25-stream takes three arguments")
	}
	file := &streamed{path: args[0]}
	for _, err := range file.records() {
		if err != nil {
			return err
		}
		file.n++
	}
	x := lexicalTest{corpus: file, id: func(i uint32) string { return fmt.Sprintf("d%07d", i) }, clock: &clock{reps: 1}}
	if err := x.read(args[1], args[2]); err != nil {
		return err
	}
	defer x.close()
	if err := x.measure(ctx, 1); err != nil {
		return err
	}
	return x.clock.print()
}

// lexicalTest builds and searches an index of the kind bm25 over a corpus.
type lexicalTest struct {
	clock   *clock
	corpus  retriever.Corpus
	id      func(ordinal uint32) string
	queries []axes.Query
	judged  map[[2]string]bool
	folder  string
}

// read reads the questions and judgements.
func (x *lexicalTest) read(queries, qrels string) error {
	asked, err := readRecords(queries)
	if err != nil {
		return err
	}
	for _, q := range asked {
		x.queries = append(x.queries, axes.Query{ID: q.ID, Text: q.Text})
	}
	b, err := os.ReadFile(qrels)
	if err != nil {
		return err
	}
	x.judged = map[[2]string]bool{}
	for line := range strings.Lines(string(b)) {
		if f := strings.Split(line, "\t"); len(f) == 3 {
			x.judged[[2]string{f[0], f[1]}] = true
		}
	}
	x.folder, err = os.MkdirTemp("", "raglab-bench-index-")
	return err
}

func (x *lexicalTest) close() { os.RemoveAll(x.folder) }

// measure times indexing, opening and search with so many threads.
func (x *lexicalTest) measure(ctx context.Context, threads int) error {
	x.clock.use(threads)
	kind, _ := axes.Find(retriever.Leaves, "bm25")
	leaf, err := kind.New(kind.Params(), axes.Env{Threads: threads})
	if err != nil {
		return err
	}
	words, _ := axes.Find(text.Kinds, "simple")
	analyzer, err := words.New(words.Params(), axes.Env{})
	if err != nil {
		return err
	}
	path := filepath.Join(x.folder, "index")
	s, err := x.clock.time("tokenise+index", x.corpus.Len(), func() error {
		return writeFile(path, func(w io.Writer) error { return leaf.Build(ctx, x.corpus, analyzer, w) })
	})
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	s.IndexMB = float64(info.Size()) / 1e6
	var searcher retriever.Searcher
	if _, err := x.clock.time("open", 0, func() (err error) {
		searcher, err = openIndex(ctx, leaf, path, analyzer)
		return err
	}); err != nil {
		return err
	}
	defer searcher.Close()
	var found [][]axes.Hit
	s, err = x.clock.time("search", len(x.queries), func() (err error) {
		found, err = searchAll(ctx, searcher, x.queries)
		return err
	})
	if err == nil {
		s.Hit10 = x.hit10(found)
	}
	return err
}

// hit10 is the share of questions with a judged document among their first ten.
func (x *lexicalTest) hit10(found [][]axes.Hit) float64 {
	n := 0
	for i, hits := range found {
		for _, h := range hits[:min(10, len(hits))] {
			if x.judged[[2]string{x.queries[i].ID, x.id(h.Ordinal)}] {
				n++
				break
			}
		}
	}
	return float64(n) / float64(len(found))
}

// searchAll asks all questions at once where the searcher can answer them so.
func searchAll(ctx context.Context, s retriever.Searcher, qs []axes.Query) ([][]axes.Hit, error) {
	if b, ok := s.(retriever.BatchSearcher); ok {
		return b.SearchBatch(ctx, qs, depth)
	}
	out := make([][]axes.Hit, len(qs))
	for i, q := range qs {
		var err error
		if out[i], err = s.Search(ctx, q, depth, nil); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func openIndex(ctx context.Context, leaf retriever.Leaf, path string, analyzer text.Analyzer) (retriever.Searcher, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return leaf.Open(ctx, f, info.Size(), analyzer)
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	return f.Close()
}
