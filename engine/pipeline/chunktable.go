package pipeline

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"raglab/axes"
	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/internal/trec"
)

// table is what is known of the chunks once they have all been seen.
type table struct {
	chunks   int
	counts   map[string]int // by document
	perShard []int
	shardOf  []uint8 // by ordinal
	// passages are how many chunks each passage has, of the documents with one of
	// several; the last one seen began at place first.
	passages map[string][]int
	first    int
}

func newTable(documents, shards int) *table {
	return &table{counts: make(map[string]int, documents), perShard: make([]int, shards), passages: map[string][]int{}}
}

// add lists the next chunk.
func (t *table) add(chunk axes.Chunk) error {
	if chunk.N != t.counts[chunk.Doc] {
		return fmt.Errorf("chunk %d of document %q stands where chunk %d should", chunk.N, chunk.Doc, t.counts[chunk.Doc])
	}
	if err := t.group(chunk); err != nil {
		return err
	}
	t.counts[chunk.Doc]++
	s := shardOf(chunk.Doc, len(t.perShard))
	t.perShard[s]++
	t.shardOf = append(t.shardOf, uint8(s))
	t.chunks++
	return nil
}

// group finds the passage that the next chunk is part of.
func (t *table) group(chunk axes.Chunk) error {
	first := chunk.Ranked()
	sizes, several := t.passages[chunk.Doc]
	switch {
	case first == chunk.N:
		t.first = first
		if several {
			t.passages[chunk.Doc] = append(sizes, 1)
		}
		return nil
	case chunk.N == 0 || first != t.first:
		return fmt.Errorf("chunk %d of document %q shares the passage of chunk %d, which the one before it does not", chunk.N, chunk.Doc, first)
	case !several:
		sizes = slices.Repeat([]int{1}, chunk.N)
	}
	sizes[len(sizes)-1]++
	t.passages[chunk.Doc] = sizes
	return nil
}

// encode writes the chunks' names by ordinal: one line for each document, in
// corpus order, with its id escaped as TREC needs it, a blank and the number of
// its chunks. Where chunks share a passage, a blank and the number of chunks of
// each passage follow, joined by commas.
func (t *table) encode(order []string) []byte {
	var b bytes.Buffer
	for _, id := range order {
		b.WriteString(trec.Escape(id))
		b.WriteByte(' ')
		b.WriteString(strconv.Itoa(t.counts[id]))
		for i, n := range t.passages[id] {
			b.WriteByte(" ,"[min(i, 1)])
			b.WriteString(strconv.Itoa(n))
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// chunkTable names chunks by ordinal.
type chunkTable struct {
	docs  []string
	first []uint32 // the ordinal of the document's first chunk, by document, and the end
	doc   []uint32 // by ordinal
	passages
}

func readTable(in inputs) (*chunkTable, error) {
	raw, err := in.Bytes("chunks")
	if err != nil {
		return nil, err
	}
	return parseTable(raw)
}

func parseTable(raw []byte) (*chunkTable, error) {
	tab := &chunkTable{}
	for line := range strings.Lines(string(raw)) {
		if err := tab.read(strings.TrimSuffix(line, "\n")); err != nil {
			return nil, fmt.Errorf("read chunk table: %w", err)
		}
	}
	return tab, nil
}

// read adds the chunks of a document.
func (c *chunkTable) read(line string) error {
	id, rest, ok := strings.Cut(line, " ")
	count, sizes, grouped := strings.Cut(rest, " ")
	n, err := strconv.Atoi(count)
	if !ok || err != nil || n < 0 {
		return fmt.Errorf("line %q", line)
	}
	doc, err := trec.Unescape(id)
	if err != nil {
		return err
	}
	if grouped {
		if err := c.passages.read(len(c.doc), n, sizes); err != nil {
			return fmt.Errorf("line %q: %w", line, err)
		}
	}
	c.first = append(c.first, uint32(len(c.doc)))
	for range n {
		c.doc = append(c.doc, uint32(len(c.docs)))
	}
	c.docs = append(c.docs, doc)
	return nil
}

// name is the name of the chunk with that ordinal.
func (c *chunkTable) name(ordinal uint32) (string, error) {
	if int(ordinal) >= len(c.doc) {
		return "", fmt.Errorf("hit %d is outside the corpus of %d chunks", ordinal, len(c.doc))
	}
	d := c.doc[ordinal]
	return artifact.ChunkName(c.docs[d], int(ordinal-c.first[d])), nil
}

// chunkTexts are what rerankers read of the chunks that a run ranks, by ordinal.
type chunkTexts map[uint32]string

// readTexts reads the texts of the chunks in a run, and keeps no others.
func readTexts(t *engine.Task, shards int, run artifact.Run) (chunkTexts, error) {
	order, err := readOrder(t)
	if err != nil {
		return nil, err
	}
	texts := chunkTexts{}
	for _, hits := range run.Hits {
		for _, h := range hits {
			texts[h.Ordinal] = ""
		}
	}
	ordinal, found := uint32(0), 0
	for chunk, err := range chunksInOrder(t, order, shards) {
		if err != nil {
			return nil, err
		}
		if _, ranked := texts[ordinal]; ranked {
			texts[ordinal] = chunk.Read()
			found++
		}
		ordinal++
	}
	if found < len(texts) {
		return nil, fmt.Errorf("the run has hits outside the corpus of %d chunks", ordinal)
	}
	return texts, nil
}

func (c chunkTexts) text(ordinal uint32) (string, error) {
	text, ok := c[ordinal]
	if !ok {
		return "", fmt.Errorf("hit %d is in no ranking that was read", ordinal)
	}
	return text, nil
}
