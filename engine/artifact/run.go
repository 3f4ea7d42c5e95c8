package artifact

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
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

// WriteRun writes a run in TREC's form: question, Q0, chunk, rank, score, tag.
// The order of lines is the ranking; scores are written in full, so that equal
// ones stay equal. The tag holds the chunk's ordinal, which decides ties. Ids
// are escaped as package trec does. A question without hits has no line, as TREC has no way to write one.
func WriteRun(w io.Writer, run Run) error {
	buf := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	for q, id := range run.Questions {
		head := trec.Escape(id) + " Q0 "
		for i, h := range run.Hits[q] {
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

// ReadRun reads what [WriteRun] wrote. Questions are in the order of the file.
func ReadRun(b []byte) (Run, error) {
	var run Run
	last := ""
	for n := 1; len(b) > 0; n++ {
		line, rest, _ := bytes.Cut(b, []byte("\n"))
		b = rest
		q, chunk, hit, err := parseLine(line)
		if err != nil {
			return Run{}, fmt.Errorf("read run, line %d: %w", n, err)
		}
		if len(run.Questions) == 0 || q != last {
			last = q
			id, err := trec.Unescape(q)
			if err != nil {
				return Run{}, fmt.Errorf("read run, line %d: %w", n, err)
			}
			run.Questions = append(run.Questions, id)
			run.Hits = append(run.Hits, nil)
			run.Chunks = append(run.Chunks, nil)
		}
		i := len(run.Hits) - 1
		run.Hits[i] = append(run.Hits[i], hit)
		run.Chunks[i] = append(run.Chunks[i], chunk)
	}
	return run, nil
}

func parseLine(line []byte) (question, chunk string, hit axes.Hit, err error) {
	f := strings.Split(string(line), " ")
	if len(f) != 6 {
		return "", "", hit, fmt.Errorf("%d fields, not 6", len(f))
	}
	hit.Score, err = strconv.ParseFloat(f[4], 64)
	if err != nil {
		return "", "", hit, fmt.Errorf("score %q: %w", f[4], err)
	}
	ordinal, ok := strings.CutPrefix(f[5], "c")
	o, err := strconv.ParseUint(ordinal, 10, 32)
	if err != nil || !ok {
		return "", "", hit, fmt.Errorf("tag %q is not a chunk's ordinal", f[5])
	}
	hit.Ordinal = uint32(o)
	chunk, err = trec.Unescape(f[2])
	return f[0], chunk, hit, err
}

// By returns the run's rankings by question id.
func (r Run) By() map[string]int {
	m := make(map[string]int, len(r.Questions))
	for i, q := range r.Questions {
		m[q] = i
	}
	return m
}
