package sharedtest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"sync"
	"testing"
	"time"

	"raglab/cache/shared"
)

// Calendar lets days pass for buckets whose server's clock cannot be set. Safe for concurrent use.
type Calendar struct {
	mu     sync.Mutex
	passed time.Duration
	made   map[string]time.Duration // what had passed when an object was made
}

// Pass lets a time pass.
func (c *Calendar) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed += d
}

// Now is the machine's time, and what has passed.
func (c *Calendar) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.passed)
}

func (c *Calendar) note(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made = map[string]time.Duration{}
	}
	c.made[name] = c.passed
}

func (c *Calendar) date(o shared.Object) shared.Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	o.Modified = o.Modified.Add(c.made[o.Name])
	return o
}

// Dated is a bucket whose objects have the dates of a calendar, as long as all writers have it.
type Dated struct {
	shared.Bucket
	Calendar *Calendar
}

// Create implements [shared.Bucket].
func (d *Dated) Create(ctx context.Context, name string, size int64, src io.Reader) error {
	err := d.Bucket.Create(ctx, name, size, src)
	if err == nil {
		d.Calendar.note(name)
	}
	return err
}

// Replace implements [shared.Bucket].
func (d *Dated) Replace(ctx context.Context, name string, size int64, src io.Reader) error {
	err := d.Bucket.Replace(ctx, name, size, src)
	if err == nil {
		d.Calendar.note(name)
	}
	return err
}

// Open implements [shared.Bucket].
func (d *Dated) Open(ctx context.Context, name string, offset int64) (io.ReadCloser, shared.Object, error) {
	r, o, err := d.Bucket.Open(ctx, name, offset)
	return r, d.Calendar.date(o), err
}

// Stat implements [shared.Bucket].
func (d *Dated) Stat(ctx context.Context, name string) (shared.Object, error) {
	o, err := d.Bucket.Stat(ctx, name)
	return d.Calendar.date(o), err
}

// List implements [shared.Bucket].
func (d *Dated) List(ctx context.Context, prefix string) iter.Seq2[shared.Object, error] {
	return func(yield func(shared.Object, error) bool) {
		for o, err := range d.Bucket.List(ctx, prefix) {
			if !yield(d.Calendar.date(o), err) {
				return
			}
		}
	}
}

// RewriteFile changes a file of a local cache behind its back; nil removes it. What is not there, or
// empty, stays so.
func RewriteFile(t testing.TB, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || len(b) == 0 {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if changed := change(b); changed != nil {
		if err := os.WriteFile(path, changed, 0o444); err != nil {
			t.Fatal(err)
		}
	}
}
