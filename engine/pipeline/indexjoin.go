package pipeline

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unsafe"

	"raglab/engine"
	"raglab/internal/trec"
)

// joinWork is the work of a join stage.
type joinWork struct{ sharding }

// joinKind puts the chunks of the parts of an index into the order of the corpus. Its
// output chunks names the chunk of each ordinal, as an index in one piece does; ordinals
// are those of each part's chunks: how many parts there are and how many chunks each of
// them has, in 64 bits, then the ordinals, part by part, in 32, all little-endian.
var joinKind = &engine.Kind{Name: "join", Version: "1", Outputs: []string{"chunks", "ordinals"}, Pure: true, Run: runJoin}

func (l *leafBuilder) joinStage(names []string, parts []*engine.Stage) *engine.Stage {
	s := &engine.Stage{
		Address: address("join", names...), Kind: joinKind, Needs: engine.Resources{CPU: 1},
		Fields: []engine.Field{
			{Class: engine.Params, Path: "parts", Value: int64(l.sharding.parts)},
			{Class: engine.Params, Path: "shards", Value: int64(l.sharding.shards)},
		},
		Inputs: []engine.Input{{Name: "order", From: l.p.Fetch, Output: "order"}},
		Work:   joinWork{l.sharding},
	}
	for i, p := range parts {
		s.Inputs = append(s.Inputs, engine.Input{Name: shardName("chunks", i), From: p, Output: "chunks"})
	}
	return s
}

func runJoin(ctx context.Context, t *engine.Task) error {
	w := t.Work.(joinWork)
	out, err := t.Create("chunks")
	if err != nil {
		return err
	}
	j := joining{out: bufio.NewWriterSize(out, 1<<16), ordinals: make([]ascending, w.parts)}
	for i := range w.parts {
		r, err := t.Open(shardName("chunks", i))
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }() // it was read only
		j.parts = append(j.parts, bufio.NewReaderSize(r, 1<<15))
	}
	documents := 0
	for id, err := range idsOf(t, "order") {
		if err == nil {
			err = j.add(id, w.partOf(id))
		}
		if err != nil {
			return err
		}
		if documents++; documents%4096 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if err := j.end(); err != nil {
		return err
	}
	t.Measure("chunks", j.next)
	return j.write(t)
}

// joining reads the parts' tables side by side.
type joining struct {
	out      *bufio.Writer
	parts    []*bufio.Reader
	ordinals []ascending // by part
	next     uint32      // the ordinal of the next chunk
}

// ascending are numbers of which each is above the one before, as their differences:
// chunks of a part lie close together, and a byte or two hold what is between them.
type ascending struct {
	n     int
	last  uint32
	steps []byte
}

func (a *ascending) add(v uint32) {
	a.steps = binary.AppendUvarint(a.steps, uint64(v-a.last))
	a.n, a.last = a.n+1, v
}

// all yields the numbers.
func (a *ascending) all(yield func(uint32) bool) {
	v := uint32(0)
	for rest := a.steps; len(rest) > 0; {
		step, n := binary.Uvarint(rest)
		v, rest = v+uint32(step), rest[n:]
		if !yield(v) {
			return
		}
	}
}

// add takes the next document, which is in that part.
func (j *joining) add(id string, part int) error {
	line, err := j.parts[part].ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) { // of a document with very many passages
		head := bytes.Clone(line)
		line, err = j.parts[part].ReadBytes('\n')
		line = append(head, line...)
	}
	if err != nil {
		return fmt.Errorf("read part %d: document %q: %w", part, id, noEOF(err))
	}
	l, _, err := cutLine(line)
	if err != nil {
		return fmt.Errorf("read part %d: %w", part, err)
	}
	if string(l.id) != trec.Escape(id) {
		return fmt.Errorf("read part %d: document %s stands where %q should", part, l.id, id)
	}
	if uint64(j.next)+uint64(l.chunks) >= 1<<32-1 {
		return errors.New("more than 2^32-2 chunks")
	}
	for range l.chunks {
		j.ordinals[part].add(j.next)
		j.next++
	}
	_, err = j.out.Write(line)
	return err
}

// noEOF makes the end of a file an error, where it is not expected.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// end checks that the parts have no more documents, which verifies what was read.
func (j *joining) end() error {
	for i, p := range j.parts {
		switch line, err := p.ReadBytes('\n'); {
		case err == nil || len(line) > 0:
			return fmt.Errorf("read part %d: it has more documents than the corpus", i)
		case !errors.Is(err, io.EOF):
			return fmt.Errorf("read part %d: %w", i, err)
		}
	}
	return j.out.Flush()
}

func (j *joining) write(t *engine.Task) error {
	w, err := t.Create("ordinals")
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	head := binary.LittleEndian.AppendUint64(nil, uint64(len(j.ordinals)))
	for _, o := range j.ordinals {
		head = binary.LittleEndian.AppendUint64(head, uint64(o.n))
	}
	_, _ = out.Write(head) // the writer keeps its error
	var b [4]byte
	for _, part := range j.ordinals {
		for o := range part.all {
			binary.LittleEndian.PutUint32(b[:], o)
			_, _ = out.Write(b[:])
		}
	}
	return out.Flush()
}

// parseOrdinals returns the ordinals of each part, which share the memory of b where
// numbers lie there as they do in the file.
func parseOrdinals(b []byte) ([][]uint32, error) {
	wrong := fmt.Errorf("read ordinals: %d bytes do not hold what they say", len(b))
	if len(b) < 8 {
		return nil, wrong
	}
	n := binary.LittleEndian.Uint64(b)
	if n > uint64(len(b)-8)/8 {
		return nil, wrong
	}
	sizes, rest := b[8:8+8*n], b[8+8*n:]
	parts := make([][]uint32, n)
	for i := range parts {
		size := binary.LittleEndian.Uint64(sizes[8*i:])
		if size > uint64(len(rest)/4) {
			return nil, wrong
		}
		parts[i] = numbers(rest[:4*size])
		rest = rest[4*size:]
	}
	if len(rest) != 0 {
		return nil, wrong
	}
	return parts, nil
}

// numbers returns little-endian numbers, never nil.
func numbers(b []byte) []uint32 {
	if len(b) == 0 {
		return []uint32{}
	}
	first := unsafe.Pointer(&b[0])
	if one := [4]byte{1}; *(*uint32)(unsafe.Pointer(&one)) == 1 && uintptr(first)%4 == 0 {
		return unsafe.Slice((*uint32)(first), len(b)/4)
	}
	out := make([]uint32, len(b)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return out
}
