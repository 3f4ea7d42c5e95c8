package artifact

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"raglab/axes"
	"raglab/internal/trec"
)

// Run is a ranking of chunks for each of some questions.
type Run struct {
	Questions []string     // ids, in order
	Hits      [][]axes.Hit // by question, best first
	Chunks    [][]string   // by question and hit: the chunk's name
}

// ChunkName is the name of a chunk: the document's id, "#" and its place in the
// document.
func ChunkName(doc string, n int) string { return doc + "#" + strconv.Itoa(n) }

// DocumentOf is the document's id in a chunk's name.
func DocumentOf(chunk string) string {
	if i := strings.LastIndexByte(chunk, '#'); i >= 0 {
		return chunk[:i]
	}
	return chunk
}

// SplitChunkName is the document's id in a chunk's name and the chunk's place in it, or
// the name and -1 where it is that of no chunk.
func SplitChunkName(chunk string) (doc string, n int) {
	if i := strings.LastIndexByte(chunk, '#'); i >= 0 {
		if n, err := strconv.Atoi(chunk[i+1:]); err == nil && ChunkName(chunk[:i], n) == chunk {
			return chunk[:i], n
		}
	}
	return chunk, -1
}

// WriteRun writes a run in TREC's form: question, Q0, chunk, rank, score, tag.
// The order of lines is the ranking; scores are written in full, so that equal
// ones stay equal. The tag holds the chunk's ordinal, which decides ties. Ids
// are escaped as package trec does. A question without hits has no line, as TREC
// has no way to write one. A score that is not a number is an error: it has no
// place in a ranking.
func WriteRun(w io.Writer, run Run) error {
	buf := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	for q, id := range run.Questions {
		head := trec.Escape(id) + " Q0 "
		for i, h := range run.Hits[q] {
			if math.IsNaN(h.Score) {
				return fmt.Errorf("write run: the score of %s for question %s is not a number", run.Chunks[q][i], id)
			}
			line = append(line[:0], head...)
			line = append(line, trec.Escape(run.Chunks[q][i])...)
			line = append(line, ' ')
			line = strconv.AppendInt(line, int64(i+1), 10)
			line = append(line, ' ')
			line = strconv.AppendFloat(line, h.Score, 'g', -1, 64)
			line = append(line, " c"...)
			line = strconv.AppendUint(line, uint64(h.Ordinal), 10)
			line = append(line, '\n')
			if _, err := buf.Write(line); err != nil {
				return fmt.Errorf("write run: %w", err)
			}
		}
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("write run: %w", err)
	}
	return nil
}

// ReadRun reads what [WriteRun] wrote, of which all bytes must have been
// verified: a file cut at the end of a line is a shorter run. Questions are in
// the order of the file.
func ReadRun(b []byte) (Run, error) {
	var run Run
	seen := map[string]bool{}
	last := ""
	// Names are parts of one string, not strings of their own.
	text := string(b)
	for n := 1; text != ""; n++ {
		line, rest, whole := strings.Cut(text, "\n")
		text = rest
		var f fields
		if !whole {
			return Run{}, fmt.Errorf("read run, line %d: it is cut short", n)
		}
		if err := f.parse(line); err != nil {
			return Run{}, fmt.Errorf("read run, line %d: %w", n, err)
		}
		if len(run.Questions) == 0 || f.question != last {
			last = f.question
			if err := run.begin(last, seen); err != nil {
				return Run{}, fmt.Errorf("read run, line %d: %w", n, err)
			}
		}
		i := len(run.Hits) - 1
		if run.Hits[i] = append(run.Hits[i], f.hit); f.rank != len(run.Hits[i]) {
			return Run{}, fmt.Errorf("read run, line %d: rank %d follows rank %d", n, f.rank, len(run.Hits[i])-1)
		}
		run.Chunks[i] = append(run.Chunks[i], f.chunk)
	}
	return run, nil
}

// begin adds a question.
func (r *Run) begin(escaped string, seen map[string]bool) error {
	if seen[escaped] {
		return fmt.Errorf("question %s comes a second time", escaped)
	}
	seen[escaped] = true
	id, err := trec.Unescape(escaped)
	if err != nil {
		return err
	}
	r.Questions = append(r.Questions, id)
	r.Hits = append(r.Hits, nil)
	r.Chunks = append(r.Chunks, nil)
	return nil
}

// fields are a run's line.
type fields struct {
	question string // escaped
	chunk    string
	rank     int
	hit      axes.Hit
}

func (f *fields) parse(line string) error {
	var part [6]string
	for i := range part {
		var more bool
		part[i], line, more = strings.Cut(line, " ")
		if more != (i < len(part)-1) {
			return fmt.Errorf("it has not %d fields", len(part))
		}
	}
	f.question = part[0]
	var err error
	if f.chunk, err = trec.Unescape(part[2]); err != nil {
		return err
	}
	if f.rank, err = strconv.Atoi(part[3]); err != nil {
		return fmt.Errorf("rank %q: %w", part[3], err)
	}
	f.hit.Score, err = strconv.ParseFloat(part[4], 64)
	if err != nil || math.IsNaN(f.hit.Score) {
		return fmt.Errorf("score %q is not a number", part[4])
	}
	ordinal, ok := strings.CutPrefix(part[5], "c")
	o, err := strconv.ParseUint(ordinal, 10, 32)
	if err != nil || !ok {
		return fmt.Errorf("tag %q is not a chunk's ordinal", part[5])
	}
	f.hit.Ordinal = uint32(o)
	return nil
}

// By returns the run's rankings by question id.
func (r Run) By() map[string]int {
	m := make(map[string]int, len(r.Questions))
	for i, q := range r.Questions {
		m[q] = i
	}
	return m
}
