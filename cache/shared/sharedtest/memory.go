// Package sharedtest holds what tests of a shared store need: the suite that every bucket must pass, a
// bucket in memory, and one whose requests fail.
package sharedtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"
	"sync"
	"time"

	"raglab/cache/shared"
)

// Memory is a bucket in memory. The zero value is an empty one by the clock of the machine. It is safe
// for concurrent use. Closing it does nothing, so that several stores may have it.
type Memory struct {
	// Now dates objects; nil is time.Now.
	Now func() time.Time

	mu      sync.Mutex
	objects map[string]object
}

type object struct {
	bytes    []byte
	modified time.Time
}

func (m *Memory) now() time.Time {
	if m.Now == nil {
		return time.Now()
	}
	return m.Now()
}

// Create implements [shared.Bucket].
func (m *Memory) Create(ctx context.Context, name string, size int64, src io.Reader) error {
	return m.write(ctx, name, size, src, true)
}

// Replace implements [shared.Bucket].
func (m *Memory) Replace(ctx context.Context, name string, size int64, src io.Reader) error {
	return m.write(ctx, name, size, src, false)
}

func (m *Memory) write(ctx context.Context, name string, size int64, src io.Reader, create bool) error {
	b, err := io.ReadAll(src)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	if int64(len(b)) != size {
		return fmt.Errorf("write %s: %d bytes came, not %d", name, len(b), size)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.objects[name]; there && create {
		return fs.ErrExist
	}
	if m.objects == nil {
		m.objects = map[string]object{}
	}
	m.objects[name] = object{b, m.now()}
	return nil
}

// Open implements [shared.Bucket].
func (m *Memory) Open(_ context.Context, name string, offset int64) (io.ReadCloser, shared.Object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[name]
	if !ok {
		return nil, shared.Object{}, fs.ErrNotExist
	}
	if offset > int64(len(o.bytes)) {
		return nil, shared.Object{}, fmt.Errorf("%s has %d bytes: there is none at %d", name, len(o.bytes), offset)
	}
	return io.NopCloser(bytes.NewReader(o.bytes[offset:])), o.object(name), nil
}

func (o object) object(name string) shared.Object {
	return shared.Object{Name: name, Size: int64(len(o.bytes)), Modified: o.modified}
}

// Stat implements [shared.Bucket].
func (m *Memory) Stat(_ context.Context, name string) (shared.Object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[name]
	if !ok {
		return shared.Object{}, fs.ErrNotExist
	}
	return o.object(name), nil
}

// Delete implements [shared.Bucket].
func (m *Memory) Delete(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, name)
	return nil
}

// List implements [shared.Bucket].
func (m *Memory) List(_ context.Context, prefix string) iter.Seq2[shared.Object, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []shared.Object
	for name, o := range m.objects {
		if strings.HasPrefix(name, prefix) {
			found = append(found, o.object(name))
		}
	}
	return func(yield func(shared.Object, error) bool) {
		for _, o := range found {
			if !yield(o, nil) {
				return
			}
		}
	}
}

// Close implements [shared.Bucket].
func (m *Memory) Close() error { return nil }

// Rewrite changes an object behind a store's back, and dates it a second later; nil removes it. What
// is not there, or empty, stays so.
func (m *Memory) Rewrite(name string, change func([]byte) []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[name]
	if !ok || len(o.bytes) == 0 {
		return
	}
	b := change(bytes.Clone(o.bytes))
	if b == nil {
		delete(m.objects, name)
		return
	}
	m.objects[name] = object{b, o.modified.Add(time.Second)}
}

// Names lists the objects below a prefix.
func (m *Memory) Names(prefix string) []string {
	var names []string
	for o := range m.List(context.Background(), prefix) {
		names = append(names, o.Name)
	}
	return names
}
