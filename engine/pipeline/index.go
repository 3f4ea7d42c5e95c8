package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"raglab/axes/retriever"
	"raglab/axes/text"
	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/internal/trec"
)

// indexWork is the work of an index stage.
type indexWork struct {
	leaf     retriever.Leaf
	analyzer text.Analyzer
	shards   int
}

// indexKind builds an index over the chunks of all shards, in corpus order. The
// output chunks names the chunk of each ordinal.
func indexKind(pure bool) *engine.Kind {
	return &engine.Kind{Name: "index", Version: "1", Outputs: []string{"index", "chunks"}, Pure: pure, Run: runIndex}
}

var (
	indexKindPure     = indexKind(true)
	indexKindVolatile = indexKind(false)
)

func runIndex(ctx context.Context, t *engine.Task) error {
	w := t.Work.(indexWork)
	if err := text.Open(ctx, w.analyzer); err != nil {
		return err
	}
	order, err := readOrder(t)
	if err != nil {
		return err
	}
	table, err := writeTable(t, order, w.shards)
	if err != nil {
		return err
	}
	corpus := &indexCorpus{ctx: ctx, t: t, order: order, shards: w.shards, n: table.chunks}
	if w.leaf.Uses().Vectors {
		if err := corpus.loadVectors(table); err != nil {
			return err
		}
	}
	out, err := t.Create("index")
	if err != nil {
		return err
	}
	counted := &countingWriter{w: out}
	if err := w.leaf.Build(ctx, corpus, w.analyzer, counted); err != nil {
		return fmt.Errorf("build index: %w", err)
	}
	t.Measure("index_bytes", counted.n)
	if err := measureText(t, w.analyzer, corpus); err != nil {
		return err
	}
	t.Measure("chunks", table.chunks)
	return nil
}

// measureText counts the words that a text kind did not know, and how long it
// takes, where it tells.
func measureText(t *engine.Task, analyzer text.Analyzer, corpus *indexCorpus) error {
	counter, ok := analyzer.(text.Counter)
	if !ok {
		return nil
	}
	words, unknown := 0, 0
	var spent time.Duration
	for s, err := range corpus.Texts() {
		if err != nil {
			return err
		}
		start := time.Now()
		w, u := counter.Unknown(s)
		spent += time.Since(start)
		words, unknown = words+w, unknown+u
	}
	t.Measure("words", words)
	t.Measure("unknown_words", unknown)
	t.Measure("text_ms_per_chunk", milliseconds(spent)/float64(max(1, corpus.n)))
	t.Measure("text_bytes", counter.Memory())
	return nil
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// indexCorpus is the corpus as retrievers see it.
type indexCorpus struct {
	ctx    context.Context
	t      *engine.Task
	order  []string
	shards int
	n      int
	rows   []float32
	dim    int
}

func (c *indexCorpus) Len() int { return c.n }

func (c *indexCorpus) Texts() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		done := 0
		for chunk, err := range chunksInOrder(c.t, c.order, c.shards) {
			if err == nil && c.ctx.Err() != nil {
				err = context.Cause(c.ctx)
			}
			if !yield(chunk.Indexed(), err) || err != nil {
				return
			}
			if done++; done%1024 == 0 || done == c.n {
				c.t.Progress(done, c.n, "chunks")
			}
		}
	}
}

func (c *indexCorpus) Vectors() ([]float32, int) { return c.rows, c.dim }

// loadVectors brings the shards' vectors into corpus order.
func (c *indexCorpus) loadVectors(table table) error {
	shards := make([]artifact.Matrix, c.shards)
	for i := range shards {
		m, err := readMatrix(c.t, shardName("vectors", i))
		if err != nil {
			return err
		}
		if m.Rows != table.perShard[i] {
			return fmt.Errorf("shard %d: %d chunks have %d vectors", i, table.perShard[i], m.Rows)
		}
		if m.Rows > 0 {
			if c.dim > 0 && m.Dim != c.dim {
				return fmt.Errorf("shard %d: vectors of %d numbers among vectors of %d", i, m.Dim, c.dim)
			}
			c.dim = m.Dim
		}
		shards[i] = m
	}
	c.rows = make([]float32, 0, c.n*c.dim)
	next := make([]int, c.shards)
	for _, s := range table.shardOf {
		c.rows = append(c.rows, shards[s].Row(next[s])...)
		next[s]++
	}
	return nil
}

// table is what is known of the chunks once they are listed.
type table struct {
	chunks   int
	perShard []int
	shardOf  []uint8 // by ordinal
}

// writeTable writes the chunks' names by ordinal: one line for each document,
// in corpus order, with its id escaped as TREC needs it, a blank and the number
// of its chunks.
func writeTable(t *engine.Task, order []string, shards int) (table, error) {
	tab := table{perShard: make([]int, shards)}
	counts := make(map[string]int, len(order))
	for chunk, err := range chunksInOrder(t, order, shards) {
		if err != nil {
			return tab, err
		}
		if chunk.N != counts[chunk.Doc] {
			return tab, fmt.Errorf("chunk %d of document %q stands where chunk %d should", chunk.N, chunk.Doc, counts[chunk.Doc])
		}
		counts[chunk.Doc]++
		s := shardOf(chunk.Doc, shards)
		tab.perShard[s]++
		tab.shardOf = append(tab.shardOf, uint8(s))
		tab.chunks++
	}
	var b bytes.Buffer
	for _, id := range order {
		b.WriteString(trec.Escape(id))
		b.WriteByte(' ')
		b.WriteString(strconv.Itoa(counts[id]))
		b.WriteByte('\n')
	}
	return tab, t.Write("chunks", b.Bytes())
}

// chunkTable names chunks by ordinal.
type chunkTable struct {
	docs  []string
	first []uint32 // the ordinal of the document's first chunk, by document, and the end
	doc   []uint32 // by ordinal
}

func readTable(t *engine.Task) (*chunkTable, error) {
	raw, err := t.Bytes("chunks")
	if err != nil {
		return nil, err
	}
	tab := &chunkTable{}
	for line := range strings.Lines(string(raw)) {
		id, count, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, err := strconv.Atoi(count)
		if !ok || err != nil || n < 0 {
			return nil, fmt.Errorf("read chunk table: line %q", line)
		}
		doc, err := trec.Unescape(id)
		if err != nil {
			return nil, fmt.Errorf("read chunk table: %w", err)
		}
		tab.first = append(tab.first, uint32(len(tab.doc)))
		for range n {
			tab.doc = append(tab.doc, uint32(len(tab.docs)))
		}
		tab.docs = append(tab.docs, doc)
	}
	return tab, nil
}

// name is the name of the chunk with that ordinal.
func (c *chunkTable) name(ordinal uint32) (string, error) {
	if int(ordinal) >= len(c.doc) {
		return "", fmt.Errorf("hit %d is outside the corpus of %d chunks", ordinal, len(c.doc))
	}
	d := c.doc[ordinal]
	return artifact.ChunkName(c.docs[d], int(ordinal-c.first[d])), nil
}

var _ retriever.Corpus = (*indexCorpus)(nil)

// chunkText is used by rerankers that read passages.
type chunkTexts []string

func readTexts(t *engine.Task, shards int) (chunkTexts, error) {
	order, err := readOrder(t)
	if err != nil {
		return nil, err
	}
	var texts chunkTexts
	for chunk, err := range chunksInOrder(t, order, shards) {
		if err != nil {
			return nil, err
		}
		texts = append(texts, chunk.Indexed())
	}
	return texts, nil
}

func (c chunkTexts) text(ordinal uint32) (string, error) {
	if int(ordinal) >= len(c) {
		return "", fmt.Errorf("hit %d is outside the corpus of %d chunks", ordinal, len(c))
	}
	return c[ordinal], nil
}
