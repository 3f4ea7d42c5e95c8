package pipeline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"raglab/axes"
	"raglab/axes/source"
	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/internal/pg"
	"raglab/internal/web"
)

// Shards are parts of the corpus, by a hash of the document's id, so that a
// changed document changes one of them. Their number is a power of two that
// grows with the corpus: a crash costs at most one shard per worker.
func shardsFor(bytes int64) int {
	switch {
	case bytes < 32<<20:
		return 8
	case bytes < 512<<20:
		return 32
	}
	return 128
}

// shardOf is the shard of a document: the first four bytes of its id's SHA-256,
// modulo the number of shards.
func shardOf(id string, shards int) int {
	sum := sha256.Sum256([]byte(id))
	return int(binary.BigEndian.Uint32(sum[:4]) % uint32(shards))
}

func shardName(prefix string, i int) string { return fmt.Sprintf("%s-%03d", prefix, i) }

// fetchWork is the work of a fetch stage.
type fetchWork struct {
	source source.Source
	shards int
}

// fetchKind reads the corpus. One that is fetched over the network is neither the
// same at any time nor read in a plan, even if it is pinned. Its outputs are the documents, by shard, and the
// ids of all in corpus order.
func fetchKind(shards int, local bool) *engine.Kind {
	k := &engine.Kind{Name: "fetch", Version: "1", Pure: local, Cheap: local, Run: runFetch}
	for i := range shards {
		k.Outputs = append(k.Outputs, shardName("documents", i))
	}
	k.Outputs = append(k.Outputs, "order")
	return k
}

func runFetch(ctx context.Context, t *engine.Task) error {
	w := t.Work.(fetchWork)
	out := make([]*artifact.Lines, w.shards)
	for i := range out {
		f, err := t.Create(shardName("documents", i))
		if err != nil {
			return err
		}
		if out[i], err = artifact.NewLines(f); err != nil {
			return err
		}
	}
	var order bytes.Buffer
	ids := json.NewEncoder(&order)
	ids.SetEscapeHTML(false)
	documents, size := 0, 0
	slow, ok := w.source.(source.Progressive)
	if ok {
		slow.Progress(func(done, total int) { t.Progress(done, total, "documents") })
	}
	for doc, err := range w.source.Documents(ctx) {
		if err != nil {
			return sourceError(err)
		}
		if err := out[shardOf(doc.ID, w.shards)].Write(doc); err != nil {
			return err
		}
		if err := ids.Encode(doc.ID); err != nil {
			return fmt.Errorf("write order: %w", err)
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
	for _, l := range out {
		if err := l.Close(); err != nil {
			return err
		}
	}
	t.Measure("documents", documents)
	t.Measure("text_bytes", size)
	return t.Write("order", order.Bytes())
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

// chunksInOrder yields the chunks of all shards in corpus order: by the
// document's place, then the chunk's. It reads the shards side by side and
// keeps one chunk of each in memory.
func chunksInOrder(t *engine.Task, order []string, shards int) iter.Seq2[axes.Chunk, error] {
	return func(yield func(axes.Chunk, error) bool) {
		heads := make([]*chunkHead, shards)
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
			h := heads[shardOf(id, shards)]
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
