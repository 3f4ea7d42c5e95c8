package engine

import (
	"context"
	"errors"
	"io"

	"raglab/cache"
	"raglab/internal/mmap"
)

// Mapped is an input's content as it lies in memory. It is safe for concurrent use
// but for Close.
type Mapped struct {
	file *mmap.File // nil: bytes are the program's own
	own  []byte
}

// Bytes is the content, which must not be written to, nor read after Close.
func (m *Mapped) Bytes() []byte {
	if m.file != nil {
		return m.file.Bytes()
	}
	return m.own
}

// Close gives the memory back.
func (m *Mapped) Close() error {
	if m.file != nil {
		return m.file.Close()
	}
	m.own = nil
	return nil
}

// Map reads a whole input once, to verify it, and maps its file into memory: what is
// not looked at then takes none. Where the store has no file of it, it is read.
func (t *Task) Map(input string) (*Mapped, error) {
	in, err := t.input(input)
	if err != nil {
		return nil, err
	}
	files, ok := t.blobs.(interface {
		File(ctx context.Context, d cache.Digest) (string, error)
	})
	if !ok {
		b, err := t.Bytes(input)
		return &Mapped{own: b}, err
	}
	if err := t.verify(in); err != nil {
		return nil, err
	}
	path, err := files.File(t.ctx, in.blob.Digest)
	if err != nil {
		return nil, lost(in.Input, err)
	}
	f, err := mmap.Open(path)
	if err != nil {
		return nil, lost(in.Input, err)
	}
	return &Mapped{file: f}, nil
}

// verify reads an input to its end.
func (t *Task) verify(in taskInput) error {
	r, err := t.blobs.Open(t.ctx, in.blob.Digest)
	if err != nil {
		return lost(in.Input, err)
	}
	_, err = io.Copy(io.Discard, r)
	if err = errors.Join(err, r.Close()); err != nil {
		return lost(in.Input, err)
	}
	return nil
}

// Finish makes an output durable that is written to its end, before the stage
// returns: a stage with very many of them need not hold all until then.
func (t *Task) Finish(output string) error {
	t.mu.Lock()
	w := t.outputs[output]
	_, again := w.(finished)
	t.mu.Unlock()
	if w == nil || again {
		return errors.New("finish output " + output + ": it was not created, or is finished")
	}
	b, err := w.Commit()
	if err != nil {
		return storeError(t.ctx, "store output "+output, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.outputs[output] = finished{b}
	return nil
}

// finished stands for an output that is durable.
type finished struct{ blob cache.Blob }

func (finished) Write([]byte) (int, error)     { return 0, errors.New("the output is finished") }
func (f finished) Commit() (cache.Blob, error) { return f.blob, nil }
func (finished) Abort() error                  { return nil }
