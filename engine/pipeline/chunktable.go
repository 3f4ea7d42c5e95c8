package pipeline

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"sort"
	"strconv"

	"raglab/axes"
	"raglab/engine/artifact"
	"raglab/internal/trec"
)

// table is what becomes known of chunks while they are seen in corpus order: their
// names by ordinal, one line for each document with its id escaped as TREC needs it, a
// blank and the number of its chunks. Where chunks share a passage, a blank and the
// number of chunks of each passage follow, joined by commas.
type table struct {
	order  []string
	shards shardRange
	lines  bytes.Buffer
	chunks int
	// perShard counts chunks, and shardOf tells theirs by ordinal, for the few shards
	// that one index is built from.
	perShard []int
	shardOf  []uint8

	place int   // of the current document in the order
	sizes []int // how many chunks each of its passages has
	count int   // its chunks so far
	first int   // the place of the first chunk of the last passage
}

func newTable(order []string, shards shardRange) *table {
	return &table{order: order, shards: shards, perShard: make([]int, shards.n)}
}

// add lists the next chunk.
func (t *table) add(chunk axes.Chunk) error {
	if err := t.goTo(chunk.Doc); err != nil {
		return err
	}
	if chunk.N != t.count {
		return fmt.Errorf("chunk %d of document %q stands where chunk %d should", chunk.N, chunk.Doc, t.count)
	}
	if err := t.group(chunk); err != nil {
		return err
	}
	t.count++
	s, ok := t.shards.slot(chunk.Doc)
	if !ok {
		return fmt.Errorf("document %q is in none of the shards", chunk.Doc)
	}
	t.perShard[s]++
	t.shardOf = append(t.shardOf, uint8(s))
	t.chunks++
	return nil
}

// goTo ends the documents before the one with that id.
func (t *table) goTo(id string) error {
	for t.place < len(t.order) && t.order[t.place] != id {
		t.end()
	}
	if t.place == len(t.order) {
		return fmt.Errorf("document %q has chunks where the corpus's order has no more of it", id)
	}
	return nil
}

// group finds the passage that the next chunk is part of.
func (t *table) group(chunk axes.Chunk) error {
	first := chunk.Ranked()
	switch {
	case first == chunk.N:
		t.first = first
		t.sizes = append(t.sizes, 1)
		return nil
	case chunk.N == 0 || first != t.first:
		return fmt.Errorf("chunk %d of document %q shares the passage of chunk %d, which the one before it does not", chunk.N, chunk.Doc, first)
	}
	t.sizes[len(t.sizes)-1]++
	return nil
}

// end writes the line of the current document.
func (t *table) end() {
	t.lines.WriteString(trec.Escape(t.order[t.place]))
	b := strconv.AppendInt(append(t.lines.AvailableBuffer(), ' '), int64(t.count), 10)
	if t.count > len(t.sizes) {
		for i, n := range t.sizes {
			b = strconv.AppendInt(append(b, " ,"[min(i, 1)]), int64(n), 10)
		}
	}
	t.lines.Write(append(b, '\n'))
	t.place, t.count, t.sizes = t.place+1, 0, t.sizes[:0]
}

// encode returns the lines of all documents. No chunk may be added then.
func (t *table) encode() []byte {
	for t.place < len(t.order) {
		t.end()
	}
	return t.lines.Bytes()
}

// tableLine is a document in a table.
type tableLine struct {
	id     []byte // escaped
	chunks int
	sizes  []byte // how many chunks each passage has, where some share one
}

// cutLine reads the first line of a table and returns what follows it.
func cutLine(lines []byte) (l tableLine, rest []byte, err error) {
	line, rest, ok := bytes.Cut(lines, []byte{'\n'})
	id, more, blank := bytes.Cut(line, []byte{' '})
	count, sizes, grouped := bytes.Cut(more, []byte{' '})
	n, whole := atoi(count)
	if !ok || !blank || !whole || grouped && len(sizes) == 0 {
		return l, nil, fmt.Errorf("line %q", line)
	}
	return tableLine{id, n, sizes}, rest, nil
}

// atoi reads a whole number below 2^31: the tables of large corpora have many.
func atoi(digits []byte) (n int, ok bool) {
	if len(digits) == 0 || len(digits) > 10 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, n < 1<<31
}

// eachPassage yields the passages of the document that have several chunks, by the place
// of the first of them; they must be all of the document's.
func (l tableLine) eachPassage(yield func(first, size int)) error {
	if len(l.sizes) == 0 {
		return nil
	}
	at := 0
	for rest, more := l.sizes, true; more; {
		var text []byte
		text, rest, more = bytes.Cut(rest, []byte{','})
		size, ok := atoi(text)
		if !ok || size < 1 || at+size > l.chunks {
			return fmt.Errorf("line %q %d %s: passages of %[3]s chunks", l.id, l.chunks, l.sizes)
		}
		if size > 1 {
			yield(at, size)
		}
		at += size
	}
	if at != l.chunks {
		return fmt.Errorf("line %q %d %s: passages of %[3]s chunks are not %[2]d", l.id, l.chunks, l.sizes)
	}
	return nil
}

// stride is how many documents of a table follow one another between two marks.
const stride = 16

// tableMark is where a document stands in a table, and the ordinal of its first chunk.
type tableMark struct {
	at      int
	ordinal uint32
}

// chunkTable names chunks by ordinal. It keeps the lines as they are and one mark in
// [stride] documents: of a large corpus the lines are a file mapped into memory.
type chunkTable struct {
	lines  []byte
	marks  []tableMark
	docs   int
	chunks int
	passages
}

func readTable(in inputs) (*chunkTable, error) {
	raw, err := in.Bytes("chunks")
	if err != nil {
		return nil, err
	}
	return parseTable(raw)
}

// parseTable reads a table, whose lines must stay as they are.
func parseTable(lines []byte) (*chunkTable, error) {
	tab := &chunkTable{lines: lines}
	for rest := lines; len(rest) > 0; {
		at := len(lines) - len(rest)
		line, more, err := cutLine(rest)
		if err == nil {
			err = tab.add(line, at)
		}
		if err != nil {
			return nil, fmt.Errorf("read chunk table: %w", err)
		}
		rest = more
	}
	return tab, nil
}

// add counts a document whose line begins at a place.
func (c *chunkTable) add(line tableLine, at int) error {
	if c.chunks+line.chunks >= math.MaxUint32 {
		return errors.New("more than 2^32-2 chunks")
	}
	if _, err := trec.Unescape(string(line.id)); err != nil {
		return err
	}
	if c.docs%stride == 0 {
		c.marks = append(c.marks, tableMark{at, uint32(c.chunks)})
	}
	c.docs, c.chunks = c.docs+1, c.chunks+line.chunks
	return line.eachPassage(func(_, size int) { c.passages.add(size) })
}

// find returns the document with that chunk, and the ordinal of its first.
func (c *chunkTable) find(ordinal uint32) (line tableLine, first uint32, err error) {
	i := sort.Search(len(c.marks), func(i int) bool { return c.marks[i].ordinal > ordinal }) - 1
	if i < 0 || int(ordinal) >= c.chunks {
		return line, 0, fmt.Errorf("hit %d is outside the corpus of %d chunks", ordinal, c.chunks)
	}
	rest, first := c.lines[c.marks[i].at:], c.marks[i].ordinal
	for {
		if line, rest, err = cutLine(rest); err != nil {
			return line, 0, err
		}
		if int(ordinal-first) < line.chunks {
			return line, first, nil
		}
		first += uint32(line.chunks)
	}
}

// name is the name of the chunk with that ordinal.
func (c *chunkTable) name(ordinal uint32) (string, error) {
	line, first, err := c.find(ordinal)
	if err != nil {
		return "", err
	}
	doc, err := trec.Unescape(string(line.id))
	return artifact.ChunkName(doc, int(ordinal-first)), err
}

// ranked is the ordinal under which a chunk is ranked: that of the first chunk of its
// passage.
func (c *chunkTable) ranked(ordinal uint32) uint32 {
	line, first, err := c.find(ordinal)
	if err != nil {
		return ordinal // who asks for its name will hear of it
	}
	n := int(ordinal - first)
	// The line was read when the table was.
	_ = line.eachPassage(func(at, size int) {
		if at <= n && n < at+size {
			ordinal = first + uint32(at)
		}
	})
	return ordinal
}

// collapse turns a ranking of chunks into one of passages, in place: each stands
// where the best of its chunks stands, under the first one's ordinal. Equal scores
// stay in order, because a passage's chunks follow one another in the corpus.
func (c *chunkTable) collapse(hits []axes.Hit, depth int) []axes.Hit {
	if !c.several() {
		return hits
	}
	seen := make(map[uint32]bool, depth)
	out := hits[:0]
	for _, h := range hits {
		if h.Ordinal = c.ranked(h.Ordinal); seen[h.Ordinal] {
			continue
		}
		seen[h.Ordinal] = true
		if out = append(out, h); len(out) == depth {
			break
		}
	}
	return out
}

// tableLines yields the documents of a table, one by one, and ends at an error.
func tableLines(r io.Reader) iter.Seq2[tableLine, error] {
	return func(yield func(tableLine, error) bool) {
		in := bufio.NewReaderSize(r, 1<<16)
		for {
			line, err := in.ReadBytes('\n')
			if errors.Is(err, io.EOF) && len(line) == 0 {
				return
			}
			var l tableLine
			if err == nil || errors.Is(err, io.EOF) {
				l, _, err = cutLine(line)
			}
			if err != nil {
				err = fmt.Errorf("read chunk table: %w", err)
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}
