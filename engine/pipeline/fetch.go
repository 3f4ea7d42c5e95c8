package pipeline

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"raglab/axes"
	"raglab/axes/source"
	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/internal/pg"
	"raglab/internal/web"
)

func shardName(prefix string, i int) string { return fmt.Sprintf("%s-%03d", prefix, i) }

// fetchWork is the work of a fetch stage.
type fetchWork struct {
	source source.Source
	sharding
	size corpusSize // as planned
}

// fetchKind reads the corpus. One that is fetched over the network is neither the
// same at any time nor read in a plan, even if it is pinned, and one of several parts
// is too large to be read there. Its outputs are the documents, by shard, and the ids of
// all in corpus order; where there are several parts, those of each too.
func fetchKind(s sharding, local bool) *engine.Kind {
	k := &engine.Kind{Name: "fetch", Version: "1", Pure: local, Cheap: local && s.parts == 1, Run: runFetch}
	for i := range s.shards {
		k.Outputs = append(k.Outputs, shardName("documents", i))
	}
	k.Outputs = append(k.Outputs, "order")
	if s.parts > 1 {
		for i := range s.parts {
			k.Outputs = append(k.Outputs, shardName("order", i))
		}
	}
	return k
}

func runFetch(ctx context.Context, t *engine.Task) error {
	w := t.Work.(fetchWork)
	out, err := newDealer(t, w.sharding)
	if err != nil {
		return err
	}
	defer out.discard()
	documents, size := 0, 0
	slow, ok := w.source.(source.Progressive)
	if ok {
		slow.Progress(func(done, total int) { t.Progress(done, total, "documents") })
	}
	for doc, err := range w.source.Documents(ctx) {
		if err != nil {
			return sourceError(err)
		}
		if err := out.deal(doc); err != nil {
			return err
		}
		documents++
		size += len(doc.Text)
		if !ok && documents%256 == 0 {
			t.Progress(documents, 0, "documents")
		}
	}
	if warner, ok := w.source.(source.Warner); ok {
		for _, text := range warner.Warnings() {
			t.Warn("%s", text)
		}
	}
	if text := w.size.surprise(w.sharding, int64(size)); text != "" {
		t.Warn("%s", text)
	}
	t.Measure("documents", documents)
	t.Measure("text_bytes", size)
	return out.close(ctx)
}

// sourceError tells what the user can mend from what the world did, and of that
// what may pass.
func sourceError(err error) error {
	var wrong *source.Error
	switch {
	case errors.As(err, &wrong):
		return &engine.InputError{Err: err}
	case web.IsTemporary(err), pg.IsTransient(err):
		return engine.Transient(err)
	}
	return err
}

// readOrder reads the document ids in corpus order.
func readOrder(in inputs) ([]string, error) {
	raw, err := in.Bytes("order")
	if err != nil {
		return nil, err
	}
	return parseOrder(raw)
}

func parseOrder(raw []byte) ([]string, error) {
	var ids []string
	dec := json.NewDecoder(bytes.NewReader(raw))
	for dec.More() {
		var id string
		if err := dec.Decode(&id); err != nil {
			return nil, fmt.Errorf("read order: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// idsOf yields the document ids of an input that is an order, one by one.
func idsOf(in inputs, order string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		r, err := in.Open(order)
		if err != nil {
			yield("", err)
			return
		}
		defer func() { _ = r.Close() }() // it was read only
		idsIn(r)(yield)
	}
}

// idsIn yields the document ids of an order, one by one, and ends at an error.
func idsIn(r io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		lines := bufio.NewReaderSize(r, 1<<16)
		for {
			line, err := lines.ReadBytes('\n')
			if errors.Is(err, io.EOF) && len(line) == 0 {
				return
			}
			var id string
			if err == nil || errors.Is(err, io.EOF) {
				err = json.Unmarshal(line, &id)
			}
			if err != nil {
				err = fmt.Errorf("read order: %w", err)
			}
			if !yield(id, err) || err != nil {
				return
			}
		}
	}
}

// chunksInOrder yields the chunks of some shards in the order of their documents: by
// the document's place, then the chunk's. It reads the shards side by side and
// keeps one chunk of each in memory.
func chunksInOrder(t *engine.Task, order []string, shards shardRange) iter.Seq2[axes.Chunk, error] {
	return func(yield func(axes.Chunk, error) bool) {
		heads := make([]*chunkHead, shards.n)
		defer func() {
			for _, h := range heads {
				if h != nil {
					h.stop()
				}
			}
		}()
		for i := range heads {
			r, err := t.Open(shardName("chunks", i))
			if err != nil {
				yield(axes.Chunk{}, err)
				return
			}
			heads[i] = newChunkHead(artifact.ReadLines[axes.Chunk](r))
		}
		for _, id := range order {
			slot, ok := shards.slot(id)
			if !ok {
				yield(axes.Chunk{}, fmt.Errorf("document %q is in none of the shards", id))
				return
			}
			h := heads[slot]
			for h.ok && h.err == nil && h.chunk.Doc == id {
				if !yield(h.chunk, nil) {
					return
				}
				h.advance()
			}
			if h.err != nil {
				yield(axes.Chunk{}, h.err)
				return
			}
		}
		for i, h := range heads {
			if h.ok {
				yield(axes.Chunk{}, fmt.Errorf("shard %d: chunk of document %q is not in the corpus's order", i, h.chunk.Doc))
				return
			}
		}
	}
}

// chunkHead is a sequence of chunks of which the first is looked at.
type chunkHead struct {
	next  func() (axes.Chunk, error, bool)
	stop  func()
	chunk axes.Chunk
	err   error
	ok    bool
}

func newChunkHead(seq iter.Seq2[axes.Chunk, error]) *chunkHead {
	h := &chunkHead{}
	h.next, h.stop = iter.Pull2(seq)
	h.advance()
	return h
}

func (h *chunkHead) advance() { h.chunk, h.err, h.ok = h.next() }
