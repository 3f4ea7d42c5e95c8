package pipeline

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"raglab/axes"
	"raglab/engine"
	"raglab/engine/artifact"
)

// dealer writes documents to their shards, and the order of their ids. It belongs to
// one goroutine.
type dealer interface {
	deal(doc axes.Document) error
	close(ctx context.Context) error
	// discard gives back what close has not; it may follow close.
	discard()
}

func newDealer(t *engine.Task, s sharding) (dealer, error) {
	orders, err := newOrders(t, s)
	if err != nil {
		return nil, err
	}
	if s.parts > 1 || s.shards > mostOpen {
		return newBuckets(t, s, orders)
	}
	return newOpenShards(t, s, orders)
}

// orders are the ids of documents in corpus order: of all, and of each part where there
// are several.
type orders struct {
	sharding
	all   *bufio.Writer
	parts []*bufio.Writer
}

func newOrders(t *engine.Task, s sharding) (*orders, error) {
	o := &orders{sharding: s}
	w, err := t.Create("order")
	if err != nil {
		return nil, err
	}
	o.all = bufio.NewWriterSize(w, 1<<16)
	if s.parts == 1 {
		return o, nil
	}
	for i := range s.parts {
		w, err := t.Create(shardName("order", i))
		if err != nil {
			return nil, err
		}
		o.parts = append(o.parts, bufio.NewWriterSize(w, 1<<12))
	}
	return o, nil
}

func (o *orders) add(id string) error {
	err := encodeLine(o.all, id)
	if o.parts != nil && err == nil {
		err = encodeLine(o.parts[o.partOf(id)], id)
	}
	if err != nil {
		return fmt.Errorf("write order: %w", err)
	}
	return nil
}

func (o *orders) close() error {
	for _, w := range append(o.parts, o.all) {
		if err := w.Flush(); err != nil {
			return fmt.Errorf("write order: %w", err)
		}
	}
	return nil
}

// encodeLine writes a value as a line of JSON.
func encodeLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// openShards writes to all shards at once.
type openShards struct {
	*orders
	shards []*artifact.Lines
}

func newOpenShards(t *engine.Task, s sharding, o *orders) (*openShards, error) {
	out := &openShards{o, make([]*artifact.Lines, s.shards)}
	for i := range out.shards {
		f, err := t.Create(shardName("documents", i))
		if err != nil {
			return nil, err
		}
		if out.shards[i], err = artifact.NewLines(f); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (o *openShards) deal(doc axes.Document) error {
	if err := o.shards[shardOf(doc.ID, len(o.shards))].Write(doc); err != nil {
		return err
	}
	return o.add(doc.ID)
}

func (o *openShards) close(context.Context) error {
	for _, l := range o.shards {
		if err := l.Close(); err != nil {
			return err
		}
	}
	return o.orders.close()
}

func (*openShards) discard() {}

// buckets writes to more shards than can be open at once, in two passes: documents go
// to files in the stage's scratch folder, of some shards each, and when all have, these
// are read one after the other and dealt out. A shard's bytes are those that
// [openShards] would have written. Memory holds what one of the files does.
type buckets struct {
	*orders
	t     *engine.Task
	z     *zstd.Encoder
	files []*bucket
	size  int // in shards
	line  lineBuffer
}

// mostOpen bounds the shards that are written at once: each takes some 4 MB meanwhile.
const mostOpen = 32

// mostBuckets bounds the files that are open at once.
const mostBuckets = 128

// bucketFrame is how much of a bucket waits in memory to be packed.
const bucketFrame = 128 << 10

// bucket is a file of frames: the length of what follows, and lines packed with zstd,
// each after its shard and its length.
type bucket struct {
	f     *os.File
	lines []byte
	bytes int // of all its lines
}

// lineBuffer keeps a line that was encoded.
type lineBuffer []byte

func (b *lineBuffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

func newBuckets(t *engine.Task, s sharding, o *orders) (*buckets, error) {
	dir, err := t.Scratch()
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, fmt.Errorf("begin zstd: %w", err)
	}
	n := min(s.shards, mostBuckets)
	b := &buckets{orders: o, t: t, z: z, size: s.shards / n}
	for i := range n {
		f, err := os.Create(filepath.Join(dir, shardName("bucket", i)))
		if err != nil {
			b.discard()
			return nil, fmt.Errorf("create scratch file: %w", err)
		}
		b.files = append(b.files, &bucket{f: f})
	}
	return b, nil
}

func (b *buckets) deal(doc axes.Document) error {
	b.line = b.line[:0]
	if err := encodeLine(&b.line, doc); err != nil {
		return fmt.Errorf("write document %q: %w", doc.ID, err)
	}
	shard := shardOf(doc.ID, b.sharding.shards)
	to := b.files[shard/b.size]
	to.lines = binary.AppendUvarint(to.lines, uint64(shard%b.size))
	to.lines = binary.AppendUvarint(to.lines, uint64(len(b.line)))
	to.lines = append(to.lines, b.line...)
	if len(to.lines) >= bucketFrame {
		if err := b.flush(to); err != nil {
			return err
		}
	}
	return b.add(doc.ID)
}

// flush writes the waiting lines of a bucket.
func (b *buckets) flush(to *bucket) error {
	packed := b.z.EncodeAll(to.lines, make([]byte, 4, 4+len(to.lines)/2))
	binary.LittleEndian.PutUint32(packed, uint32(len(packed)-4))
	to.bytes += len(to.lines)
	to.lines = to.lines[:0]
	if _, err := to.f.Write(packed); err != nil {
		return fmt.Errorf("write scratch file: %w", err)
	}
	return nil
}

// close deals the buckets out.
func (b *buckets) close(ctx context.Context) error {
	if err := b.orders.close(); err != nil {
		return err
	}
	for _, from := range b.files {
		if err := b.flush(from); err != nil {
			return err
		}
		from.lines = nil
	}
	for i, from := range b.files {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := b.dealOut(i, from); err != nil {
			return err
		}
		b.t.Progress((i+1)*b.size, b.sharding.shards, "shards")
	}
	return nil
}

// dealOut writes the shards of a bucket, and lets go of it.
func (b *buckets) dealOut(i int, from *bucket) error {
	shards, err := from.read(b.size)
	if err != nil {
		return fmt.Errorf("read scratch file: %w", err)
	}
	for j, lines := range shards {
		name := shardName("documents", i*b.size+j)
		f, err := b.t.Create(name)
		if err != nil {
			return err
		}
		if err := artifact.WriteLines(f, lines); err != nil {
			return err
		}
		if err := b.t.Finish(name); err != nil {
			return err
		}
	}
	return errors.Join(from.f.Close(), os.Remove(from.f.Name()))
}

// read returns the lines of each shard of a bucket.
func (k *bucket) read(shards int) ([][]byte, error) {
	if _, err := k.f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	out := make([][]byte, shards)
	for i := range out {
		out[i] = make([]byte, 0, k.bytes/shards*9/8)
	}
	in := bufio.NewReaderSize(k.f, 1<<16)
	var size [4]byte
	var packed, lines []byte
	for {
		if _, err := io.ReadFull(in, size[:]); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		packed = append(packed[:0], make([]byte, binary.LittleEndian.Uint32(size[:]))...)
		if _, err := io.ReadFull(in, packed); err != nil {
			return nil, err
		}
		if lines, err = z.DecodeAll(packed, lines[:0]); err != nil {
			return nil, err
		}
		if err := deal(lines, out); err != nil {
			return nil, err
		}
	}
}

// deal appends lines to what their shards have.
func deal(lines []byte, shards [][]byte) error {
	for len(lines) > 0 {
		shard, n := binary.Uvarint(lines)
		size, m := binary.Uvarint(lines[max(n, 0):])
		if n <= 0 || m <= 0 || shard >= uint64(len(shards)) || size > uint64(len(lines)-n-m) {
			return errors.New("it was changed")
		}
		lines = lines[n+m:]
		shards[shard] = append(shards[shard], lines[:size]...)
		lines = lines[size:]
	}
	return nil
}

func (b *buckets) discard() {
	for _, k := range b.files {
		_ = k.f.Close() // the scratch folder goes with the task
	}
	_ = b.z.Close()
}
