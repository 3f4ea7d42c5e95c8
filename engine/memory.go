package engine

import (
	"bytes"
	"context"
	"io"

	"raglab/cache"
)

// memoryBlobs holds the outputs of stages that a plan runs to see what they
// would give; what it does not hold it reads from the cache.
type memoryBlobs struct {
	under blobs
	held  map[cache.Digest][]byte
}

type memoryWriter struct {
	bytes.Buffer
	into *memoryBlobs
}

func (w *memoryWriter) Commit() (cache.Blob, error) {
	b := w.Bytes()
	d := cache.DigestOf(b)
	w.into.held[d] = b
	return cache.Blob{Digest: d, Size: int64(len(b))}, nil
}

func (w *memoryWriter) Abort() error { return nil }

func (m *memoryBlobs) Create(context.Context) (cache.Writer, error) {
	return &memoryWriter{into: m}, nil
}

func (m *memoryBlobs) Open(ctx context.Context, d cache.Digest) (io.ReadCloser, error) {
	if b, ok := m.held[d]; ok {
		return io.NopCloser(bytes.NewReader(b)), nil
	}
	return m.under.Open(ctx, d)
}

func (m *memoryBlobs) ReadAll(ctx context.Context, d cache.Digest) ([]byte, error) {
	if b, ok := m.held[d]; ok {
		return b, nil
	}
	return m.under.ReadAll(ctx, d)
}
