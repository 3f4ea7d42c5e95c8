package pipeline

import (
	"bytes"
	"fmt"
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
}

func newTable(documents, shards int) *table {
	return &table{counts: make(map[string]int, documents), perShard: make([]int, shards)}
}

// add lists the next chunk.
func (t *table) add(chunk axes.Chunk) error {
	if chunk.N != t.counts[chunk.Doc] {
		return fmt.Errorf("chunk %d of document %q stands where chunk %d should", chunk.N, chunk.Doc, t.counts[chunk.Doc])
	}
	t.counts[chunk.Doc]++
	s := shardOf(chunk.Doc, len(t.perShard))
	t.perShard[s]++
	t.shardOf = append(t.shardOf, uint8(s))
	t.chunks++
	return nil
}

// write writes the chunks' names by ordinal: one line for each document, in
// corpus order, with its id escaped as TREC needs it, a blank and the number of
// its chunks.
func (t *table) write(task *engine.Task, order []string) error {
	var b bytes.Buffer
	for _, id := range order {
		b.WriteString(trec.Escape(id))
		b.WriteByte(' ')
		b.WriteString(strconv.Itoa(t.counts[id]))
		b.WriteByte('\n')
	}
	return task.Write("chunks", b.Bytes())
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

// chunkTexts are the chunks' texts by ordinal, for rerankers that read them.
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
