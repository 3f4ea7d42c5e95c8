package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"raglab/cache"
	"raglab/engine"
)

// builder builds projects, slowly, and counts.
type builder struct {
	mu     sync.Mutex
	built  map[cache.Digest]int
	open   atomic.Int32
	most   atomic.Int32
	broken func(cache.Digest, int) error
}

type built struct {
	by     *builder
	closed atomic.Bool
}

func (b *built) Find(cache.Key) (*engine.Stage, bool) {
	if b.closed.Load() {
		panic("a project was closed while it was used")
	}
	return nil, false
}

func (b *built) Close() error {
	if b.closed.Swap(true) {
		panic("a project was closed twice")
	}
	b.by.open.Add(-1)
	return nil
}

func (b *builder) Graph(_ context.Context, bundle cache.Digest) (Project, error) {
	b.mu.Lock()
	b.built[bundle]++
	n := b.built[bundle]
	b.mu.Unlock()
	<-time.After(time.Second)
	if b.broken != nil {
		if err := b.broken(bundle, n); err != nil {
			return nil, err
		}
	}
	if n := b.open.Add(1); n > b.most.Load() {
		b.most.Store(n)
	}
	return &built{by: b}, nil
}

func bundles(n int) []cache.Digest {
	var out []cache.Digest
	for i := range n {
		out = append(out, cache.DigestOf([]byte(fmt.Sprint(i))))
	}
	return out
}

// Each bundle is built once while it is used; few are kept that are not, the latest.
func TestGraphs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &builder{built: map[cache.Digest]int{}}
		g := graphs{source: b}
		all := bundles(3 * openGraphs)
		var users sync.WaitGroup
		for _, d := range all {
			for range 5 {
				users.Go(func() {
					p, done, err := g.open(t.Context(), t.Context(), d)
					if err != nil {
						t.Error(err)
						return
					}
					defer done()
					<-time.After(time.Second)
					p.Find(cache.Key{})
				})
			}
		}
		users.Wait()
		for _, d := range all {
			if b.built[d] != 1 {
				t.Errorf("a graph was built %d times", b.built[d])
			}
		}
		if n := b.open.Load(); n != openGraphs {
			t.Errorf("%d graphs are kept, want %d", n, openGraphs)
		}
		// Used one after the other, the last ones stay.
		for _, d := range all {
			_, done, err := g.open(t.Context(), t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			done()
		}
		before := b.built[all[len(all)-1]]
		_, done, err := g.open(t.Context(), t.Context(), all[len(all)-1])
		if err != nil {
			t.Fatal(err)
		}
		done()
		if b.built[all[len(all)-1]] != before {
			t.Error("the graph that was used last was built again")
		}
		if err := g.close(); err != nil || b.open.Load() != 0 {
			t.Errorf("%d are left open (%v)", b.open.Load(), err)
		}
	})
}

// A graph that could not be built is built again for the next one who asks, and who does
// not wait for it any more gets the cause.
func TestGraphs_errors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := errors.New("bad bundle")
		b := &builder{built: map[cache.Digest]int{}, broken: func(_ cache.Digest, n int) error {
			if n == 1 {
				return bad
			}
			return nil
		}}
		g := graphs{source: b}
		d := bundles(1)[0]
		if _, _, err := g.open(t.Context(), t.Context(), d); !errors.Is(err, bad) {
			t.Errorf("the first gets %v", err)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, bad)
		defer cancel()
		first := make(chan error, 1)
		go func() {
			_, done, err := g.open(t.Context(), t.Context(), d)
			if err == nil {
				done()
			}
			first <- err
		}()
		synctest.Wait()
		if _, _, err := g.open(ctx, t.Context(), d); !errors.Is(err, bad) {
			t.Errorf("who does not wait gets %v", err)
		}
		if err := <-first; err != nil {
			t.Error(err)
		}
		if err := g.close(); err != nil || b.open.Load() != 0 {
			t.Errorf("%d are left open (%v)", b.open.Load(), err)
		}
	})
}
